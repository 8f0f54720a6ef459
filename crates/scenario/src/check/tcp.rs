//! TCP of one end: what tables of the file and a profile say, key by key.

use std::iter;

use cellway_units::{Bytes, Rate, Span};

use crate::check::{Check, MAX_BUFFER};
use crate::file::TcpFile;
use crate::model::{FastRetransmit, TcpKeys, TcpProfile, TcpSpec};
use crate::profiles::{self, Profile};
use crate::tree::{Step, at};

/// IPv4 and TCP headers without options, in bytes.
pub(super) const HEADERS: u64 = 40;
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

/// Keys from one place: a table of the file, or a profile, which stands nowhere in it.
struct Layer {
    path: Option<Vec<Step>>,
    keys: TcpKeys,
    /// Segments as large as the path takes.
    mss_of_path: bool,
}

/// What the TCP of one end is made from; a layer says what those before it leave out.
pub(super) struct Layers(Vec<Layer>);

impl Layers {
    fn table(path: &[Step], file: Option<&TcpFile>) -> Layer {
        Layer { path: Some(path.to_vec()), keys: file.map(TcpFile::keys).unwrap_or_default(), mss_of_path: false }
    }

    fn profile(name: TcpProfile) -> Layer {
        let Profile { keys, mss_of_path } = profiles::profile(name);
        Layer { path: None, keys, mss_of_path }
    }

    /// The TCP of hosts of group `i`: its own keys, those of all traffic, then the profile.
    pub(super) fn of_group(i: usize, group: Option<&TcpFile>, defaults: &TcpFile) -> Layers {
        let tables = [Layers::table(&at!["traffic", i, "tcp"], group), Layers::table(&at!["tcp"], Some(defaults))];
        let profile = tables.iter().find_map(|layer| layer.keys.profile);
        Layers(tables.into_iter().chain(profile.map(Layers::profile)).collect())
    }

    /// The TCP of the gateway at node `n`: what the node says, its profile included, before what the group has, whose
    /// segments are of `mss`.
    pub(super) fn of_gateway(self, n: usize, node: Option<&TcpFile>, mss: Bytes) -> Layers {
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

    fn pick<T>(&self, key: impl Fn(&TcpKeys) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|layer| key(&layer.keys))
    }

    /// The segment size that is given, or `Err` if it is to be that of the path.
    fn mss(&self) -> Result<Option<Bytes>, ()> {
        for layer in &self.0 {
            match layer.keys.mss {
                None if layer.mss_of_path => return Err(()),
                None => {}
                given => return Ok(given),
            }
        }
        Ok(None)
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

    /// What the TCP keys of gateway node `n` come to, its profile included.
    pub(super) fn gateway_keys(file: Option<&TcpFile>) -> TcpKeys {
        let keys = file.map(TcpFile::keys).unwrap_or_default();
        keys.or(keys.profile.map(|name| profiles::profile(name).keys).unwrap_or_default())
    }

    /// One end's TCP; `mtu` is the largest packet of its path, absent if that is not known.
    pub(super) fn tcp(&mut self, layers: &Layers, mtu: Option<Bytes>) -> Option<TcpSpec> {
        let before = self.found.len();
        let variant = self.needed(layers, "variant", |t| t.variant);
        let mss = match layers.mss() {
            Ok(_) => self.needed(layers, "mss", |t| t.mss),
            Err(()) => mtu.map(|mtu| Bytes(mtu.0.saturating_sub(HEADERS))),
        };
        let window = self.needed(layers, "window", |t| t.window);
        let send_buffer = self.given(layers, "send-buffer", |t| t.send_buffer);
        let send_buffer = send_buffer.and_then(|given| given.or(window));
        let scaling = self.or(layers, "window-scaling", |t| t.window_scaling, false);
        let timestamps = self.or(layers, "timestamps", |t| t.timestamps, false);
        if let Some(mss) = mss {
            self.mss(layers, mss, timestamps == Some(true));
            self.holds_segment(layers, "window", window, mss);
            if self.stands(layers, "send-buffer") {
                self.holds_segment(layers, "send-buffer", send_buffer, mss);
            }
        }
        // Without the key it is as large as the window, which has its own limit.
        if let Some(Some(given)) = self.given(layers, "send-buffer", |t| t.send_buffer) {
            self.size_limit(&self.tcp_path(layers, "send-buffer"), given, MAX_BUFFER);
        }
        if let (Some(window), Some(scaling)) = (window, scaling) {
            self.window_limit(layers, window, scaling);
        }
        let granularity = self.timer(layers, "timer-granularity", |t| t.timer_granularity, Span::from_ms(500));
        let rto_initial = self.timer(layers, "rto-initial", |t| t.rto_initial, Span::from_secs(3));
        let rto_min = self.timer(layers, "rto-min", |t| t.rto_min, Span::from_secs(1));
        let rto_max = self.timer(layers, "rto-max", |t| t.rto_max, Span::from_secs(64));
        if let (Some(initial), Some(min), Some(max)) = (rto_initial, rto_min, rto_max) {
            self.timeouts(layers, initial, min, max);
        }
        if let (Some(min), Some(tick)) = (rto_min, granularity) {
            self.two_ticks(layers, min, tick);
        }
        let delayed_ack = self.or(layers, "delayed-ack", |t| t.delayed_ack, None);
        if let Some(Some(delay)) = delayed_ack {
            let path = self.tcp_path(layers, "delayed-ack");
            if delay.is_zero() {
                self.refuse_value(&path, "is zero", "more than 0, like \"200 ms\", or \"off\"");
            } else if delay > MAX_DELAYED_ACK {
                let message = format!("{delay} is longer than an acknowledgement may wait");
                self.refuse(&path, message, format!("at most {MAX_DELAYED_ACK}, or \"off\""));
            }
        }
        let initial_ssthresh = self.given(layers, "initial-ssthresh", |t| t.initial_ssthresh);
        if initial_ssthresh == Some(Some(Bytes(0))) {
            let path = self.tcp_path(layers, "initial-ssthresh");
            self.refuse_value(&path, "is zero", "more than 0, like \"64 KiB\"; without the key there is none");
        }
        let rto_margin = self.given(layers, "rto-margin", |t| t.rto_margin);
        if rto_margin == Some(Some(Span::ZERO)) {
            let path = self.tcp_path(layers, "rto-margin");
            self.refuse_value(&path, "is zero", "more than 0, like \"200 ms\"; without the key it is one tick");
        }
        let pacing_rate = self.given(layers, "pacing-rate", |t| t.pacing_rate);
        if pacing_rate == Some(Some(Rate::from_bps(0))) {
            let path = self.tcp_path(layers, "pacing-rate");
            self.refuse_value(&path, "is zero", "more than 0, like \"20 Mbit/s\"; without the key there is no limit");
        }
        let spec = TcpSpec {
            variant: variant?,
            mss: mss?,
            window: window?,
            send_buffer: send_buffer?,
            window_scaling: scaling?,
            timestamps: timestamps?,
            hystart: self.or(layers, "hystart", |t| t.hystart, true)?,
            pacing: self.or(layers, "pacing", |t| t.pacing, false)?,
            pacing_rate: pacing_rate?,
            initial_window: self.or(layers, "initial-window", |t| t.initial_window, 1)?,
            initial_ssthresh: initial_ssthresh?,
            delayed_ack: delayed_ack?,
            nagle: self.or(layers, "nagle", |t| t.nagle, false)?,
            duplicate_threshold: self.or(layers, "duplicate-threshold", |t| t.duplicate_threshold, 3)?,
            fast_retransmit: self.or(layers, "fast-retransmit", |t| t.fast_retransmit, FastRetransmit::GoBackN)?,
            timer_granularity: granularity?,
            rto_initial: rto_initial?,
            rto_min: rto_min?,
            rto_max: rto_max?,
            rto_margin: rto_margin?,
            max_retransmissions: self.or(layers, "max-retransmissions", |t| t.max_retransmissions, 12)?,
            time_wait: self.or(layers, "time-wait", |t| t.time_wait, Span::from_secs(60))?,
            limited_transmit: self.or(layers, "limited-transmit", |t| t.limited_transmit, true)?,
            idle_restart: self.or(layers, "idle-restart", |t| t.idle_restart, true)?,
            profile: self.given(layers, "profile", |t| t.profile)?,
        };
        (self.found.len() == before).then_some(spec)
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
    fn given<T>(&self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<T>) -> Option<Option<T>> {
        (!self.is_bad(&self.tcp_path(layers, key))).then(|| layers.pick(get))
    }

    fn or<T>(&self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<T>, default: T) -> Option<T> {
        self.given(layers, key, get).map(|given| given.unwrap_or(default))
    }

    fn needed<T>(&mut self, layers: &Layers, key: &str, get: impl Fn(&TcpKeys) -> Option<T>) -> Option<T> {
        let given = self.given(layers, key, get)?;
        if given.is_none() {
            let accepted =
                format!("{key} in [tcp], or in the tcp of every [[traffic]], or a profile: it has no default");
            self.refuse(&at!["tcp", key], "is missing", accepted);
        }
        given
    }

    fn timer(
        &mut self,
        layers: &Layers,
        key: &str,
        get: impl Fn(&TcpKeys) -> Option<Span>,
        default: Span,
    ) -> Option<Span> {
        let span = self.or(layers, key, get, default)?;
        if span.is_zero() {
            let path = self.tcp_path(layers, key);
            self.refuse_value(&path, "is zero", format!("more than 0, like \"{default}\""));
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
            let message = format!("{} B is smaller than one segment of {} B (mss)", size.0, mss.0);
            self.refuse(&self.tcp_path(layers, key), message, format!("at least {} B", mss.0));
        }
    }

    fn window_limit(&mut self, layers: &Layers, window: Bytes, scaling: bool) {
        let path = self.tcp_path(layers, "window");
        if window.0 > MAX_SCALED_WINDOW {
            let message = format!("{} B is more than TCP can announce", window.0);
            self.refuse(&path, message, format!("at most {MAX_SCALED_WINDOW} B"));
        } else if window.0 > MAX_PLAIN_WINDOW && !scaling {
            let message = format!("{} B is more than TCP can announce without window scaling", window.0);
            self.refuse(&path, message, format!("at most {MAX_PLAIN_WINDOW} B, or window-scaling = true"));
        }
    }

    fn timeouts(&mut self, layers: &Layers, initial: Span, min: Span, max: Span) {
        if min > max {
            let message = format!("{min} is more than rto-max, {max}");
            self.refuse(&self.tcp_path(layers, "rto-min"), message, "at most rto-max");
        } else if initial > max {
            let message = format!("{initial} is more than rto-max, {max}");
            self.refuse(&self.tcp_path(layers, "rto-initial"), message, "at most rto-max");
        } else if initial < min {
            let path =
                self.tcp_path(layers, if self.stands(layers, "rto-initial") { "rto-initial" } else { "rto-min" });
            self.refuse(
                &path,
                format!("rto-initial, {initial}, is less than rto-min, {min}"),
                "rto-min at most rto-initial",
            );
        }
    }

    /// The first tick can follow at once: a timer of less than two may fire before any answer.
    fn two_ticks(&mut self, layers: &Layers, min: Span, tick: Span) {
        if min < tick.saturating_mul(2) {
            let path =
                self.tcp_path(layers, if self.stands(layers, "rto-min") { "rto-min" } else { "timer-granularity" });
            self.refuse(
                &path,
                format!("rto-min, {min}, is less than two ticks of {tick}"),
                "rto-min at least 2 x timer-granularity",
            );
        }
    }

    /// Whether the file gives `key`.
    fn stands(&self, layers: &Layers, key: &str) -> bool {
        self.tree.find(&self.tcp_path(layers, key)).is_some()
    }
}
