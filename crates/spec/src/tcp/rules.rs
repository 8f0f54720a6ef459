//! Rules that connect the values of a TCP endpoint.

use cellway_units::{Bytes, Span};

use super::{CongestionControl, LossRecovery, TcpSpec};
use crate::{EcnMode, Problem};

/// IPv4 and TCP headers without options, in octets. RFC 791, RFC 9293.
pub const TCP_HEADERS: u64 = 40;
/// The octets that the timestamps option takes of each segment, padding included. RFC 7323 section 3.2.
pub const TIMESTAMPS_OPTION: u64 = 12;
/// The largest IPv4 packet, in octets. RFC 791 section 3.1.
pub const MAX_PACKET: u64 = 65_535;
/// The largest window without the window scale option, in octets. RFC 9293 section 3.1.
const MAX_PLAIN_WINDOW: u64 = 65_535;
/// The largest window that a segment can announce, in octets: 65,535 shifted by 14. RFC 7323 section 2.3.
pub const MAX_WINDOW: u64 = 65_535 << 14;

/// The problems found so far.
struct Problems<'a> {
    /// Returns the origin of the value of a key for messages, such as " (of profile linux-6)"; empty if it needs none.
    origin: &'a dyn Fn(&str) -> String,
    found: Vec<Problem>,
}

impl Problems<'_> {
    fn add(&mut self, keys: &[&'static str], message: impl Into<String>, accepted: impl Into<String>) {
        self.found.push(Problem::new(keys, message, accepted));
    }

    /// Adds that the first of two times is on the wrong side of the second.
    fn order(&mut self, [a, b]: [(&'static str, Span); 2], relation: &str, accepted: &str) {
        let [(first, value), (second, limit)] = [a, b];
        let [of_value, of_limit] = [first, second].map(self.origin);
        let message = format!("{first}, {value}{of_value}, is {relation} than {second}, {limit}{of_limit}");
        self.add(&[first, second], message, accepted);
    }

    fn holds_segment(&mut self, key: &'static str, size: Bytes, mss: Bytes) {
        if size >= mss {
            return;
        }
        let [of_size, of_mss] = [key, "mss"].map(self.origin);
        let what = if of_size.is_empty() { String::new() } else { format!("a {key} of ") };
        let of = of_mss.replace(['(', ')'], "");
        let message = format!("{what}{} B{of_size} is smaller than one segment of {} B (mss{of})", size.0, mss.0);
        let accepted = match (of_size.is_empty(), of_mss.is_empty()) {
            (true, true) => format!("at least {} B", mss.0),
            (true, false) => format!("at least {} B, or a smaller mss", mss.0),
            (false, _) => format!("{key} at least {} B, or a smaller mss", mss.0),
        };
        self.add(&[key, "mss"], message, accepted);
    }
}

impl TcpSpec {
    /// Returns the rules between these values that they break; each is within the range of its key. `origin` returns where the value of a key comes from, for messages:
    /// " (of profile linux-6)", or an empty text.
    pub fn problems(&self, origin: &dyn Fn(&str) -> String) -> Vec<Problem> {
        let mut problems = Problems { origin, found: Vec::new() };
        self.segments(&mut problems);
        self.timeouts(&mut problems);
        self.recovery_and_control(&mut problems);
        self.ecn(&mut problems);
        problems.found
    }

    /// Returns the first rule that these values break, ranges of keys included.
    ///
    /// # Errors
    /// The values break a rule.
    pub fn validate(&self) -> Result<(), Problem> {
        self.in_range()?;
        self.problems(&|_| String::new()).into_iter().next().map_or(Ok(()), Err)
    }

    /// Refuses a pair of recovery and control that contradict each other.
    fn recovery_and_control(&self, problems: &mut Problems) {
        let (recovery, control) = (self.recovery(), self.control());
        if (recovery == LossRecovery::Tahoe) != (control == CongestionControl::Tahoe) {
            let [recovery, control] = [recovery.name(), control.name()];
            let message = format!(
                "recovery \"{recovery}\" and control \"{control}\" contradict each other: only recovery \"tahoe\" works \
                 with control \"tahoe\", which sets the congestion window to one segment at each loss"
            );
            let accepted = "both \"tahoe\", or neither, like recovery = \"rack\" and control = \"cubic\"";
            problems.add(&["recovery", "control"], message, accepted);
        } else if control.models_path() && recovery != LossRecovery::Rack {
            let [recovery, control] = [recovery.name(), control.name()];
            let message = format!(
                "control \"{control}\" needs a record of each segment in flight, which recovery \"{recovery}\" does not keep"
            );
            problems.add(&["recovery", "control"], message, format!("recovery = \"rack\", or variant = \"{control}\""));
        }
    }

    /// Refuses ECN with a control that does not react to marks, since a queue would mark in vain; a control that needs marks
    /// without them; and a smaller reaction where there is no reaction to make smaller.
    fn ecn(&self, problems: &mut Problems) {
        let control = self.control();
        let name = control.name();
        match (control, self.ecn) {
            (CongestionControl::Bbr, EcnMode::Classic | EcnMode::Accurate) => {
                let message = "control \"bbr\" does not react to marks (draft-ietf-ccwg-bbr, section \"ECN\")";
                problems.add(&["ecn", "control"], message, "ecn = false, or another control");
            }
            (CongestionControl::Dctcp, EcnMode::Off) => {
                let message = "control \"dctcp\" reduces the window by the share of marked data, and needs ECN";
                problems.add(&["ecn", "control", "variant"], message, "ecn = true, or ecn = \"accurate\"");
            }
            (CongestionControl::Prague, EcnMode::Off | EcnMode::Classic) => {
                let message = "control \"prague\" needs the number of marks, which only accurate ECN feeds back (RFC 9331 \
                               section 4.2)";
                problems.add(&["ecn", "control", "variant"], message, "ecn = \"accurate\"");
            }
            _ => {}
        }
        if self.abe && control.counts_marks() {
            let message =
                format!("control \"{name}\" reduces the window by the share of marked data, not by a fixed part");
            problems.add(&["abe", "control"], message, "abe = false, or control \"reno\" or \"cubic\"");
        }
    }

    fn segments(&self, problems: &mut Problems) {
        let mss = self.mss;
        if self.timestamps && mss.0 <= TIMESTAMPS_OPTION {
            let taken = TIMESTAMPS_OPTION;
            let message = format!("{} B has no room for payload beside timestamps, which take {taken} B", mss.0);
            problems.add(&["mss", "timestamps"], message, format!("more than {taken} B, or timestamps = false"));
        }
        problems.holds_segment("window", self.window, mss);
        // A send buffer that is as large as the window has the problem of that.
        if self.send_buffer != self.window {
            problems.holds_segment("send-buffer", self.send_buffer, mss);
        }
    }

    /// Adds the problem of a window that needs the window scale option without it.
    ///
    /// An endpoint without the option announces 65,535 B of a larger window; a file is refused, since it says more than
    /// would happen.
    pub fn unscaled_window(&self, origin: &dyn Fn(&str) -> String) -> Option<Problem> {
        let window = self.window.0;
        if self.window_scaling || window <= MAX_PLAIN_WINDOW {
            return None;
        }
        let of_window = origin("window");
        let what = if of_window.is_empty() { "" } else { "a window of " };
        let message = format!("{what}{window} B{of_window} is more than TCP can announce without window scaling");
        let accepted = format!("window at most {MAX_PLAIN_WINDOW} B, or window-scaling = true");
        Some(Problem::new(&["window", "window-scaling"], message, accepted))
    }

    fn timeouts(&self, problems: &mut Problems) {
        let (initial, min, max, tick) = (self.rto_initial, self.rto_min, self.rto_max, self.timer_granularity);
        let [of_initial, of_min, of_max] = [("rto-initial", initial), ("rto-min", min), ("rto-max", max)];
        if min > max {
            problems.order([of_min, of_max], "more", "rto-min at most rto-max");
        } else if initial > max {
            problems.order([of_initial, of_max], "more", "rto-initial at most rto-max");
        } else if initial < min {
            problems.order([of_initial, of_min], "less", "rto-min at most rto-initial");
        }
        // BSD's TCPTV_MIN is two ticks for this reason: the first tick can follow at once.
        if min < tick.saturating_mul(2) {
            let [of_min, of_tick] = ["rto-min", "timer-granularity"].map(problems.origin);
            let message = format!("rto-min, {min}{of_min}, is less than two ticks of {tick}{of_tick}");
            problems.add(&["rto-min", "timer-granularity"], message, "rto-min at least 2 x timer-granularity");
        }
    }
}
