//! Shapers, policers, and what changes while it runs.

use cellway_units::{CellRate, Rate, Span};

use crate::check::names::Names;
use crate::check::network::Network;
use crate::check::{Check, listed};
use crate::file::{ChangeFile, File, PolicerFile, ShaperFile};
use crate::model::{
    Change, ChangeOf, Framing, Link, LinkIndex, NodeIndex, NodeKind, Policer, Run, Service, Shaper, Traffic,
};
use crate::quantity::RttSpan;
use crate::tree::{Step, at};

/// The place of a shaper or policer, as in the file.
struct Place<'f> {
    array: &'static str,
    i: usize,
    at: Option<&'f str>,
    link: Option<&'f str>,
    traffic: Option<&'f Option<Vec<String>>>,
}

/// The port and the groups that one is for.
type Port = (NodeIndex, LinkIndex, Vec<usize>);

impl Check<'_> {
    pub(super) fn shapers(
        &mut self,
        files: &[ShaperFile],
        network: &Network,
        traffic: &[Traffic],
    ) -> Option<Vec<Shaper>> {
        let names = self.names("shaper", files.iter().map(|file| file.name.as_deref()));
        let mut ports: Vec<(usize, Port)> = Vec::new();
        let mut shapers = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let (at, link) = (file.at.as_deref(), file.link.as_deref());
            let port =
                self.port(&Place { array: "shaper", i, at, link, traffic: file.traffic.as_ref() }, network, traffic);
            let (Some(CellRate(rate)), Some(port)) = (file.rate, port) else { continue };
            self.alone("shaper", i, &port, &ports, &names, traffic);
            ports.push((i, port.clone()));
            let (at, link, groups) = port;
            self.within_line(&at!["shaper", i, "rate"], rate, &network.links[link.0], 0);
            let sustained = self.sustained(&at!["shaper", i], file.scr, file.mbs, "rate", rate);
            let (Some(name), Some(sustained)) = (names[i].clone(), sustained) else { continue };
            shapers.push(Shaper { name, at, link, traffic: groups, rate, sustained });
        }
        (shapers.len() == files.len()).then_some(shapers)
    }

    pub(super) fn policers(
        &mut self,
        files: &[PolicerFile],
        network: &Network,
        traffic: &[Traffic],
    ) -> Option<Vec<Policer>> {
        let names = self.names("policer", files.iter().map(|file| file.name.as_deref()));
        let mut ports: Vec<(usize, Port)> = Vec::new();
        let mut policers = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let (at, link) = (file.at.as_deref(), file.link.as_deref());
            let port =
                self.port(&Place { array: "policer", i, at, link, traffic: file.traffic.as_ref() }, network, traffic);
            let (Some(CellRate(pcr)), Some(port)) = (file.pcr, port) else { continue };
            self.alone("policer", i, &port, &ports, &names, traffic);
            ports.push((i, port.clone()));
            let (at, link, groups) = port;
            let sustained = self.sustained(&at!["policer", i], file.scr, file.mbs, "pcr", pcr);
            let (Some(name), Some(cdvt), Some(sustained), Some(action)) =
                (names[i].clone(), file.cdvt, sustained, file.action)
            else {
                continue;
            };
            policers.push(Policer { name, at, link, traffic: groups, pcr, cdvt, sustained, action });
        }
        (policers.len() == files.len()).then_some(policers)
    }

    pub(super) fn names<'f>(
        &mut self,
        array: &str,
        given: impl Iterator<Item = Option<&'f str>>,
    ) -> Vec<Option<String>> {
        let names = given.enumerate().map(|(i, name)| self.name(&at![array, i, "name"], name).map(str::to_owned));
        let names = Names::new(names.collect());
        self.unique(array, &names, "a name of its own");
        names.into_all()
    }

    /// The port that a shaper or policer stands at, and the groups that pass it.
    fn port(&mut self, place: &Place, network: &Network, traffic: &[Traffic]) -> Option<Port> {
        let path = |key: &str| at![place.array, place.i, key];
        let node = place.at.and_then(|name| self.node_named(&path("at"), name, &network.node_names));
        let link = place.link.and_then(|name| self.named(&path("link"), "link", name, &network.link_names));
        let (node, index) = (node?, link?);
        let (name, link) = (&network.nodes[node].name, &network.links[index]);
        if network.nodes[node].kind == NodeKind::Host {
            let message = format!("{name:?} is a host");
            self.refuse(
                &path("at"),
                message,
                "a router, switch or gateway; hosts shape by the service of their traffic",
            );
            return None;
        }
        if link.other(NodeIndex(node)).is_none() {
            let own = network.links.iter().filter(|l| l.other(NodeIndex(node)).is_some()).map(|l| l.name.as_str());
            let message = format!("{:?} is no link of {name:?}", link.name);
            self.refuse(&path("link"), message, crate::found::one_of(own));
            return None;
        }
        if link.framing != Framing::Atm {
            self.refuse(&path("link"), format!("{:?} carries no cells", link.name), "an ATM link");
            return None;
        }
        let groups = self.groups_at(place, LinkIndex(index), &link.name, traffic)?;
        Some((NodeIndex(node), LinkIndex(index), groups))
    }

    /// The groups that a shaper or policer is for: as given, or all that pass.
    fn groups_at(
        &mut self,
        place: &Place,
        link: LinkIndex,
        link_name: &str,
        traffic: &[Traffic],
    ) -> Option<Vec<usize>> {
        let passing: Vec<usize> = (0..traffic.len()).filter(|&t| traffic[t].route.contains(&link)).collect();
        let told = || crate::found::one_of(passing.iter().map(|&t| traffic[t].name.as_str()));
        let Some(given) = place.traffic? else {
            if passing.is_empty() {
                let message = format!("no traffic crosses link {link_name:?}");
                self.refuse(&at![place.array, place.i, "link"], message, "a link on the path of a group");
                return None;
            }
            return Some(passing);
        };
        let names = Names::of(traffic.iter().map(|t| &t.name));
        let mut groups = Vec::new();
        for (k, name) in given.iter().enumerate() {
            let path = at![place.array, place.i, "traffic", k];
            let group = self.named(&path, "traffic", name, &names)?;
            if !passing.contains(&group) {
                self.refuse(&path, format!("{name:?} does not cross link {link_name:?}"), told());
                return None;
            }
            groups.push(group);
        }
        groups.sort_unstable();
        groups.dedup();
        Some(groups)
    }

    /// Two of a kind for the same channels at one port would contradict each other.
    fn alone(
        &mut self,
        array: &str,
        i: usize,
        (at, link, groups): &Port,
        earlier: &[(usize, Port)],
        names: &[Option<String>],
        traffic: &[Traffic],
    ) {
        let twice = earlier.iter().find_map(|(j, (a, l, other))| {
            let shared = groups.iter().find(|group| other.contains(group))?;
            ((a, l) == (at, link)).then_some((*j, *shared))
        });
        if let Some((j, group)) = twice {
            let message = format!(
                "{:?} has the {array} {:?} at this port",
                traffic[group].name,
                names[j].as_deref().unwrap_or("?")
            );
            self.refuse(&at![array, i], message, format!("one {array} for each group at a port"));
        }
    }

    /// Refuses a rate above that of a direction (0 or 1) of a link.
    pub(super) fn within_line(&mut self, path: &[Step], rate: Rate, link: &Link, direction: usize) {
        let most = link.rate_of(direction);
        if rate > most {
            let message = format!("{rate} is more than link {:?} has, {most}", link.name);
            self.refuse(path, message, format!("at most {most}"));
        }
    }

    pub(super) fn changes(
        &mut self,
        file: &File,
        network: &Network,
        traffic: &[Traffic],
        shapers: &[Shaper],
        run: &Run,
    ) -> Option<Vec<Change>> {
        let files = listed(&file.change);
        let names = self.names("change", files.iter().map(|file| file.name.as_ref()?.as_deref()));
        let changes: Vec<Change> = files
            .iter()
            .enumerate()
            .filter_map(|(i, file)| {
                let at = self.moment(i, file.at, run);
                let target = self.target(i, file, network, traffic, shapers);
                let (what, rate) = target?;
                let named = file.name == Some(None) || names[i].is_some();
                named.then_some(Change { name: names[i].clone(), at: at?, what, rate })
            })
            .collect();
        let all = changes.len() == files.len();
        if all {
            self.rates_stay_within(&changes, network, traffic, shapers);
        }
        all.then_some(changes)
    }

    fn moment(&mut self, i: usize, given: Option<RttSpan>, run: &Run) -> Option<Span> {
        let path = at!["change", i, "at"];
        let at = self.span(&path, given, Some(run.rtt))?;
        if at >= run.duration {
            let message = format!("{at} is not within the run, which ends at {}", run.duration);
            self.refuse(&path, message, "less than run.duration");
            return None;
        }
        Some(at)
    }

    /// Returns the target of a change, and its new rate.
    fn target(
        &mut self,
        i: usize,
        file: &ChangeFile,
        network: &Network,
        traffic: &[Traffic],
        shapers: &[Shaper],
    ) -> Option<(ChangeOf, Rate)> {
        let path = |key: &str| at!["change", i, key];
        let named: [(&str, &Option<String>, Vec<&String>); 3] = [
            ("shaper", file.shaper.as_ref()?, shapers.iter().map(|s| &s.name).collect()),
            ("link", file.link.as_ref()?, network.links.iter().map(|l| &l.name).collect()),
            ("traffic", file.traffic.as_ref()?, traffic.iter().map(|t| &t.name).collect()),
        ];
        let given: Vec<_> = named.iter().filter_map(|(key, name, all)| Some((*key, name.as_deref()?, all))).collect();
        let [(key, name, all)] = given.as_slice() else {
            let message = if given.is_empty() { "says not what changes" } else { "changes more than one thing" };
            self.refuse(&at!["change", i], message, "one of shaper, link, traffic");
            return None;
        };
        let all = Names::of(all.iter().copied());
        let place = self.named(&path(key), key, name, &all)?;
        let (rate_key, given, other) = match *key {
            "traffic" => ("pcr", file.pcr.map(|given| given.map(|CellRate(pcr)| pcr)), "rate"),
            _ => ("rate", file.rate.map(|given| given.map(|line| line.rate)), "pcr"),
        };
        if self.is_accepted(&path(other)) {
            self.refuse(&path(other), format!("does not go with {key}"), rate_key);
        }
        if *key != "link" && self.is_accepted(&path("direction")) {
            self.refuse(&path("direction"), format!("does not go with {key}"), "a link, or no direction");
        }
        let direction = file.direction?;
        let Some(rate) = given? else {
            self.refuse(&path(rate_key), "is missing", "the new rate, like \"5 Mbit/s\"");
            return None;
        };
        let before = self.found.len();
        let what = match *key {
            "shaper" => {
                let shaper = &shapers[place];
                self.within_line(&path("rate"), rate, &network.links[shaper.link.0], 0);
                let least = shaper.sustained.map(|(scr, _)| ("scr of the shaper", scr));
                self.at_least(&path("rate"), rate, least);
                ChangeOf::Shaper(place)
            }
            "link" => {
                let recorded = |end: &usize| network.links[place].directions[*end].has_recorded_rate();
                if direction.ports().iter().any(recorded) {
                    let message = format!("the rate of link {name:?} is that of its recording");
                    self.refuse(&path("link"), message, "no trace.rate or trace.heavy at that link, or no change");
                }
                ChangeOf::Link(LinkIndex(place), direction)
            }
            _ => {
                let least = match &traffic[place].service {
                    Service::Ubr { pcr: None } => {
                        let message = format!("{name:?} has no peak cell rate that could change");
                        self.refuse(&path("traffic"), message, "a group whose service has a pcr");
                        None
                    }
                    Service::Vbr { scr, .. } => Some(("scr of the service", *scr)),
                    Service::Abr(abr) => Some(("mcr of the service", abr.parameters.mcr)),
                    Service::Ubr { .. } | Service::Cbr { .. } => None,
                };
                self.at_least(&path("pcr"), rate, least);
                self.within_source_line(&path("pcr"), rate, &traffic[place], network);
                ChangeOf::Pcr(place)
            }
        };
        (self.found.len() == before).then_some((what, rate))
    }

    fn at_least(&mut self, path: &[Step], rate: Rate, least: Option<(&str, Rate)>) {
        if let Some((what, least)) = least
            && rate < least
        {
            self.refuse(path, format!("{rate} is less than the {what}, {least}"), format!("at least {least}"));
        }
    }
}
