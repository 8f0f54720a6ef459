//! TCP of one end: what tables of the file and a profile say, key by key.

use std::iter;

use cellway_spec::{CongestionControl, LossRecovery};
use cellway_units::{Bytes, Rate, Span};

use crate::check::framing::word;
use crate::check::{Check, MAX_BUFFER};
use crate::model::{AckDelay, TCP_HEADERS, TcpKeys, TcpProfile, TcpSpec};
use crate::profiles::{self, Profile};
use crate::tree::{Step, at};

/// IPv4 and TCP headers without options, in bytes.
pub(super) const HEADERS: u64 = TCP_HEADERS;
/// What the timestamps option takes of each segment, in bytes. RFC 7323 section 3.2.
const TIMESTAMPS: u64 = 12;
/// The largest IPv4 packet, in bytes. RFC 791 section 3.1.
pub(super) const MAX_PACKET: u64 = 65_535;
/// The largest window without the window scale option, in bytes. RFC 9293 section 3.1.
const MAX_PLAIN_WINDOW: u64 = 65_535;
/// The largest window with it: 65 535 shifted by 14. RFC 7323 section 2.3.
const MAX_SCALED_WINDOW: u64 = 65_535 << 14;

/// The longest that an acknowledgement may wait. RFC 1122 section 4.2.3.2.
const MAX_DELAYED_ACK: Span = Span::from_ms(500);

/// The keys from one source: a table of the file, or a profile.
struct Layer {
    /// The table in the file; absent for a profile.
    path: Option<Vec<Step>>,
    keys: TcpKeys,
    /// Segments as large as the path takes.
    mss_of_path: bool,
}

/// The sources of the TCP keys of one end, in the order of precedence: tables of the file, the profile that they name
/// (else [`profiles::DEFAULT`]), and [`profiles::CLASSIC`], which has every required key.
pub(super) struct Layers(Vec<Layer>);

impl Layers {
    fn table(path: &[Step], file: Option<&TcpKeys>) -> Layer {
        Layer { path: Some(path.to_vec()), keys: file.copied().unwrap_or_default(), mss_of_path: false }
    }

    fn profile(name: TcpProfile) -> Layer {
        let Profile { keys, mss_of_path } = profiles::profile(name);
        Layer { path: None, keys, mss_of_path }
    }

    /// Returns the sources for the hosts of group `i`: the table of the group, that of all traffic, then the profile. A
    /// profile of the group takes precedence over that of all traffic.
    pub(super) fn of_group(i: usize, group: Option<&TcpKeys>, defaults: &TcpKeys) -> Layers {
        let tables = [Layers::table(&at!["traffic", i, "tcp"], group), Layers::table(&at!["tcp"], Some(defaults))];
        let profile = tables.iter().find_map(|layer| layer.keys.profile).unwrap_or(profiles::DEFAULT);
        let rest = Layer { path: None, keys: profiles::CLASSIC, mss_of_path: false };
        Layers(tables.into_iter().chain([Layers::profile(profile), rest]).collect())
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
        Layers(own.chain([hosts]).chain(self.0).collect())
    }

    /// Returns the keys of all sources, each from the first that gives it.
    fn keys(&self) -> TcpKeys {
        self.0.iter().fold(TcpKeys::NONE, |keys, layer| keys.or(layer.keys))
    }

    fn pick<T>(&self, key: impl Fn(&TcpKeys) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|layer| key(&layer.keys))
    }

    /// Returns the segment size; `None` if the path determines it.
    fn mss(&self) -> Option<Bytes> {
        let first = self.0.iter().find(|layer| layer.keys.mss.is_some() || layer.mss_of_path);
        first.and_then(|layer| layer.keys.mss)
    }

    /// Returns the send buffer: that of the file, else the larger of the profile's and the window, so that a default
    /// buffer does not limit a window that the file gives.
    fn send_buffer(&self, window: Bytes) -> Bytes {
        let first = self.0.iter().find_map(|layer| Some((layer, layer.keys.send_buffer?)));
        match first {
            Some((Layer { path: Some(_), .. }, given)) => given,
            Some((_, of_profile)) => of_profile.max(window),
            None => window,
        }
    }
}

impl Check<'_> {
    /// Where `key` stands, or would be looked for.
    fn tcp_path(&self, layers: &Layers, key: &str) -> Vec<Step> {
        let paths = || {
            let tables = layers.0.iter().filter_map(|layer| layer.path.as_deref());
            tables.map(|table| table.iter().cloned().chain([Step::from(key)]).collect::<Vec<Step>>())
        };
        let stands = paths().find(|path| self.tree.find(path).is_some());
        stands.or_else(|| paths().find(|path| self.is_bad(path))).unwrap_or_else(|| at!["tcp", key].to_vec())
    }

    /// Returns " (of profile linux-6)" for a value that the file does not give.
    fn origin(&self, layers: &Layers, key: &str) -> String {
        match layers.pick(|keys| keys.profile) {
            Some(profile) if !self.stands(layers, key) => format!(" (of profile {})", word(profile).trim_matches('"')),
            _ => String::new(),
        }
    }

    /// Returns the path of the first of `keys` that the file gives, else of the last.
    fn blamed(&self, layers: &Layers, keys: &[&str]) -> Vec<Step> {
        let key = keys.iter().find(|key| self.stands(layers, key)).or(keys.last());
        self.tcp_path(layers, key.expect("at least one key"))
    }

    /// What the TCP keys of gateway node `n` come to, its profile included.
    pub(super) fn gateway_keys(file: Option<&TcpKeys>) -> TcpKeys {
        let keys = file.copied().unwrap_or_default();
        keys.or(keys.profile.map(|name| profiles::profile(name).keys).unwrap_or_default())
    }

    /// One end's TCP; `mtu` is the largest packet of its path, absent if that is not known.
    pub(super) fn tcp(&mut self, layers: &Layers, mtu: Option<Bytes>) -> Option<TcpSpec> {
        let before = self.found.len();
        let mss = match layers.mss() {
            Some(mss) => self.given(layers, "mss", |_| Some(mss)),
            None => mtu
                .filter(|_| !self.is_bad(&self.tcp_path(layers, "mss")))
                .map(|mtu| Bytes(mtu.0.saturating_sub(HEADERS))),
        };
        let window = self.given(layers, "window", |t| t.window);
        let send_buffer =
            window.and_then(|window| self.given(layers, "send-buffer", |_| Some(layers.send_buffer(window))));
        let scaling = self.given(layers, "window-scaling", |t| t.window_scaling);
        let timestamps = self.given(layers, "timestamps", |t| t.timestamps);
        if let Some(mss) = mss {
            self.mss(layers, mss, timestamps == Some(true));
            self.holds_segment(layers, "window", window, mss);
            if self.stands(layers, "send-buffer") {
                self.holds_segment(layers, "send-buffer", send_buffer, mss);
            }
        }
        // A default is bounded by the window, which has its own limit.
        if let Some(given) = send_buffer.filter(|_| self.stands(layers, "send-buffer")) {
            self.size_limit(&self.tcp_path(layers, "send-buffer"), given, MAX_BUFFER);
        }
        if let (Some(window), Some(scaling)) = (window, scaling) {
            self.window_limit(layers, window, scaling);
        }
        let granularity = self.timer(layers, "timer-granularity", |t| t.timer_granularity);
        let rto_initial = self.timer(layers, "rto-initial", |t| t.rto_initial);
        let rto_min = self.timer(layers, "rto-min", |t| t.rto_min);
        let rto_max = self.timer(layers, "rto-max", |t| t.rto_max);
        if let (Some(initial), Some(min), Some(max)) = (rto_initial, rto_min, rto_max) {
            self.timeouts(layers, initial, min, max);
        }
        if let (Some(min), Some(tick)) = (rto_min, granularity) {
            self.two_ticks(layers, min, tick);
        }
        let delayed_ack = self.given(layers, "delayed-ack", |t| t.delayed_ack);
        if let Some(AckDelay(Some(delay))) = delayed_ack {
            let path = self.tcp_path(layers, "delayed-ack");
            if delay.is_zero() {
                self.refuse_value(&path, "is zero", "more than 0, like \"200 ms\", or \"off\"");
            } else if delay > MAX_DELAYED_ACK {
                let message = format!("{delay} is longer than an acknowledgement may wait");
                self.refuse(&path, message, format!("at most {MAX_DELAYED_ACK}, or \"off\""));
            }
        }
        let initial_ssthresh = self.optional(layers, "initial-ssthresh", |t| t.initial_ssthresh);
        if initial_ssthresh == Some(Some(Bytes(0))) {
            let path = self.tcp_path(layers, "initial-ssthresh");
            self.refuse_value(&path, "is zero", "more than 0, like \"64 KiB\"; without the key there is none");
        }
        let rto_margin = self.optional(layers, "rto-margin", |t| t.rto_margin);
        if rto_margin == Some(Some(Span::ZERO)) {
            let path = self.tcp_path(layers, "rto-margin");
            self.refuse_value(&path, "is zero", "more than 0, like \"200 ms\"; without the key it is one tick");
        }
        self.recovery_and_control(layers);
        let pacing_rate = self.optional(layers, "pacing-rate", |t| t.pacing_rate);
        if pacing_rate == Some(Some(Rate::from_bps(0))) {
            let path = self.tcp_path(layers, "pacing-rate");
            self.refuse_value(&path, "is zero", "more than 0, like \"20 Mbit/s\"; without the key there is no limit");
        }
        if TcpKeys::names().iter().any(|key| self.is_bad(&self.tcp_path(layers, key))) {
            return None;
        }
        let given = TcpKeys { mss, send_buffer, ..TcpKeys::NONE };
        let spec = given.or(layers.keys()).resolve();
        spec.filter(|_| self.found.len() == before)
    }

    /// Refuses a pair of recovery and control that contradict each other.
    fn recovery_and_control(&mut self, layers: &Layers) {
        let Some(variant) = layers.pick(|t| t.variant) else { return };
        let recovery = layers.pick(|t| t.recovery).unwrap_or(variant.recovery());
        let control = layers.pick(|t| t.control).unwrap_or(variant.control());
        if (recovery == LossRecovery::Tahoe) != (control == CongestionControl::Tahoe) {
            let path = self.blamed(layers, &["recovery", "control"]);
            let message = format!(
                "recovery \"{}\" and control \"{}\" contradict each other: only tahoe leaves one segment after each loss",
                recovery.name(),
                control.name()
            );
            self.refuse(&path, message, "both \"tahoe\", or neither, like recovery = \"rack\" and control = \"cubic\"");
        }
    }

    /// Refuses a full segment that does not fit the largest packet of a link, called `link`.
    pub(super) fn fits_mtu(&mut self, layers: &Layers, mss: Bytes, link: &str, mtu: Bytes) {
        if mss.0 + HEADERS > mtu.0 {
            let packet = mss.0 + HEADERS;
            let message = format!(
                "{} B and {HEADERS} B of headers make a packet of {packet} B; {link} takes {} B (mtu)",
                mss.0, mtu.0
            );
            let most = mtu.0 - HEADERS;
            self.refuse(&self.tcp_path(layers, "mss"), message, format!("at most {most} B, or a larger mtu there"));
        }
    }

    /// `Some(None)` if the key is absent, `None` if its value was refused.
    fn optional<T>(&self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<T>) -> Option<Option<T>> {
        (!self.is_bad(&self.tcp_path(layers, key))).then(|| layers.pick(get))
    }

    /// Returns the value of a key that every profile has; `None` if it was refused.
    fn given<T>(&self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<T>) -> Option<T> {
        self.optional(layers, key, get).flatten()
    }

    fn timer(&mut self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<Span>) -> Option<Span> {
        let span = self.given(layers, key, get)?;
        if span.is_zero() {
            let path = self.tcp_path(layers, key);
            self.refuse_value(&path, "is zero", "more than 0, like \"1 s\"");
            return None;
        }
        Some(span)
    }

    fn mss(&mut self, layers: &Layers, mss: Bytes, timestamps: bool) {
        let path = self.tcp_path(layers, "mss");
        let most = MAX_PACKET - HEADERS;
        if mss.0 == 0 {
            self.refuse_value(&path, "is zero", format!("from 1 B to {most} B, like \"1460 B\""));
        } else if timestamps && mss.0 <= TIMESTAMPS {
            let message = format!("{} B has no room for payload beside timestamps, which take {TIMESTAMPS} B", mss.0);
            self.refuse(&path, message, format!("more than {TIMESTAMPS} B, or timestamps = false"));
        } else if mss.0 > most {
            let message = format!(
                "{} B and {HEADERS} B of headers make a packet of {} B; IP allows {MAX_PACKET} B",
                mss.0,
                u128::from(mss.0) + u128::from(HEADERS)
            );
            self.refuse(&path, message, format!("at most {most} B"));
        }
    }

    fn holds_segment(&mut self, layers: &Layers, key: &str, size: Option<Bytes>, mss: Bytes) {
        if let Some(size) = size
            && size < mss
        {
            let [of_size, of_mss] = [key, "mss"].map(|key| self.origin(layers, key));
            let what = if of_size.is_empty() { String::new() } else { format!("a {key} of ") };
            let segment =
                if of_mss.is_empty() { "(mss)".to_owned() } else { format!("(mss{})", of_mss.replace(['(', ')'], "")) };
            let message = format!("{what}{} B{of_size} is smaller than one segment of {} B {segment}", size.0, mss.0);
            let accepted = match (of_size.is_empty(), of_mss.is_empty()) {
                (true, true) => format!("at least {} B", mss.0),
                (true, false) => format!("at least {} B, or a smaller mss", mss.0),
                (false, _) => format!("{key} at least {} B, or a smaller mss", mss.0),
            };
            self.refuse(&self.blamed(layers, &[key, "mss"]), message, accepted);
        }
    }

    fn window_limit(&mut self, layers: &Layers, window: Bytes, scaling: bool) {
        let origin = self.origin(layers, "window");
        if window.0 > MAX_SCALED_WINDOW {
            let message = format!("{} B is more than TCP can announce", window.0);
            self.refuse(&self.tcp_path(layers, "window"), message, format!("at most {MAX_SCALED_WINDOW} B"));
        } else if window.0 > MAX_PLAIN_WINDOW && !scaling {
            let what = if origin.is_empty() { String::new() } else { "a window of ".to_owned() };
            let message = format!("{what}{} B{origin} is more than TCP can announce without window scaling", window.0);
            let path = self.blamed(layers, &["window", "window-scaling"]);
            self.refuse(&path, message, format!("window at most {MAX_PLAIN_WINDOW} B, or window-scaling = true"));
        }
    }

    fn timeouts(&mut self, layers: &Layers, initial: Span, min: Span, max: Span) {
        let [of_initial, of_min, of_max] = ["rto-initial", "rto-min", "rto-max"].map(|key| self.origin(layers, key));
        if min > max {
            let message = format!("rto-min, {min}{of_min}, is more than rto-max, {max}{of_max}");
            self.refuse(&self.blamed(layers, &["rto-min", "rto-max"]), message, "rto-min at most rto-max");
        } else if initial > max {
            let message = format!("rto-initial, {initial}{of_initial}, is more than rto-max, {max}{of_max}");
            self.refuse(&self.blamed(layers, &["rto-initial", "rto-max"]), message, "rto-initial at most rto-max");
        } else if initial < min {
            let message = format!("rto-initial, {initial}{of_initial}, is less than rto-min, {min}{of_min}");
            self.refuse(&self.blamed(layers, &["rto-initial", "rto-min"]), message, "rto-min at most rto-initial");
        }
    }

    /// The first tick can follow at once: a timer of less than two may fire before any answer.
    fn two_ticks(&mut self, layers: &Layers, min: Span, tick: Span) {
        if min < tick.saturating_mul(2) {
            let [of_min, of_tick] = ["rto-min", "timer-granularity"].map(|key| self.origin(layers, key));
            self.refuse(
                &self.blamed(layers, &["rto-min", "timer-granularity"]),
                format!("rto-min, {min}{of_min}, is less than two ticks of {tick}{of_tick}"),
                "rto-min at least 2 x timer-granularity",
            );
        }
    }

    /// Whether the file gives `key`.
    fn stands(&self, layers: &Layers, key: &str) -> bool {
        self.tree.find(&self.tcp_path(layers, key)).is_some()
    }
}
