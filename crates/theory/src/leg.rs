//! One closed loop: a sender, the stages that its segments pass one after the other, and the acknowledgements.

use cellway_units::Bytes;

use crate::prediction::{Amount, Bound, Limit, Prediction};
use crate::spacer::Spacer;

/// A stage that a segment passes, with a service time for each.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) limit: Limit,
    pub(crate) at: String,
    /// For a full segment, in s.
    pub(crate) seconds: f64,
    /// The rate of a line or shaper in bit/s, without overheads.
    pub(crate) rate: f64,
    pub(crate) equation: &'static str,
    /// True if all connections share it; else each has its own.
    pub(crate) shared: bool,
    /// The buffer before it, in units of the leg.
    pub(crate) buffer: Option<f64>,
}

/// The loop and its stages, in the direction of the data.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    /// Payload of a full segment.
    pub(crate) mss: Bytes,
    /// The receiver's window.
    pub(crate) window: Bytes,
    /// The bytes that the sender keeps until they are acknowledged.
    pub(crate) send_buffer: Bytes,
    /// Segments that an acknowledgement covers, 1 or 2.
    pub(crate) covers: u64,
    pub(crate) initial: u64,
    pub(crate) connections: u64,
    /// Without load, for one segment that is acknowledged at once, in s.
    pub(crate) round_trip: f64,
    pub(crate) stages: Vec<Stage>,
    /// Cells or bytes of a full segment in a buffer, and the name of the unit.
    pub(crate) units: f64,
    pub(crate) unit: &'static str,
    /// Bounds of other origin, such as loss.
    pub(crate) others: Vec<Bound>,
    /// True if the segments are those of a gateway's transport, which has no slow start.
    pub(crate) transport: bool,
    /// True if the rest of a window that is no full segment stays unused (RFC 896), else it is sent as a short one.
    pub(crate) nagle: bool,
}

impl Leg {
    pub(crate) fn predict(self) -> Prediction {
        let n = self.connections as f64;
        let bits = self.mss.bits().0 as f64;
        let slowest = self.slowest();
        let line = self.slowest_line();
        let lines = if line.shared { 1.0 } else { n };
        let mut bounds = vec![Bound::new(Limit::Line, &line.at, lines * line.rate, "line-rate")];
        bounds.push(Bound::new(Limit::Framing, &line.at, lines * bits / line.seconds, line.equation));
        bounds.push(self.window_bound());
        for stage in self.stages.iter().filter(|s| !matches!(s.limit, Limit::Line)) {
            let value = bits / stage.seconds * if stage.shared { 1.0 } else { n };
            bounds.push(Bound::new(stage.limit, &stage.at, value, stage.equation));
        }
        bounds.extend(self.others.iter().cloned());
        let binding =
            (0..bounds.len()).fold(0, |least, i| if bounds[i].value < bounds[least].value { i } else { least });
        let needed = self.segments_needed();
        let shapers = (0..self.stages.len()).filter(|&i| self.stages[i].limit == Limit::Shaping);
        let spacers = shapers.filter_map(|i| self.buffer_at(i, 1));
        let spacer_buffer = spacers.reduce(|a, b| if b.value > a.value { b } else { a });
        let line_index = self.stages.iter().position(|s| std::ptr::eq(s, line)).unwrap_or(0);
        let buffer_needed = match self.connections {
            0 | 1 => self.buffer_at(line_index, 1).map_or(0.0, |a| a.value),
            // Gateways pace all connections together.
            _ if self.stages.iter().any(|s| s.limit == Limit::Gateway && s.seconds >= line.seconds) => 0.0,
            n => self.crowd(line, n),
        };
        let mut prediction = Prediction {
            goodput: bounds[binding].value,
            binding,
            bounds,
            round_trip: self.round_trip,
            bandwidth_delay_product: self.mss.0 as f64 / slowest * self.round_trip,
            window_needed: Bytes(needed.saturating_mul(self.mss.0)),
            buffer_needed: Amount { value: buffer_needed, unit: self.unit },
            spacer_buffer,
            advice: String::new(),
            caveats: self.burst_caveat(buffer_needed).into_iter().collect(),
        };
        prediction.advice = self.advice(&prediction);
        prediction
    }

    /// Returns the full segments of the window in use.
    fn segments(&self) -> u64 {
        self.usable().0 / self.mss.0
    }
    fn usable(&self) -> Bytes {
        self.window.min(self.send_buffer)
    }
    /// Returns the time between segments of one connection at the slowest stage if all share evenly, in s.
    fn slowest(&self) -> f64 {
        let n = self.connections as f64;
        self.stages.iter().map(|s| s.seconds * if s.shared { n } else { 1.0 }).fold(0.0, f64::max)
    }
    /// Returns the line with the least rate for each connection.
    fn slowest_line(&self) -> &Stage {
        let n = self.connections as f64;
        let each = |s: &Stage| s.seconds * if s.shared { n } else { 1.0 };
        let lines = self.stages.iter().filter(|s| s.limit == Limit::Line);
        lines.reduce(|a, b| if each(b) > each(a) { b } else { a }).expect("a path has a line")
    }
    /// Returns the longest time at a stage, for the connection alone, in s.
    fn step(&self) -> f64 {
        self.stages.iter().map(|s| s.seconds).fold(0.0, f64::max)
    }

    /// Returns the mean time per segment that a window of `k` segments allows, in s: a loop of k segments, and with
    /// every second segment acknowledged (docs/models/theory.md) one of k - 1 or k + 1 if k is odd, because the last of
    /// a round is acknowledged with the first of the next.
    fn period(&self, k: u64) -> f64 {
        let delta = self.round_trip - self.step();
        let round = |segments: u64| delta + segments as f64 * self.step();
        match k {
            k if self.covers == 1 || k == 1 => round(1) / k as f64,
            k if k.is_multiple_of(2) => round(2) / k as f64,
            k => (round(1) / (k - 1) as f64).max(round(3) / (k + 1) as f64),
        }
    }

    fn window_bound(&self) -> Bound {
        let k = self.segments();
        let bits = self.mss.bits().0 as f64;
        let unused = self.usable().0 - k * self.mss.0;
        let each = match k {
            0 => self.usable().bits().0 as f64 / self.round_trip,
            _ if unused > 0 && !self.nagle => {
                let delta = self.round_trip - self.step();
                self.usable().bits().0 as f64 / (delta + self.covers as f64 * self.step())
            }
            k => bits / self.period(k),
        };
        let at = if self.send_buffer < self.window { "send buffer" } else { "window" };
        let mut bound = Bound::new(Limit::Window, at, each * self.connections as f64, "window-limited");
        if k == 0 {
            bound.caveats.push(format!("{} is below one segment of {}", self.usable(), self.mss));
        } else if unused > 0 && self.nagle {
            bound.caveats.push(format!(
                "the last {} of {} stay unused: they are less than a segment",
                Bytes(unused),
                self.usable()
            ));
        }
        if self.covers == 2 && k < 2 {
            bound.caveats.push("a single segment waits for the timer of the delayed acknowledgement".to_owned());
        } else if self.covers == 2 && k % 2 == 1 {
            bound.caveats.push(format!("with {k} segments the last of a round is acknowledged in the next"));
        }
        bound
    }

    /// Returns the least number of full segments with which the window is not the limit.
    fn segments_needed(&self) -> u64 {
        let slowest = self.slowest() * (1.0 + 1e-12);
        let delta = self.round_trip - self.step();
        let mut k = (libm::ceil((delta + self.step()) / slowest) as u64).max(self.covers);
        while self.period(k) > slowest {
            k += 1;
        }
        k
    }

    /// Returns the largest content before stage `i` if segments arrive from the slowest stage before it. `None` if that
    /// is no faster.
    fn buffer_at(&self, i: usize, connections: u64) -> Option<Amount> {
        let out = self.stages[i].seconds;
        let into = self.stages[..i].iter().map(|s| s.seconds).fold(0.0, f64::max);
        let k = self.segments().saturating_mul(connections).max(self.covers);
        if into >= out || into == 0.0 {
            return None;
        }
        let initial = if self.transport { k } else { self.initial.max(self.covers) };
        let rates = [self.units / into, self.units / out];
        let spacer = Spacer::of_units(self.units, rates, self.round_trip - out, self.covers, [initial, k]);
        Some(Amount { value: spacer.buffer(), unit: self.unit })
    }

    /// Returns an upper bound of the content that all windows hold beyond the loop without its queue.
    fn crowd(&self, line: &Stage, n: u64) -> f64 {
        let all = n.saturating_mul(self.segments().max(1)) as f64;
        let pipe = (self.round_trip - line.seconds) / line.seconds;
        (all - pipe).max(0.0) * self.units
    }

    /// Returns a caveat if a buffer does not hold the window as one burst. The largest window that it holds is no bound:
    /// acknowledgements spread larger windows over the round trip, and a sender recovers from losses.
    fn burst_caveat(&self, needed: f64) -> Option<String> {
        let k = self.segments();
        let mut worst: Option<(f64, &Stage)> = None;
        for (i, stage) in self.stages.iter().enumerate() {
            let into = self.stages[..i].iter().map(|s| s.seconds).fold(0.0, f64::max);
            let Some(buffer) = stage.buffer.filter(|_| into > 0.0 && into < stage.seconds) else { continue };
            let gain = 1.0 - into / stage.seconds;
            let survives = if self.unit == "cell" { 1.0 + libm::floor(buffer / gain) } else { buffer / gain };
            let fits = libm::floor(survives / self.units);
            if fits < k as f64 && worst.is_none_or(|(least, _)| fits < least) {
                worst = Some((fits, stage));
            }
        }
        let (fits, stage) = worst?;
        let need = libm::ceil(needed.max(1.0));
        let (lost, whole) = match self.unit {
            "cell" => ("cells", format!("{need} cell")),
            _ => ("packets", Bytes(need as u64).to_string()),
        };
        Some(format!(
            "{fits} of the {k} segments of a window fit back to back before {}; a larger window that is sent as one burst \
             loses {lost}, and the goodput may be far lower: shape the source to the slowest line, or give the line a \
             buffer of {whole} or more",
            line(&stage.at)
        ))
    }

    fn advice(&self, p: &Prediction) -> String {
        let bound = p.binding();
        let kibibytes = Bytes(p.window_needed.0.div_ceil(1024) * 1024);
        let scaling = if kibibytes.0 > 65_535 { ", with window scaling" } else { "" };
        match bound.limit {
            Limit::Window if self.transport => format!("set the window of the gateways to {kibibytes}"),
            Limit::Window => {
                let which = match self.send_buffer < p.window_needed {
                    true if self.window < p.window_needed => "receive window and the send buffer",
                    true => "send buffer",
                    false => "receive window",
                };
                format!("set the {which} to {kibibytes}{scaling}, or place a gateway pair")
            }
            Limit::Line | Limit::Framing => {
                format!("{} is full: a larger window only lengthens its queue", line(&bound.at))
            }
            Limit::Shaping => format!("the spacing rate of {} decides: raise it for more", bound.at),
            Limit::Host => format!("{} takes too long for each packet: larger segments help", bound.at),
            Limit::Gateway => format!("the rate of gateway {} decides: raise it for more", bound.at),
            Limit::Loss => {
                "find and mend the losses, or split the path at a gateway pair to shorten the round trip".to_owned()
            }
        }
    }
}

/// Returns the name of a line in a sentence; that of a path in a few numbers has none.
fn line(at: &str) -> String {
    if at.is_empty() { "the line".to_owned() } else { format!("line {at:?}") }
}
