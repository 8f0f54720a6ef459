//! A path from packet captures, as numbers and as a scenario file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use cellway_capture::path::measure;
use serde_json::{Value, json};

use crate::captured::{Next, Progress, write_text};
use crate::error::Error;

pub use cellway_capture::path::{Doubt, Interval, MeasuredPath, PathEstimate};

/// The least buffer of a scenario: two full packets of Ethernet, in octets.
const LEAST_BUFFER: f64 = 3_000.0;

/// Estimates a path from captures of bulk transfers; see [`measure`].
///
/// # Errors
/// A file cannot be read or is no capture, it has no bulk transfer, or `progress` has requested to stop.
pub fn path_from_captures(
    files: &[PathBuf],
    progress: &mut dyn FnMut(Progress) -> Next,
) -> Result<(PathEstimate, MeasuredPath), Error> {
    let measured = measure(files, progress)?;
    match measured.estimate.clone() {
        Some(estimate) => Ok((estimate, measured)),
        None => Err(Error::Option(format!(
            "{}: none of {} packets is of a bulk transfer; accepted: captures with a TCP connection that sends 100 \
             segments and 100 kB at least, and with its acknowledgements",
            files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", "),
            measured.records
        ))),
    }
}

/// Returns what a user must know to use an estimate.
pub fn warnings(estimate: &PathEstimate) -> Vec<String> {
    estimate.doubts.iter().map(|doubt| words(*doubt, estimate)).collect()
}

fn words(doubt: Doubt, estimate: &PathEstimate) -> String {
    let words = match doubt {
        Doubt::NoQueue => "no queue: the transfers may not have filled the link, and its rate may be higher",
        Doubt::Shared => {
            return format!(
                "packets that left back to back have {}: traffic that is not in the capture may share the link, or \
                 acknowledgements are joined on their way",
                rate(estimate.dispersion)
            );
        }
        Doubt::Unsteady => {
            "delays vary, and packets do not leave at one rate meanwhile: jitter, a varying link or other traffic"
        }
        Doubt::ReturnQueue => {
            "acknowledgements waited in a queue: data are timed by the clocks of timestamps, which are coarse"
        }
        Doubt::ReturnUnknown => {
            "acknowledgements of one and of two packets follow one another at the same distance: the link towards the \
             sender may limit the transfers, and the rate may be higher"
        }
        Doubt::NoTimestamps if estimate.buffer.is_some() => {
            "no clock in timestamps: a queue of acknowledgements counts as one of data, and the buffer may be smaller"
        }
        Doubt::NoTimestamps => "no clock in timestamps: the queue of the bottleneck may not be in the capture",
        Doubt::NoSenderSide => {
            "neither timestamps nor a handshake show the path between sender and tap: the round trip is longer"
        }
        Doubt::StandingQueue => {
            "the link was busy all the time, and no handshake is in the capture: the queue may never have been empty, \
             so that the round trip may be shorter and the buffer larger"
        }
        Doubt::Policer => {
            "many packets were lost with short queues, and the link was seldom busy: a policer may let pass less than \
             the rate of the link"
        }
        Doubt::RandomLoss => "losses occurred with short queues: they are not those of a full buffer",
        Doubt::NoFullBuffer => "no loss shows a full buffer: it is at least the queue that was seen",
    };
    words.to_owned()
}

/// Formats a rate with four digits.
pub fn rate(bits: f64) -> String {
    if bits < 1e6 { format!("{} kbit/s", digits(bits / 1e3)) } else { format!("{} Mbit/s", digits(bits / 1e6)) }
}

/// Formats an interval; its upper end may be unknown.
pub fn range(Interval { low, high, .. }: Interval, shown: &dyn Fn(f64) -> String) -> String {
    if high.is_finite() { format!("{} to {}", shown(low), shown(high)) } else { format!("{} or more", shown(low)) }
}

/// Formats a number with four digits, without zeros at the end.
fn digits(value: f64) -> String {
    let places = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns the buffer of the scenario, in octets.
fn buffer(estimate: &PathEstimate) -> f64 {
    estimate.buffer.map_or(estimate.queue, |buffer| buffer.value).max(LEAST_BUFFER)
}

/// Returns a scenario file with the path, and one transfer over it.
pub fn scenario(estimate: &PathEstimate) -> String {
    let mut text = format!(
        "# Made by cellway path from-pcap of {} segments. Rate {}, round trip {},\n# losses {}.\n",
        estimate.packets,
        range(estimate.rate, &rate),
        range(estimate.rtt, &|seconds| format!("{} ms", digits(seconds * 1e3))),
        range(estimate.loss, &|share| format!("{} %", digits(share * 1e2))),
    );
    for warning in warnings(estimate) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# Warning: {warning}.");
    }
    // Losses of a full buffer come from the simulated buffer.
    let mut link = String::new();
    if estimate.random_loss > 0.0 {
        let _ = writeln!(link, "forward = {{ loss = \"{}%\" }}", digits(estimate.random_loss * 1e2));
    }
    if let Some(back) = estimate.return_rate {
        let _ = writeln!(link, "back = {{ rate = \"{}\" }}", rate(back.value));
    }
    let _ = write!(
        text,
        r#"version = 1
name = "captured-path"
description = "A path as captures show it"
node = [{{ name = "near", kind = "router" }}, {{ name = "far", kind = "router" }}]

[run]
duration = "60 s"
warmup = "10 s"

[buffer]
size = "{:.0} B"
per = "port"

[[link]]
name = "bottleneck"
between = ["near", "far"]
rate = "{}"
delay = "{} ms"
{link}
[[traffic]]
name = "transfer"
app = "bulk"
from = "near"
to = "far"
access = {{ rate = "{}", delay = "0 s" }}
"#,
        buffer(estimate),
        rate(estimate.rate.value),
        digits(estimate.rtt.value * 500.0),
        rate(10.0 * estimate.rate.value),
    );
    text
}

/// Writes the scenario file; an existing one is replaced only with `force`.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write_scenario(estimate: &PathEstimate, path: &Path, force: bool) -> Result<(), Error> {
    write_text(&scenario(estimate), path, force)
}

/// Returns a document of an estimate.
pub fn document(estimate: &PathEstimate, measured: &MeasuredPath) -> Value {
    // An end that is unknown is null: JSON has no infinite numbers.
    let interval = |Interval { value, low, high }: Interval| json!({ "value": value, "low": low, "high": high });
    let fault = |(path, fault): &(PathBuf, cellway_capture::Fault)| json!({ "file": path, "offset": fault.offset, "message": fault.cause.to_string() });
    json!({
        "rate": interval(estimate.rate),
        "rtt": interval(estimate.rtt),
        "buffer": estimate.buffer.map(interval),
        "queue_p95": estimate.queue,
        "loss": interval(estimate.loss),
        "back_to_back_rate": estimate.dispersion,
        "random_loss": estimate.has_random_loss,
        "random_loss_share": estimate.random_loss,
        "return_rate": estimate.return_rate.map(interval),
        "lower_bound": estimate.is_lower_bound,
        "transfers": estimate.transfers,
        "segments": estimate.packets,
        "mss": estimate.mss,
        "packets": measured.records,
        "warnings": warnings(estimate),
        "faults": measured.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let shown = [1.0, 9_998_765.0, 123_456_789.0, 2e9].map(rate);
        assert_eq!(shown, ["0.001 kbit/s", "9.999 Mbit/s", "123.5 Mbit/s", "2000 Mbit/s"]);
    }

    #[test]
    fn the_scenario_can_be_run() {
        let interval = |value: f64| Interval { value, low: value * 0.9, high: value * 1.1 };
        let mut estimate = PathEstimate {
            rate: interval(9.98e6),
            dispersion: 2e7,
            rtt: interval(0.040_123),
            buffer: Some(interval(64_000.4)),
            queue: 60_000.0,
            loss: interval(0.001),
            random_loss: 0.0,
            has_random_loss: false,
            is_lower_bound: false,
            return_rate: None,
            doubts: Vec::new(),
            transfers: 1,
            packets: 1_000,
            mss: 1_448,
        };
        let text = scenario(&estimate);
        assert!(
            text.contains("\nsize = \"64000 B\"\n")
                && text.contains("\nrate = \"9.98 Mbit/s\"\ndelay = \"20.06 ms\"\n"),
            "{text}"
        );
        assert!(!text.contains("forward") && !text.contains("back"));
        estimate.random_loss = 0.001;
        estimate.buffer = None;
        estimate.rate.high = f64::INFINITY;
        estimate.return_rate = Some(interval(200e3));
        estimate.doubts = vec![Doubt::NoQueue, Doubt::RandomLoss];
        for text in [text, scenario(&estimate)] {
            let plan = crate::plan_from_text(&text, "path.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
            crate::check(&plan, Path::new(".")).unwrap();
        }
        let text = scenario(&estimate);
        assert!(text.contains("\nforward = { loss = \"0.1%\" }\nback = { rate = \"200 kbit/s\" }\n"), "{text}");
        assert!(text.contains("Rate 8.982 Mbit/s or more,"), "{text}");
    }
}
