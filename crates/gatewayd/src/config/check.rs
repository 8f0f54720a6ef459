//! Conversion of the file to the configuration, and the rules between keys.

mod classes;
mod coverage;
mod networks;
mod ports;

use std::path::Path;

use cellway_gateway::Classes;

use super::file::{File, ForwardFile, IdentityFile, PeerFile, SocksFile};
use super::kinds::{Framing, Name};
use super::{
    Config, Control, ControlKeys, Forward, Identity, Intercept, InterceptKeys, Limits, LimitsKeys, LineRate, Listen,
    Peer, RateGuard, Socks,
};
use cellway_settings::found::{Found, one_of};
use cellway_settings::problem::nearest;
use cellway_settings::tree::{Node, Step, at};

/// The check of one file.
pub(super) struct Check<'a> {
    pub(super) found: Vec<Found>,
    /// The parsed file.
    tree: &'a Node,
    /// The folder of the file.
    folder: &'a Path,
}

impl<'a> Check<'a> {
    pub(super) fn new(found: Vec<Found>, tree: &'a Node, folder: &'a Path) -> Check<'a> {
        Check { found, tree, folder }
    }

    /// Returns the configuration; `None` if a value is missing. The problems are in `found`, also with a configuration.
    pub(super) fn config(&mut self, file: File) -> Option<Config> {
        if file.peer.as_ref().is_some_and(Vec::is_empty) && self.found.is_empty() {
            self.refuse(&at!["peer"], "there is no peer", None);
        }
        let peers = file.peer.unwrap_or_default();
        self.names(file.name.as_ref(), &peers);
        self.unreachable(&peers);
        let intercept = file.intercept.flatten();
        self.networks(file.local.as_deref().unwrap_or_default(), &peers);
        let forwards = file.forward.flatten().unwrap_or_default();
        let (listen, socks) = (file.listen.flatten(), file.socks.flatten());
        let control = file.control.flatten().unwrap_or(ControlKeys::NONE);
        self.ports(listen.as_ref(), intercept.as_ref(), &forwards, socks.as_ref(), &control);
        let any_prefix = peers.iter().any(|peer| peer.prefixes.as_ref().is_none_or(|p| !p.is_empty()));
        if intercept.is_some() && !any_prefix && file.local.as_ref().is_some_and(Vec::is_empty) {
            let message = "has nothing to do: no peer has prefixes, and there are no local networks";
            self.refuse(&at!["intercept"], message, None);
        }
        let names: Vec<String> = peers.iter().filter_map(|peer| Some(peer.name.as_ref()?.0.clone())).collect();
        let forwards: Vec<_> = forwards.iter().enumerate().map(|(i, file)| self.forward(i, file, &names)).collect();
        let socks = socks.map(|socks| self.socks(&socks, &names));
        let intercept = intercept.map(|intercept| self.intercept(intercept));
        let limits = self.limits(file.limits.flatten().unwrap_or(LimitsKeys::NONE));
        let classes = file.class.flatten().unwrap_or_default();
        let classes = self.classes(&classes, &names);
        let peers: Vec<_> = peers.into_iter().enumerate().map(|(i, peer)| self.peer(i, peer, &classes)).collect();
        let identity = self.identity(file.identity?.unwrap_or_default(), file.name.as_ref());
        Some(Config {
            name: file.name?.0,
            identity: identity?,
            listen: match listen {
                Some(listen) => Some(Listen { address: listen.address? }),
                None => None,
            },
            local: file.local?,
            peers: peers.into_iter().collect::<Option<_>>()?,
            intercept: match intercept {
                Some(intercept) => Some(intercept?),
                None => None,
            },
            forwards: forwards.into_iter().collect::<Option<_>>()?,
            socks: match socks {
                Some(socks) => Some(socks?),
                None => None,
            },
            limits: limits?,
            control: self.control(control)?,
        })
    }

    /// Reports a problem of the value at `path`.
    fn refuse(&mut self, path: &[Step], message: impl Into<String>, accepted: Option<&str>) {
        let accepted = accepted.map(str::to_owned);
        self.found.push(Found { accepted, ..Found::in_tree(self.tree, path, message) });
    }

    fn is_given(&self, path: &[Step]) -> bool {
        self.tree.find(path).is_some()
    }

    fn names(&mut self, own: Option<&Name>, peers: &[PeerFile]) {
        let mut seen: Vec<&Name> = Vec::new();
        for (i, name) in peers.iter().enumerate().filter_map(|(i, peer)| Some((i, peer.name.as_ref()?))) {
            let path = at!["peer", i, "name"];
            if Some(name) == own {
                let message = format!("\"{}\" is the name of this gateway itself", name.0);
                self.refuse(&path, message, Some("the name in the other gateway's certificate"));
            } else if seen.contains(&name) {
                self.refuse(&path, format!("there are two peers \"{}\"", name.0), Some("a name of its own"));
            }
            seen.push(name);
        }
    }

    fn unreachable(&mut self, peers: &[PeerFile]) {
        if self.is_given(&at!["listen"]) {
            return;
        }
        for i in (0..peers.len()).filter(|&i| peers[i].name.is_some()) {
            if !self.is_given(&at!["peer", i, "address"]) {
                let message = "can never be reached: it has no address, and this gateway does not listen";
                self.refuse(&at!["peer", i, "name"], message, Some("an address here, or a [listen] table"));
            }
        }
    }

    fn identity(&mut self, file: IdentityFile, name: Option<&Name>) -> Option<Identity> {
        let beside = |ending: &str| Some(self.folder.join(format!("{}.{ending}", name?.0)));
        let in_folder = |path: &Path| self.folder.join(path);
        Some(Identity {
            authority: in_folder(&file.authority?),
            certificate: file.certificate?.as_deref().map(in_folder).or_else(|| beside("pem"))?,
            key: file.key?.as_deref().map(in_folder).or_else(|| beside("key"))?,
        })
    }

    fn peer(&mut self, i: usize, file: PeerFile, classes: &[classes::Checked<'_>]) -> Option<Peer> {
        let rate = self.rate(i, &file);
        let mut peer = Peer {
            name: file.name?.0,
            address: file.address?.map(|address| address.0),
            prefixes: file.prefixes?,
            rate: rate?,
            rate_guard: file.rate_guard?,
            transport: file.transport?,
            connect: file.connect?,
            down: file.down?,
            outage: file.outage?,
            classes: Classes::default(),
        };
        peer.classes = self.classes_of(&peer, classes);
        Some(peer)
    }

    /// Returns the rate of peer `i`.
    fn rate(&mut self, i: usize, file: &PeerFile) -> Option<LineRate> {
        let path = |key: &str| at!["peer", i, key];
        let is_atm = file.framing == Some(Framing::Atm);
        if let Some(rate) = file.rate?.0 {
            if self.is_given(&path("most")) {
                self.refuse(&path("most"), "has no effect with a configured rate", Some("only with rate = \"auto\""));
            }
            return Some(LineRate::Fixed { rate, atm: is_atm });
        }
        if is_atm {
            let message = "has no effect with rate = \"auto\", which measures packets";
            self.refuse(&path("framing"), message, Some("\"packet\", or a rate"));
        }
        if file.rate_guard == Some(RateGuard::Off) {
            self.refuse(&path("rate-guard"), "has no effect with rate = \"auto\"", Some("\"on\", or a rate"));
        }
        Some(LineRate::Auto { most: file.most? })
    }

    fn intercept(&mut self, keys: InterceptKeys) -> Option<Intercept> {
        let (names, table) = (keys.interfaces.clone().unwrap_or_default(), keys.table);
        let intercept = keys.resolve()?;
        let device = &intercept.device;
        let is_own = |names: &str| match names.strip_suffix('*') {
            Some(beginning) => device.starts_with(beginning),
            None => *names == **device,
        };
        let known = !self.tree.is_bad(&at!["intercept", "device"]);
        for i in (0..names.len()).filter(|&i| known && is_own(&names[i])) {
            let message = "is the TUN device on which SYNs wait";
            self.refuse(&at!["intercept", "interfaces", i], message, Some("devices with clients"));
        }
        // 253 to 255 are the kernel's (default, main, local), and the gateway also uses the next one.
        if let Some(number) = table.filter(|number| (252..=255).contains(number)) {
            let message = format!("uses the tables {number} and {}; 253 to 255 are those of the kernel", number + 1);
            self.refuse(&at!["intercept", "table"], message, Some("below 252 or above 255"));
        }
        Some(intercept)
    }

    /// Returns the peer of a forward or of SOCKS, at `path`: the named one, or the only one. `Some(None)` if there are
    /// several and none is named.
    fn which(&mut self, path: &[Step], name: Option<&Name>, names: &[String]) -> Option<Option<String>> {
        let Some(Name(name)) = name else {
            return Some(if let [only] = names { Some(only.clone()) } else { None });
        };
        if names.contains(name) {
            return Some(Some(name.clone()));
        }
        let names = || names.iter().map(String::as_str);
        let meant = nearest(name, names()).map(|name| format!("\"{name}\""));
        let found = Found::in_tree(self.tree, path, format!("there is no peer \"{name}\""));
        self.found.push(found.suggest(meant).accepted(one_of(names())));
        None
    }

    fn forward(&mut self, i: usize, file: &ForwardFile, names: &[String]) -> Option<Forward> {
        let path = at!["forward", i, "peer"];
        let peer = self.which(&path, file.peer.as_ref()?.as_ref(), names)?;
        if peer.is_none() && names.len() > 1 {
            self.refuse(&path, "is missing", Some(&one_of(names.iter().map(String::as_str))));
        }
        Some(Forward { listen: file.listen?, peer: peer?, to: file.to.as_ref()?.0.clone() })
    }

    fn socks(&mut self, file: &SocksFile, names: &[String]) -> Option<Socks> {
        let peer = self.which(&at!["socks", "peer"], file.peer.as_ref()?.as_ref(), names)?;
        Some(Socks { listen: file.listen?, peer })
    }

    /// Returns the limits. The defaults of some depend on those of others.
    fn limits(&mut self, keys: LimitsKeys) -> Option<Limits> {
        let all = keys.resolve()?;
        let opening = keys.opening.unwrap_or(all.opening.min(all.connections));
        let limits = Limits {
            per_source: keys.per_source.unwrap_or(all.per_source.min(all.connections)),
            opening,
            unproven: keys.unproven.unwrap_or(all.unproven.min(opening.div_ceil(2))),
            ..all
        };
        // A value that was refused is no bound for others.
        let tree = self.tree;
        let is_bound = |key: &str| !tree.is_bad(&at!["limits", key]);
        let memory = limits.memory;
        if limits.window.is_some_and(|window| window > memory) && is_bound("memory") {
            let accepted = format!("at most \"{memory}\", or more memory");
            self.refuse(&at!["limits", "window"], "is more than the memory of all connections", Some(&accepted));
        }
        let Limits { connections, .. } = limits;
        for (key, most) in [("per-source", limits.per_source), ("opening", opening)] {
            if most > connections && is_bound("connections") {
                let message = format!("{most} is more than all connections, {connections}");
                let accepted = format!("a whole number from 1 to {connections}");
                self.refuse(&at!["limits", key], message, Some(&accepted));
            }
        }
        let most = limits.unproven;
        if most > opening && is_bound("opening") && (keys.opening.is_some() || is_bound("connections")) {
            let message = format!("{most} is more than `opening`, {opening}: clients would be refused before that");
            self.refuse(&at!["limits", "unproven"], message, Some(&format!("a whole number from 1 to {opening}")));
        }
        Some(limits)
    }

    fn control(&mut self, keys: ControlKeys) -> Option<Control> {
        let mut control = keys.resolve()?;
        control.socket.iter_mut().for_each(|path| path.0 = self.folder.join(&path.0));
        Some(control)
    }
}
