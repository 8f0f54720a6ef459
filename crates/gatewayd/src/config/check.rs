//! Conversion of the file to the configuration: defaults, and the rules between keys.

mod classes;
mod coverage;
mod networks;
mod ports;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cellway_gateway::Classes;
use ipnet::IpNet;

use super::file::{
    AUTHORITY, ControlFile, File, ForwardFile, IdentityFile, InterceptFile, LimitsFile, OUTAGE, PeerFile, SocksFile,
};
use super::kinds::{Devices, Framing, HostPort, Memory, Name, Wait};
use super::{Config, Control, Forward, Identity, Intercept, Limits, LineRate, Listen, Peer, RateGuard, Socks};
use cellway_settings::found::{Found, one_of};
use cellway_settings::leaf::{Kind, Leaf};
use cellway_settings::problem::nearest;
use cellway_settings::tree::{Node, at};

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

    /// Returns the configuration; the problems for which it is missing are in `found`.
    pub(super) fn config(&mut self, file: File) -> Option<Config> {
        let peers = file.peer.unwrap_or_default();
        if peers.is_empty() && self.found.is_empty() {
            self.at("peer", "there is no peer");
        }
        self.names(file.name.as_ref(), &peers);
        self.unreachable(&peers, file.listen.is_some());
        networks::check(file.local.as_deref().unwrap_or_default(), &peers, &mut self.found);
        ports::check(
            file.listen.as_ref(),
            file.intercept.as_ref(),
            file.forward.as_deref().unwrap_or_default(),
            file.socks.as_ref(),
            file.control.as_ref(),
            &mut self.found,
        );
        let any_prefix = peers.iter().any(|peer| peer.prefixes.as_ref().is_some_and(|p| !p.is_empty()));
        if file.intercept.is_some() && !any_prefix && file.local.as_ref().is_none_or(Vec::is_empty) {
            self.at("intercept", "has nothing to do: no peer has prefixes, and there are no local networks");
        }
        let names: Vec<String> = peers.iter().filter_map(|peer| Some(peer.name.as_ref()?.get()?.0.clone())).collect();
        let forwards = file.forward.unwrap_or_default();
        let forwards: Vec<_> = forwards.into_iter().map(|forward| self.forward(forward, &names)).collect();
        let socks = file.socks.map(|socks| self.socks(socks, &names));
        let intercept = file.intercept.map(|intercept| self.intercept(intercept));
        let limits = self.limits(file.limits.unwrap_or_default());
        let control = self.control(file.control.unwrap_or_default());
        let local = self.all(file.local);
        let listen = file.listen.map(|listen| self.value(listen.address));
        let classes = file.class.unwrap_or_default();
        let classes = self.classes(&classes, &names);
        let peers: Vec<_> = peers.into_iter().map(|peer| self.peer(peer, &classes)).collect();
        let name = self.value(file.name);
        let identity = self.identity(file.identity.unwrap_or_default(), name.as_ref());
        Some(Config {
            name: name?.0,
            identity: identity?,
            listen: match listen {
                Some(address) => Some(Listen { address: address? }),
                None => None,
            },
            local,
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
            limits,
            control,
        })
    }

    /// Returns the value of a key that is required, or `None` if it was refused.
    fn value<T: Kind>(&mut self, leaf: Option<Leaf<T>>) -> Option<T> {
        leaf?.take(&mut self.found)
    }

    /// Returns the value of a key, or its default.
    fn or<T: Kind>(&mut self, leaf: Option<Leaf<T>>, default: T) -> T {
        self.value(leaf).unwrap_or(default)
    }

    fn all<T: Kind>(&mut self, leaves: Option<Vec<Leaf<T>>>) -> Vec<T> {
        leaves.unwrap_or_default().into_iter().filter_map(|leaf| leaf.take(&mut self.found)).collect()
    }

    /// Reports a problem of a whole table.
    fn at(&mut self, key: &str, message: &str) {
        self.found.push(Found::in_tree(self.tree, &at![key], message));
    }

    /// Returns a path, resolved from the folder of the file.
    fn path(&mut self, leaf: Option<Leaf<PathBuf>>) -> Option<PathBuf> {
        let path = self.value(leaf)?;
        Some(self.folder.join(path))
    }

    fn names(&mut self, own: Option<&Leaf<Name>>, peers: &[PeerFile]) {
        let own = own.and_then(Leaf::get);
        let mut seen: Vec<&Name> = Vec::new();
        for leaf in peers.iter().filter_map(|peer| peer.name.as_ref()) {
            let Some(name) = leaf.get() else { continue };
            if Some(name) == own {
                let message = format!("\"{}\" is the name of this gateway itself", name.0);
                self.found.push(leaf.wrong(message).accepted("the name in the other gateway's certificate"));
            } else if seen.contains(&name) {
                self.found.push(leaf.wrong(format!("there are two peers \"{}\"", name.0)));
            }
            seen.push(name);
        }
    }

    fn unreachable(&mut self, peers: &[PeerFile], listens: bool) {
        for leaf in peers.iter().filter(|p| !listens && p.address.is_none()).filter_map(|p| p.name.as_ref()) {
            let message = "can never be reached: it has no address, and this gateway does not listen";
            self.found.push(leaf.wrong(message).accepted("an address here, or a [listen] table"));
        }
    }

    fn identity(&mut self, file: IdentityFile, name: Option<&Name>) -> Option<Identity> {
        let authority = self.path(file.authority);
        let certificate = self.path(file.certificate);
        let key = self.path(file.key);
        let beside = |ending: &str| Some(self.folder.join(format!("{}.{ending}", name?.0)));
        Some(Identity {
            authority: authority.unwrap_or_else(|| self.folder.join(AUTHORITY)),
            certificate: certificate.or_else(|| beside("pem"))?,
            key: key.or_else(|| beside("key"))?,
        })
    }

    fn peer(&mut self, file: PeerFile, classes: &[classes::Checked<'_>]) -> Option<Peer> {
        let rate = self.rate(&file);
        let name = self.value(file.name);
        let address = self.value(file.address);
        let prefixes: Vec<IpNet> = self.all(file.prefixes);
        self.value(file.rate);
        self.value(file.most);
        self.value(file.framing);
        let mut peer = Peer {
            address: address.map(|HostPort(address)| address),
            prefixes,
            rate,
            rate_guard: self.value(file.rate_guard).unwrap_or_default(),
            transport: self.value(file.transport).unwrap_or_default(),
            connect: self.value(file.connect).unwrap_or_default(),
            down: self.value(file.down).unwrap_or_default(),
            outage: self.or(file.outage, Wait(OUTAGE)).0,
            name: name?.0,
            classes: Classes::default(),
        };
        peer.classes = self.classes_of(&peer, classes);
        Some(peer)
    }

    /// Returns the rate of a peer; problems of its values alone are reported elsewhere.
    fn rate(&mut self, file: &PeerFile) -> LineRate {
        let rate = file.rate.as_ref().and_then(Leaf::get).and_then(|rate| rate.0);
        let refused = file.rate.as_ref().is_some_and(|leaf| leaf.read.is_err());
        let most = file.most.as_ref().and_then(Leaf::get).copied();
        let zero = |leaf: &dyn Fn(&str) -> Found| leaf("is zero").accepted("a rate above zero");
        if let (Some(rate), Some(leaf)) = (rate, &file.rate)
            && rate.as_bps() == 0
        {
            self.found.push(zero(&|message| leaf.wrong(message)));
        }
        if let (Some(most), Some(leaf)) = (most, &file.most)
            && most.as_bps() == 0
        {
            self.found.push(zero(&|message| leaf.wrong(message)));
        }
        match (rate, &file.most) {
            (Some(_), Some(leaf)) => {
                let message = "has no effect with a configured rate";
                self.found.push(leaf.wrong(message).accepted("only with rate = \"auto\""));
            }
            (None, _) if !refused => {
                let atm = file.framing.as_ref().filter(|leaf| leaf.get() == Some(&Framing::Atm));
                let message = "has no effect with rate = \"auto\", which measures packets";
                self.found.extend(atm.map(|leaf| leaf.wrong(message).accepted("\"packet\", or a rate")));
                let message = "has no effect with rate = \"auto\"";
                let guard = file.rate_guard.as_ref().filter(|leaf| leaf.get() == Some(&RateGuard::Off));
                self.found.extend(guard.map(|leaf| leaf.wrong(message).accepted("\"on\", or a rate")));
            }
            _ => {}
        }
        let atm = file.framing.as_ref().and_then(Leaf::get) == Some(&Framing::Atm);
        rate.map_or(LineRate::Auto { most }, |rate| LineRate::Fixed { rate, atm })
    }

    fn intercept(&mut self, file: InterceptFile) -> Option<Intercept> {
        let default = Intercept::default();
        let (device, table) = (file.device.as_ref().and_then(Leaf::get), file.table.as_ref());
        for leaf in file.interfaces.iter().flatten().filter(|leaf| leaf.get().is_some()) {
            if leaf.get().map(|d| &d.0) == Some(device.map_or(&default.device, |d| &d.0)) {
                self.found.push(leaf.wrong("is the TUN device on which SYNs wait").accepted("devices with clients"));
            }
        }
        // 253 to 255 are the kernel's (default, main, local); the next one up is also used.
        if let Some((leaf, number)) = table.and_then(|leaf| Some((leaf, *leaf.get()?)))
            && (252..=255).contains(&number)
        {
            let message = format!("{number} and {} are tables of the kernel", number + 1);
            self.found.push(leaf.wrong(message).accepted("below 252 or above 255"));
        }
        let interfaces: Vec<Devices> = self.all(file.interfaces);
        let device = self.value(file.device);
        Some(Intercept {
            interfaces: interfaces.into_iter().map(|device| device.0).collect(),
            port: self.or(file.port, default.port),
            mark: self.or(file.mark, default.mark),
            table: self.or(file.table, default.table),
            device: device.map_or(default.device, |device| device.0),
            source: self.value(file.source).unwrap_or_default(),
        })
    }

    /// Returns the peer of a forward or of SOCKS: the named one, or the only one.
    fn which(&mut self, leaf: Option<Leaf<Name>>, names: &[String]) -> Option<String> {
        let Some(leaf) = leaf else {
            return if let [only] = names { Some(only.clone()) } else { None };
        };
        let given = leaf.get().filter(|name| !names.contains(&name.0)).map(|name| name.0.clone());
        if let Some(name) = given {
            let meant = nearest(&name, names.iter().map(String::as_str)).map(|name| format!("\"{name}\""));
            let message = format!("there is no peer \"{name}\"");
            self.found.push(leaf.wrong(message).suggest(meant).accepted(one_of(names.iter().map(String::as_str))));
        }
        self.value(Some(leaf)).map(|name| name.0)
    }

    fn forward(&mut self, file: ForwardFile, names: &[String]) -> Option<Forward> {
        if let (None, Some(leaf)) = (&file.peer, &file.listen)
            && names.len() > 1
        {
            let accepted = one_of(names.iter().map(String::as_str));
            let found = Found::new(leaf.at, leaf.key.replace("listen", "peer"), "is missing");
            self.found.push(found.accepted(accepted));
        }
        let (peer, listen, to) = (self.which(file.peer, names), self.value(file.listen), self.value(file.to));
        Some(Forward { listen: listen?, peer: peer?, to: to?.0 })
    }

    fn socks(&mut self, file: SocksFile, names: &[String]) -> Option<Socks> {
        let (peer, listen) = (self.which(file.peer, names), self.value(file.listen));
        Some(Socks { listen: listen?, peer })
    }

    fn limits(&mut self, file: LimitsFile) -> Limits {
        let default = Limits::default();
        // A value that was refused is no bound for others.
        let bound = |leaf: &Option<Leaf<u32>>, default| leaf.as_ref().map_or(Some(default), |leaf| leaf.get().copied());
        let memory = file.memory.as_ref().map_or(Some(default.memory), |leaf| leaf.get().map(|memory| memory.0));
        if let (Some(memory), Some(leaf)) = (memory, &file.window)
            && leaf.get().is_some_and(|window| window.0 > memory)
        {
            let problem = leaf.wrong("is more than the memory of all connections");
            self.found.push(problem.accepted(format!("at most \"{memory}\", or more memory")));
        }
        for leaf in [&file.per_source, &file.opening].into_iter().flatten() {
            if let (Some(connections), Some(most)) = (bound(&file.connections, default.connections), leaf.get())
                && *most > connections
            {
                let message = format!("{most} is more than all connections, {connections}");
                self.found.push(leaf.wrong(message).accepted(format!("a whole number from 1 to {connections}")));
            }
        }
        let connections = self.or(file.connections, default.connections);
        let default_opening = default.opening.min(connections);
        if let (Some(opening), Some(leaf)) = (bound(&file.opening, default_opening), &file.unproven)
            && let Some(most) = leaf.get().filter(|most| **most > opening)
        {
            let message = format!("{most} is more than `opening`, {opening}: clients would be refused before that");
            self.found.push(leaf.wrong(message).accepted(format!("a whole number from 1 to {opening}")));
        }
        let opening = self.or(file.opening, default_opening);
        Limits {
            window: self.value(file.window).map(|window| window.0),
            memory: self.or(file.memory, Memory(default.memory)).0,
            connections,
            per_source: self.or(file.per_source, default.per_source.min(connections)),
            opening,
            unproven: self.or(file.unproven, default.unproven.min(opening.div_ceil(2))),
            // TCP_KEEPIDLE accepts at most 32767 s.
            keepalive: self.or(file.keepalive, Wait(default.keepalive)).0,
        }
    }

    fn control(&mut self, file: ControlFile) -> Control {
        let metrics: Option<SocketAddr> = self.value(file.metrics);
        let drain = self.value(file.drain).map(|drain| drain.0);
        Control { socket: self.path(file.socket), metrics, drain }
    }
}
