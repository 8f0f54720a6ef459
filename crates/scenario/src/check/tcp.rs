//! TCP of one group: the file's defaults, overridden key by key.

use cellway_units::{Bytes, Span};

use crate::check::{Check, MAX_BUFFER};
use crate::file::TcpFile;
use crate::model::TcpSpec;
use crate::quantity::{AckDelay, Quantity};
use crate::tree::{Step, at};

/// IPv4 and TCP headers without options, in bytes.
const HEADERS: u64 = 40;
/// The largest IPv4 packet, in bytes. RFC 791 section 3.1.
const MAX_PACKET: u64 = 65_535;
/// The largest window without the window scale option, in bytes. RFC 9293 section 3.1.
const MAX_PLAIN_WINDOW: u64 = 65_535;
/// The largest window with it: 65 535 shifted by 14. RFC 7323 section 2.3.
const MAX_SCALED_WINDOW: u64 = 65_535 << 14;

/// The longest that an acknowledgement may wait. RFC 1122 section 4.2.3.2.
const MAX_DELAYED_ACK: Span = Span::from_ms(500);

/// What a group's TCP is made from, and where that stands.
struct Merge<'f> {
    group: Option<&'f TcpFile>,
    defaults: &'f TcpFile,
    place: usize,
}

impl Merge<'_> {
    fn pick<T>(&self, key: impl Fn(&TcpFile) -> Option<T>) -> Option<T> {
        self.group.and_then(&key).or_else(|| key(self.defaults))
    }
}

impl Check<'_> {
    /// Where `key` of the TCP of group `i` stands, or would be looked for.
    fn tcp_path(&self, i: usize, key: &str) -> Vec<Step> {
        let own = at!["traffic", i, "tcp", key];
        let shared = at!["tcp", key];
        if self.tree.find(&own).is_some() || self.tree.find(&shared).is_none() && self.is_bad(&own) {
            own.to_vec()
        } else {
            shared.to_vec()
        }
    }

    /// The TCP of group `i`.
    pub(super) fn tcp(&mut self, i: usize, group: Option<&TcpFile>, defaults: &TcpFile) -> Option<TcpSpec> {
        let before = self.found.len();
        let merge = Merge { group, defaults, place: i };
        let variant = self.needed(&merge, "variant", |t| t.variant);
        let mss = self.needed(&merge, "mss", |t| t.mss).map(|q| q.0);
        let window = self.needed(&merge, "window", |t| t.window).map(|q| q.0);
        let send_buffer = self.given(&merge, "send-buffer", |t| t.send_buffer);
        let send_buffer = send_buffer.and_then(|given| given.map(|q| q.0).or(window));
        let scaling = self.or(&merge, "window-scaling", |t| t.window_scaling, false);
        if let Some(mss) = mss {
            self.mss(i, mss);
            self.holds_segment(i, "window", window, mss);
            if self.tree.find(&self.tcp_path(i, "send-buffer")).is_some() {
                self.holds_segment(i, "send-buffer", send_buffer, mss);
            }
        }
        // Without the key it is as large as the window, which has its own limit.
        if let Some(Some(Quantity(given))) = self.given(&merge, "send-buffer", |t| t.send_buffer) {
            self.size_limit(&self.tcp_path(i, "send-buffer"), given, MAX_BUFFER);
        }
        if let (Some(window), Some(scaling)) = (window, scaling) {
            self.window_limit(i, window, scaling);
        }
        let granularity = self.timer(&merge, "timer-granularity", |t| t.timer_granularity, Span::from_ms(500));
        let rto_initial = self.timer(&merge, "rto-initial", |t| t.rto_initial, Span::from_secs(3));
        let rto_min = self.timer(&merge, "rto-min", |t| t.rto_min, Span::from_secs(1));
        let rto_max = self.timer(&merge, "rto-max", |t| t.rto_max, Span::from_secs(64));
        if let (Some(initial), Some(min), Some(max)) = (rto_initial, rto_min, rto_max) {
            self.timeouts(i, initial, min, max);
        }
        if let (Some(min), Some(tick)) = (rto_min, granularity) {
            self.two_ticks(i, min, tick);
        }
        let delayed_ack = self.or(&merge, "delayed-ack", |t| t.delayed_ack, Quantity(AckDelay(None)));
        if let Some(Quantity(AckDelay(Some(delay)))) = delayed_ack {
            let path = self.tcp_path(i, "delayed-ack");
            if delay.is_zero() {
                self.refuse_value(&path, "is zero", "more than 0, like \"200 ms\", or \"off\"");
            } else if delay > MAX_DELAYED_ACK {
                let message = format!("{delay} is longer than an acknowledgement may wait");
                self.refuse(&path, message, format!("at most {MAX_DELAYED_ACK}, or \"off\""));
            }
        }
        let time_wait = self.or(&merge, "time-wait", |t| t.time_wait, Quantity(Span::from_secs(60)));
        let spec = TcpSpec {
            variant: variant?,
            mss: mss?,
            window: window?,
            send_buffer: send_buffer?,
            window_scaling: scaling?,
            initial_window: self.or(&merge, "initial-window", |t| t.initial_window, 1)?,
            delayed_ack: delayed_ack?.0.0,
            nagle: self.or(&merge, "nagle", |t| t.nagle, false)?,
            duplicate_threshold: self.or(&merge, "duplicate-threshold", |t| t.duplicate_threshold, 3)?,
            timer_granularity: granularity?,
            rto_initial: rto_initial?,
            rto_min: rto_min?,
            rto_max: rto_max?,
            max_retransmissions: self.or(&merge, "max-retransmissions", |t| t.max_retransmissions, 12)?,
            time_wait: time_wait?.0,
            limited_transmit: true,
            idle_restart: true,
            profile: None,
        };
        (self.found.len() == before).then_some(spec)
    }

    /// `Some(None)` if the key is absent, `None` if its value was refused.
    fn given<T>(&self, merge: &Merge, key: &str, get: impl Fn(&TcpFile) -> Option<T>) -> Option<Option<T>> {
        (!self.is_bad(&self.tcp_path(merge.place, key))).then(|| merge.pick(get))
    }

    fn or<T>(&self, merge: &Merge, key: &str, get: impl Fn(&TcpFile) -> Option<T>, default: T) -> Option<T> {
        self.given(merge, key, get).map(|given| given.unwrap_or(default))
    }

    fn needed<T>(&mut self, merge: &Merge, key: &str, get: impl Fn(&TcpFile) -> Option<T>) -> Option<T> {
        let given = self.given(merge, key, get)?;
        if given.is_none() {
            let accepted = format!("{key} in [tcp], or in the tcp of every [[traffic]]: it has no default");
            self.refuse(&at!["tcp", key], "is missing", accepted);
        }
        given
    }

    fn timer(
        &mut self,
        merge: &Merge,
        key: &str,
        get: impl Fn(&TcpFile) -> Option<Quantity<Span>>,
        default: Span,
    ) -> Option<Span> {
        let span = self.or(merge, key, get, Quantity(default))?.0;
        if span.is_zero() {
            let path = self.tcp_path(merge.place, key);
            self.refuse_value(&path, "is zero", format!("more than 0, like \"{default}\""));
            return None;
        }
        Some(span)
    }

    fn mss(&mut self, i: usize, mss: Bytes) {
        let path = self.tcp_path(i, "mss");
        let most = MAX_PACKET - HEADERS;
        if mss.0 == 0 {
            self.refuse_value(&path, "is zero", format!("from 1 B to {most} B, like \"1460 B\""));
        } else if mss.0 > most {
            let message = format!(
                "{} B and {HEADERS} B of headers make a packet of {} B; IP allows {MAX_PACKET} B",
                mss.0,
                u128::from(mss.0) + u128::from(HEADERS)
            );
            self.refuse(&path, message, format!("at most {most} B"));
        }
    }

    fn holds_segment(&mut self, i: usize, key: &str, size: Option<Bytes>, mss: Bytes) {
        if let Some(size) = size
            && size < mss
        {
            let message = format!("{} B is smaller than one segment of {} B (mss)", size.0, mss.0);
            self.refuse(&self.tcp_path(i, key), message, format!("at least {} B", mss.0));
        }
    }

    fn window_limit(&mut self, i: usize, window: Bytes, scaling: bool) {
        let path = self.tcp_path(i, "window");
        if window.0 > MAX_SCALED_WINDOW {
            let message = format!("{} B is more than TCP can announce", window.0);
            self.refuse(&path, message, format!("at most {MAX_SCALED_WINDOW} B"));
        } else if window.0 > MAX_PLAIN_WINDOW && !scaling {
            let message = format!("{} B is more than TCP can announce without window scaling", window.0);
            self.refuse(&path, message, format!("at most {MAX_PLAIN_WINDOW} B, or window-scaling = true"));
        }
    }

    fn timeouts(&mut self, i: usize, initial: Span, min: Span, max: Span) {
        if min > max {
            let message = format!("{min} is more than rto-max, {max}");
            self.refuse(&self.tcp_path(i, "rto-min"), message, "at most rto-max");
        } else if initial > max {
            let message = format!("{initial} is more than rto-max, {max}");
            self.refuse(&self.tcp_path(i, "rto-initial"), message, "at most rto-max");
        } else if initial < min {
            let path = self.tcp_path(i, if self.stands(i, "rto-initial") { "rto-initial" } else { "rto-min" });
            self.refuse(
                &path,
                format!("rto-initial, {initial}, is less than rto-min, {min}"),
                "rto-min at most rto-initial",
            );
        }
    }

    /// The first tick can follow at once: a timer of less than two may fire before any answer.
    fn two_ticks(&mut self, i: usize, min: Span, tick: Span) {
        if min < tick.saturating_mul(2) {
            let path = self.tcp_path(i, if self.stands(i, "rto-min") { "rto-min" } else { "timer-granularity" });
            self.refuse(
                &path,
                format!("rto-min, {min}, is less than two ticks of {tick}"),
                "rto-min at least 2 x timer-granularity",
            );
        }
    }

    /// Whether the file gives a key of the TCP of group `i`.
    fn stands(&self, i: usize, key: &str) -> bool {
        self.tree.find(&self.tcp_path(i, key)).is_some()
    }
}
