//! TCP of one end: what tables of the file and a profile say, key by key.

use std::iter;

use cellway_spec::{Family, Problem, ProfileKeys};
use cellway_units::Bytes;

use crate::check::Check;
use crate::model::{TcpKeys, TcpProfile, TcpSpec};
use crate::tree::{Step, at};

/// The keys from one source: a table of the file, or a profile.
struct Layer {
    /// The table in the file; absent for a profile.
    path: Option<Vec<Step>>,
    keys: TcpKeys,
    /// Segments as large as the path takes.
    mss_of_path: bool,
}

/// The sources of the TCP keys of one end, in the order of precedence: tables of the file, the profile that they name
/// (else [`TcpProfile::DEFAULT`]), and [`TcpProfile::Classic`], which has every required key.
pub(super) struct Layers {
    layers: Vec<Layer>,
    /// The version of IP of the group.
    family: Family,
}

impl Layers {
    fn table(path: &[Step], file: Option<&TcpKeys>) -> Layer {
        Layer { path: Some(path.to_vec()), keys: file.copied().unwrap_or_default(), mss_of_path: false }
    }

    fn profile(name: TcpProfile) -> Layer {
        let ProfileKeys { keys, mss_of_path } = name.keys();
        Layer { path: None, keys, mss_of_path }
    }

    /// Returns the sources for the hosts of group `i`: the table of the group, that of all traffic, then the profile. A
    /// profile of the group takes precedence over that of all traffic.
    pub(super) fn of_group(i: usize, group: Option<&TcpKeys>, defaults: &TcpKeys, family: Family) -> Layers {
        let tables = [Layers::table(&at!["traffic", i, "tcp"], group), Layers::table(&at!["tcp"], Some(defaults))];
        let profile = tables.iter().find_map(|layer| layer.keys.profile).unwrap_or(TcpProfile::DEFAULT);
        let rest = Layers::profile(TcpProfile::Classic);
        Layers { layers: tables.into_iter().chain([Layers::profile(profile), rest]).collect(), family }
    }

    /// The TCP of the gateway at node `n`: what the node says, its profile included, before what the group has, whose
    /// segments are of `mss`.
    pub(super) fn of_gateway(self, n: usize, node: Option<&TcpKeys>, mss: Bytes) -> Layers {
        let own = Layers::table(&at!["node", n, "tcp"], node);
        let profile = own.keys.profile.map(Layers::profile);
        let own = iter::once(own).chain(profile).map(|mut layer| {
            // Another window brings its own send buffer, not that of the hosts.
            layer.keys.send_buffer = layer.keys.send_buffer.or(layer.keys.window);
            layer
        });
        // The size that hosts take from their path is theirs; a gateway does not look again.
        let hosts = Layer { path: None, keys: TcpKeys { mss: Some(mss), ..TcpKeys::default() }, mss_of_path: false };
        Layers { layers: own.chain([hosts]).chain(self.layers).collect(), family: self.family }
    }

    /// Returns the keys of all sources, each from the first that gives it.
    fn keys(&self) -> TcpKeys {
        self.layers.iter().fold(TcpKeys::NONE, |keys, layer| keys.or(layer.keys))
    }

    fn pick<T>(&self, key: impl Fn(&TcpKeys) -> Option<T>) -> Option<T> {
        self.layers.iter().find_map(|layer| key(&layer.keys))
    }

    /// Returns the segment size; `None` if the path determines it.
    fn mss(&self) -> Option<Bytes> {
        let first = self.layers.iter().find(|layer| layer.keys.mss.is_some() || layer.mss_of_path);
        first.and_then(|layer| layer.keys.mss)
    }

    /// Returns the send buffer: that of the file, else the larger of the profile's and the window, so that a default
    /// buffer does not limit a window that the file gives.
    fn send_buffer(&self, window: Bytes) -> Bytes {
        let first = self.layers.iter().find_map(|layer| Some((layer, layer.keys.send_buffer?)));
        match first {
            Some((Layer { path: Some(_), .. }, given)) => given,
            Some((_, of_profile)) => of_profile.max(window),
            None => window,
        }
    }
}

impl Check<'_> {
    /// Returns the path of `key`, or the path at which it could be given.
    fn tcp_path(&self, layers: &Layers, key: &str) -> Vec<Step> {
        let paths = || {
            let tables = layers.layers.iter().filter_map(|layer| layer.path.as_deref());
            tables.map(|table| table.iter().cloned().chain([Step::from(key)]).collect::<Vec<Step>>())
        };
        let stands = paths().find(|path| self.tree.find(path).is_some());
        stands.or_else(|| paths().find(|path| self.is_bad(path))).unwrap_or_else(|| at!["tcp", key].to_vec())
    }

    /// Returns " (of profile linux-6)" for a value that the file does not give.
    fn origin(&self, layers: &Layers, key: &str) -> String {
        match layers.pick(|keys| keys.profile) {
            Some(profile) if !self.stands(layers, key) => format!(" (of profile {})", profile.name()),
            _ => String::new(),
        }
    }

    /// Returns the path of the first of `keys` that the file gives, else of the last.
    fn blamed(&self, layers: &Layers, keys: &[String]) -> Vec<Step> {
        let key = keys.iter().find(|key| self.stands(layers, key)).or(keys.last());
        self.tcp_path(layers, key.expect("at least one key"))
    }

    /// Returns the TCP keys of gateway node `n`, its profile included.
    pub(super) fn gateway_keys(file: Option<&TcpKeys>) -> TcpKeys {
        let keys = file.copied().unwrap_or_default();
        keys.or(keys.profile.map(|name| name.keys().keys).unwrap_or_default())
    }

    /// One end's TCP; `mtu` is the largest packet of its path, absent if that is not known.
    pub(super) fn tcp(&mut self, layers: &Layers, mtu: Option<Bytes>) -> Option<TcpSpec> {
        let before = self.found.len();
        let mss = match layers.mss() {
            Some(mss) => Some(mss),
            None => mtu.map(|mtu| Bytes(mtu.0.saturating_sub(layers.family.tcp_headers()))),
        };
        let keys = layers.keys();
        let send_buffer = Some(layers.send_buffer(keys.window?));
        // Without a path the size of segments is not known: any size takes its place, and its problems are left out.
        let spec = TcpKeys { mss: mss.or(keys.mss), send_buffer, ..keys }.resolve()?;
        // No range of the key: a state machine runs without ticks too, but no system does.
        let granularity = self.tcp_path(layers, "timer-granularity");
        if spec.timer_granularity.is_zero() && !self.is_bad(&granularity) {
            self.refuse_value(&granularity, "is zero", "more than 0, like \"1 s\"");
        }
        let origin = |key: &str| self.origin(layers, key);
        let problems: Vec<_> = spec.problems(&origin).into_iter().chain(spec.unscaled_window(&origin)).collect();
        for Problem { keys, message, accepted } in problems {
            // A key that has been refused has another value here.
            let is_unknown = |key: &String| (key == "mss" && mss.is_none()) || self.is_bad(&self.tcp_path(layers, key));
            if !keys.iter().any(is_unknown) {
                self.refuse(&self.blamed(layers, &keys), message, accepted);
            }
        }
        if TcpKeys::names().iter().any(|key| self.is_bad(&self.tcp_path(layers, key))) {
            return None;
        }
        mss.map(|_| spec).filter(|_| self.found.len() == before)
    }

    /// Refuses a full segment that does not fit the largest packet of a link, called `link`.
    pub(super) fn fits_mtu(&mut self, layers: &Layers, mss: Bytes, link: &str, mtu: Bytes) {
        let headers = layers.family.tcp_headers();
        if mss.0 + headers > mtu.0 {
            let packet = mss.0 + headers;
            let message = format!(
                "{} B and {headers} B of headers make a packet of {packet} B; {link} takes {} B (mtu)",
                mss.0, mtu.0
            );
            let most = mtu.0 - headers;
            self.refuse(&self.tcp_path(layers, "mss"), message, format!("at most {most} B, or a larger mtu there"));
        }
    }

    /// Returns true if the file gives `key`.
    fn stands(&self, layers: &Layers, key: &str) -> bool {
        self.tree.find(&self.tcp_path(layers, key)).is_some()
    }
}
