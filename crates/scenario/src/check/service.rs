//! Services and their parameters, and what switches do for ABR.

use cellway_units::{CellRate, Cells, Rate};

use crate::check::Check;
use crate::check::crossing::Path;
use crate::check::network::Network;
use crate::file::{ServiceClass, ServiceFile};
use crate::model::{AbrParameters, AbrSpec, AbrSwitch, AbrSwitchKeys, Framing, NodeIndex, Service, Traffic};
use crate::route;
use crate::tree::{Step, at};

/// The most forward RM cells without an answer: transient buffer exposure has 24 bits.
pub(crate) const MAX_CRM: u32 = (1 << 24) - 1;

impl Check<'_> {
    pub(super) fn service(
        &mut self,
        i: usize,
        file: Option<&Option<ServiceFile>>,
        path: &Path,
        network: &Network,
    ) -> Option<Service> {
        let at = |key: &str| at!["traffic", i, "service", key];
        let Some(file) = file? else { return Some(Service::Ubr { pcr: None }) };
        let before = self.found.len();
        let class = file.class?;
        if self.any_bad(&at!["traffic", i, "service"]) {
            return None;
        }
        self.only_parameters_of(i, class);
        if self.found.len() > before {
            return None;
        }
        let pcr = file.pcr?.map(|CellRate(rate)| rate);
        if pcr.is_none() && class != ServiceClass::Ubr {
            self.refuse(
                &at("pcr"),
                "is missing: this service needs it",
                "a rate, like \"30 Mbit/s\" or \"36000 cell/s\"",
            );
            return None;
        }
        let service = match (class, pcr) {
            (ServiceClass::Ubr, pcr) => Service::Ubr { pcr },
            (ServiceClass::Cbr, Some(pcr)) => Service::Cbr { pcr },
            (ServiceClass::VbrNrt, Some(pcr)) => {
                for key in ["scr", "mbs"] {
                    if !self.is_given(&at(key)) {
                        self.refuse(&at(key), "is missing: this service needs it", "scr and mbs, beside pcr");
                    }
                }
                let (scr, mbs) = self.sustained(&at!["traffic", i, "service"], file.scr, file.mbs, "pcr", pcr)??;
                Service::Vbr { pcr, scr, mbs, shape: file.shape? }
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
        scr: Option<Option<CellRate>>,
        mbs: Option<Option<Cells>>,
        peak_key: &str,
        peak: Rate,
    ) -> Option<Option<(Rate, Cells)>> {
        let key = |key: &str| -> Vec<Step> { path.iter().cloned().chain([Step::from(key)]).collect() };
        let (scr, mbs) = match (scr?, mbs?) {
            (None, None) => return Some(None),
            (Some(CellRate(scr)), Some(mbs)) => (scr, mbs),
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
        let (CellRate(mcr), nrm) = (file.mcr?, file.nrm?);
        let icr = file.icr?.map_or(Rate::from_bps((pcr.as_bps() / 16).max(1)).max(mcr), |CellRate(icr)| icr);
        let crm = match file.tbe? {
            Some(_) if self.is_given(&at("crm")) => {
                self.refuse(&at("tbe"), "contradicts crm, which it would set", "crm or tbe");
                return None;
            }
            Some(tbe) => {
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
            None => file.crm?,
        };
        let between = match file.between.as_ref()?.as_deref() {
            Some([a, b]) => Some(self.between(i, [a, b], path, network)?),
            _ => None,
        };
        let (rif, rdf, cdf) = (file.rif?, file.rdf?, file.cdf?);
        let parameters = AbrParameters { pcr, mcr, icr, rif, rdf, nrm, trm: file.trm?, crm, adtf: file.adtf?, cdf };
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
            let message = format!("{pcr} is more than {rate}, the rate of {line}, the first ATM link of the data");
            self.refuse(path, message, format!("at most {rate}"));
        }
    }

    fn only_parameters_of(&mut self, i: usize, class: ServiceClass) {
        use ServiceClass::{Abr, Cbr, Ubr, VbrNrt};
        let of_vbr = ["scr", "mbs", "shape"].map(|key| (key, &[VbrNrt][..]));
        let of_abr = ["mcr", "icr", "rif", "rdf", "nrm", "trm", "crm", "tbe", "adtf", "cdf", "between"];
        let of_abr = of_abr.map(|key| (key, &[Abr][..]));
        let parameters = [&[("pcr", &[Ubr, Cbr, VbrNrt, Abr][..])][..], &of_vbr, &of_abr].concat();
        let message = format!("is not a parameter of {}", class.name());
        self.only_keys_of(&at!["traffic", i, "service"], &message, class, &parameters);
    }

    pub(super) fn abr_switch(&self, keys: AbrSwitchKeys) -> Option<AbrSwitch> {
        (!self.any_bad(&at!["abr"])).then(|| keys.resolve())?
    }
}
