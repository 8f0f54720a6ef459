//! Services and their parameters, and what switches do for ABR.

use cellway_units::{CellRate, Cells, Rate, Span};

use crate::check::Check;
use crate::check::crossing::Path;
use crate::check::network::Network;
use crate::file::{ServiceClass, ServiceFile};
use crate::model::{AbrParameters, AbrSpec, AbrSwitch, AbrSwitchKeys, Fraction, Framing, NodeIndex, Service, Traffic};
use crate::quantity::Quantity;
use crate::route;
use crate::tree::{Step, Value, at};

/// RIF, RDF and CDF if they are not given: TM 4.0 section 5.10.3.1, as recalled.
const SIXTEENTH: Fraction = Fraction::one_over(16);

/// The most forward RM cells without an answer: transient buffer exposure has 24 bits.
const MAX_CRM: u32 = (1 << 24) - 1;

impl Check<'_> {
    pub(super) fn service(
        &mut self,
        i: usize,
        file: Option<&ServiceFile>,
        path: &Path,
        network: &Network,
    ) -> Option<Service> {
        let at = |key: &str| at!["traffic", i, "service", key];
        let Some(file) = file else {
            return (!self.is_bad(&at!["traffic", i, "service"])).then_some(Service::Ubr { pcr: None });
        };
        let before = self.found.len();
        let class = file.class.unwrap_or(ServiceClass::Ubr);
        let refused = |value: &Value| *value == Value::Bad;
        let table = self.tree.find(&at!["traffic", i, "service"]).and_then(|node| node.table());
        if table.is_some_and(|table| table.entries().iter().any(|e| refused(&e.node.value))) {
            return None;
        }
        self.only_parameters_of(i, class, file);
        if self.found.len() > before {
            return None;
        }
        let cell_rate = |given: Option<Quantity<CellRate>>| given.map(|Quantity(CellRate(rate))| rate);
        if file.pcr.is_none() && class != ServiceClass::Ubr {
            self.refuse(
                &at("pcr"),
                "is missing: this service needs it",
                "a rate, like \"30 Mbit/s\" or \"36000 cell/s\"",
            );
            return None;
        }
        let service = match (class, cell_rate(file.pcr)) {
            (ServiceClass::Ubr, pcr) => Service::Ubr { pcr },
            (ServiceClass::Cbr, Some(pcr)) => Service::Cbr { pcr },
            (ServiceClass::VbrNrt, Some(pcr)) => {
                let [scr, mbs] = [("scr", file.scr.is_some()), ("mbs", file.mbs.is_some())];
                for (key, _) in [scr, mbs].iter().filter(|(_, given)| !given) {
                    self.refuse(&at(key), "is missing: this service needs it", "scr and mbs, beside pcr");
                }
                let (scr, mbs) = self.sustained(&at!["traffic", i, "service"], file.scr, file.mbs, "pcr", pcr)??;
                Service::Vbr { pcr, scr, mbs, shape: file.shape.unwrap_or(true) }
            }
            (ServiceClass::Abr, Some(pcr)) => Service::Abr(self.abr(i, file, pcr, path, network)?),
            (_, None) => return None,
        };
        let carries_cells = path.route.iter().any(|l| network.links[l.0].framing == Framing::Atm) || path.access_is_atm;
        if service != (Service::Ubr { pcr: None }) && !carries_cells {
            self.refuse(
                &at!["traffic", i, "service"],
                "has no use: no link of the path carries cells",
                "no service here",
            );
        }
        (self.found.len() == before).then_some(service)
    }

    /// A sustainable rate and a burst that go together, under the peak rate `peak` of the key `peak_key`. `Some(None)` if
    /// neither is given.
    pub(super) fn sustained(
        &mut self,
        path: &[Step],
        scr: Option<Quantity<CellRate>>,
        mbs: Option<Quantity<Cells>>,
        peak_key: &str,
        peak: Rate,
    ) -> Option<Option<(Rate, Cells)>> {
        let key = |key: &str| -> Vec<Step> { path.iter().cloned().chain([Step::from(key)]).collect() };
        if self.is_bad(&key("scr")) || self.is_bad(&key("mbs")) {
            return None;
        }
        let (scr, mbs) = match (scr, mbs) {
            (None, None) => return Some(None),
            (Some(Quantity(CellRate(scr))), Some(Quantity(mbs))) => (scr, mbs),
            (Some(_), None) => {
                self.refuse(&key("scr"), "has no mbs: how long may a burst be?", "scr and mbs, or neither");
                return None;
            }
            (None, Some(_)) => {
                self.refuse(&key("mbs"), "has no scr: what rate may be kept up?", "scr and mbs, or neither");
                return None;
            }
        };
        if scr > peak {
            let message = format!("{scr} is more than {peak_key}, {peak}");
            self.refuse(&key("scr"), message, format!("at most {peak_key}"));
            return None;
        }
        Some(Some((scr, mbs)))
    }

    fn abr(&mut self, i: usize, file: &ServiceFile, pcr: Rate, path: &Path, network: &Network) -> Option<AbrSpec> {
        let before = self.found.len();
        let at = |key: &str| at!["traffic", i, "service", key];
        let cell_rate = |given: Option<Quantity<CellRate>>| given.map(|Quantity(CellRate(rate))| rate);
        let mcr = cell_rate(file.mcr).unwrap_or(Rate::from_bps(0));
        let icr = cell_rate(file.icr).unwrap_or(Rate::from_bps((pcr.as_bps() / 16).max(1)).max(mcr));
        let [rif, rdf, cdf] = [file.rif, file.rdf, file.cdf].map(|given| given.map_or(SIXTEENTH, |q| q.0));
        let trm = file.trm.map_or(Span::from_ms(100), |q| q.0);
        let adtf = file.adtf.map_or(Span::from_ms(500), |q| q.0);
        let nrm = file.nrm.unwrap_or(32);
        let crm = match (file.crm, file.tbe) {
            (Some(_), Some(_)) => {
                self.refuse(&at("tbe"), "contradicts crm, which it would set", "crm or tbe");
                return None;
            }
            (_, Some(Quantity(tbe))) => {
                let crm = tbe.0.div_ceil(u64::from(nrm));
                let Some(crm) = u32::try_from(crm).ok().filter(|crm| (1..=MAX_CRM).contains(crm)) else {
                    self.refuse_value(
                        &at("tbe"),
                        "is no number of cells that may be under way",
                        format!("from 1 cell to nrm x {MAX_CRM}"),
                    );
                    return None;
                };
                crm
            }
            (crm, None) => crm.unwrap_or(32),
        };
        let between = match file.between.as_deref() {
            Some([a, b]) => Some(self.between(i, [a, b], path, network)?),
            _ => None,
        };
        let parameters = AbrParameters { pcr, mcr, icr, rif, rdf, nrm, trm, crm, adtf, cdf };
        if let Err(problem) = parameters.check() {
            self.refuse(&at(&problem.keys[0]), problem.message, problem.accepted);
        } else if icr < mcr {
            // A source begins at the larger of both; a file is refused, since it says less than would happen.
            self.refuse(&at("icr"), format!("{icr} is less than mcr, {mcr}"), "from mcr to pcr");
        }
        (self.found.len() == before).then_some(AbrSpec { parameters, between })
    }

    /// The ends of a control loop on the path.
    fn between(&mut self, i: usize, names: [&str; 2], path: &Path, network: &Network) -> Option<[NodeIndex; 2]> {
        let at = |k: usize| at!["traffic", i, "service", "between", k];
        let mut places = [0; 2];
        for (k, name) in names.into_iter().enumerate() {
            let node = self.node_named(&at(k), name, &network.node_names)?;
            let Some(place) = path.nodes.iter().position(|n| n.0 == node) else {
                let on: Vec<&str> = path.nodes.iter().map(|n| network.nodes[n.0].name.as_str()).collect();
                self.refuse(
                    &at(k),
                    format!("{name:?} is not on the path"),
                    format!("two of its nodes: {}", on.join(", ")),
                );
                return None;
            };
            places[k] = place;
        }
        let [first, last] = places;
        let whole = at!["traffic", i, "service", "between"];
        if first >= last {
            let message = format!("{:?} does not come before {:?} on the path", names[0], names[1]);
            self.refuse(&whole, message, "two nodes in the order of the path, from originator to responder");
            return None;
        }
        if let Some(link) = path.route[first..last].iter().find(|l| network.links[l.0].framing != Framing::Atm) {
            let message = format!("link {:?} between the two carries no cells", network.links[link.0].name);
            self.refuse(&whole, message, "two nodes that only ATM links join");
            return None;
        }
        if let Some([near, far]) = path.pair.filter(|[near, far]| first < *far && last > *near) {
            let [near, far] = [near, far].map(|place| &network.nodes[path.nodes[place].0].name);
            let message = format!("no control loop runs between the gateways {near:?} and {far:?}");
            self.refuse(&whole, message, "two nodes before the first gateway or behind the second, or gateway = false");
            return None;
        }
        Some([path.nodes[first], path.nodes[last]])
    }

    /// The peak rate `pcr` of a group, at `path`, must not be above the line that its first cells are sent on: it would
    /// shape nothing. SCR, MCR and ICR are at most PCR.
    pub(super) fn within_source_line(&mut self, path: &[Step], pcr: Rate, traffic: &Traffic, network: &Network) {
        if let Some((line, rate)) = route::source_line(&network.links, traffic)
            && pcr > rate
        {
            let message = format!("{pcr} is more than {line} has, {rate}, the first that carries cells of the data");
            self.refuse(path, message, format!("at most {rate}"));
        }
    }

    fn only_parameters_of(&mut self, i: usize, class: ServiceClass, file: &ServiceFile) {
        use ServiceClass::{Abr, Cbr, Ubr, VbrNrt};
        let given: [(&str, bool, &[ServiceClass]); 15] = [
            ("pcr", file.pcr.is_some(), &[Ubr, Cbr, VbrNrt, Abr]),
            ("scr", file.scr.is_some(), &[VbrNrt]),
            ("mbs", file.mbs.is_some(), &[VbrNrt]),
            ("shape", file.shape.is_some(), &[VbrNrt]),
            ("mcr", file.mcr.is_some(), &[Abr]),
            ("icr", file.icr.is_some(), &[Abr]),
            ("rif", file.rif.is_some(), &[Abr]),
            ("rdf", file.rdf.is_some(), &[Abr]),
            ("nrm", file.nrm.is_some(), &[Abr]),
            ("trm", file.trm.is_some(), &[Abr]),
            ("crm", file.crm.is_some(), &[Abr]),
            ("tbe", file.tbe.is_some(), &[Abr]),
            ("adtf", file.adtf.is_some(), &[Abr]),
            ("cdf", file.cdf.is_some(), &[Abr]),
            ("between", file.between.is_some(), &[Abr]),
        ];
        let own: Vec<&str> =
            given.iter().filter(|(.., classes)| classes.contains(&class)).map(|(key, ..)| *key).collect();
        for (key, is_given, classes) in &given {
            if *is_given && !classes.contains(&class) {
                let message = format!("is not a parameter of {}", class.word());
                self.refuse(&at!["traffic", i, "service", *key], message, own.join(", "));
            }
        }
    }

    pub(super) fn abr_switch(&self, keys: AbrSwitchKeys) -> Option<AbrSwitch> {
        if AbrSwitchKeys::names().iter().any(|key| self.is_bad(&at!["abr", &key[..]])) {
            return None;
        }
        keys.resolve()
    }
}
