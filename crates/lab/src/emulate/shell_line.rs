//! The directions of the line of a path, and its variation: options of `cellway shell`.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use cellway_scenario::{Direction, Link, LinkTrace, Recorded, TraceFormat};
use cellway_units::{Probability, Rate, Span};

use super::shell::{quoted, read};
use crate::error::Error;
use crate::text_file;

/// The options of the directions, in the order of a link's: from the client, towards it.
const OPTIONS: [&str; 2] = ["up", "down"];

/// The options of a line besides its rate, its round trip and its losses.
#[derive(Clone, Debug, Default)]
pub struct ShellLine {
    /// From the client, towards it: a rate, or a file with a recorded link; the rate of the path if absent.
    pub rates: [Option<String>; 2],
    /// The delay of each direction: a time, or a file with recorded delays; half of the round trip if absent.
    pub delay: Option<String>,
    /// The mean number of packets lost in a row.
    pub loss_burst: Option<String>,
    /// The share of packets that arrive twice.
    pub duplicate: Option<String>,
    /// The share of packets that are corrupted.
    pub corrupt: Option<String>,
    /// The standard deviation of the delay.
    pub jitter: Option<String>,
    /// The length of outages, and the time from one to the next: "300ms/15s".
    pub outage: Option<String>,
}

/// The value of an option: a quantity, or a file with its recording.
enum Given<'a, T> {
    Quantity(T),
    File { name: &'a str, format: TraceFormat, trace: Arc<LinkTrace> },
}

impl<'a, T: Copy + FromStr<Err: Display>> Given<'a, T> {
    /// Reads an option that is a quantity or the name of a file, which has `format` unless it begins with a letter, as a table
    /// does.
    fn read(option: &str, text: &'a str, format: TraceFormat, accepted: &str) -> Result<Given<'a, T>, Error> {
        if let Ok(quantity) = text.trim().parse() {
            return Ok(Given::Quantity(quantity));
        }
        let path = Path::new(text);
        if !path.is_file() {
            // A wrong quantity has a reason of its own.
            if text.starts_with(|first: char| first.is_ascii_digit()) {
                return read(option, text, accepted).map(Given::Quantity);
            }
            let message = format!("--{option} {text}: there is no such regular file; accepted: {accepted}");
            return Err(Error::Option(message));
        }
        let content = text_file::read(path).map_err(|why| Error::Option(format!("--{option}: {why}")))?;
        let is_table = content.trim_start().starts_with(char::is_alphabetic);
        let format = if is_table { TraceFormat::Csv } else { format };
        let trace = format.read(&content).map_err(|error| {
            let line = error.line.map_or(String::new(), |line| format!(":{line}"));
            Error::Option(format!("--{option}: {text}{line}: {}; accepted: {}", error.message, error.accepted))
        })?;
        Ok(Given::File { name: text, format, trace: Arc::new(trace) })
    }

    fn quantity(&self) -> Option<T> {
        match self {
            Given::Quantity(quantity) => Some(*quantity),
            Given::File { .. } => None,
        }
    }

    fn recorded(&self) -> Option<&Arc<LinkTrace>> {
        match self {
            Given::Quantity(_) => None,
            Given::File { trace, .. } => Some(trace),
        }
    }

    /// Returns the key of a direction that names the file, if it is one; `quantity` is what the file records.
    fn key(&self, quantity: &str) -> Option<String> {
        match self {
            Given::Quantity(_) => None,
            Given::File { name, format, .. } => {
                let key = if *format == TraceFormat::Csv { "csv" } else { quantity };
                Some(format!("trace = {{ {key} = {} }}", quoted(name)))
            }
        }
    }
}

/// A line whose options have been read, with the recordings that they name.
pub(super) struct ReadLine<'a> {
    options: &'a ShellLine,
    rates: [Option<Given<'a, Rate>>; 2],
    delay: Option<Given<'a, Span>>,
}

impl ShellLine {
    /// Returns the option that sets `key` of the scenario, if one of these does.
    pub(super) fn option(key: &str) -> Option<&'static str> {
        let parts: Vec<&str> = key.split('.').collect();
        let has = |part: &str| parts.contains(&part);
        match () {
            () if has("burst") => Some("--loss-burst"),
            () if has("duplicate") => Some("--duplicate"),
            () if has("corrupt") => Some("--corrupt"),
            () if has("jitter") => Some("--jitter"),
            () if has("outage") => Some("--outage"),
            () if has("both") => Some("--delay"),
            () if has(Direction::TABLES[0]) => Some("--up"),
            () if has(Direction::TABLES[1]) => Some("--down"),
            () => None,
        }
    }

    /// Reads the options that are quantities or files.
    pub(super) fn read(&self) -> Result<ReadLine<'_>, Error> {
        let of_rate = "a rate like \"30 Mbit/s\", or a file with a recorded link";
        let of_delay = "a time like \"20 ms\", or a file with a delay in ms for each 10 ms";
        let rate = |direction: usize| {
            let text = self.rates[direction].as_deref();
            text.map(|text| Given::read(OPTIONS[direction], text, TraceFormat::Opportunities, of_rate)).transpose()
        };
        let delay = self.delay.as_deref().map(|text| Given::read("delay", text, TraceFormat::Delays, of_delay));
        let line = ReadLine { options: self, rates: [rate(0)?, rate(1)?], delay: delay.transpose()? };
        if let Some(Given::File { name, format: TraceFormat::Csv, .. }) = line.delay {
            let message =
                format!("--delay {name}: this is a table; accepted: {of_delay}, or the table as --down and --up");
            return Err(Error::Option(message));
        }
        if let (Some(_), Some(direction)) = (&line.delay, line.table_delays().iter().position(Option::is_some)) {
            let table = OPTIONS[direction];
            let message = format!("--delay: the table of --{table} has the delay, too; accepted: one of them");
            return Err(Error::Option(message));
        }
        Ok(line)
    }
}

impl ReadLine<'_> {
    /// Returns the mean delays of the tables of the directions.
    fn table_delays(&self) -> [Option<Span>; 2] {
        [0, 1].map(|direction| {
            let trace = self.rates[direction].as_ref().and_then(Given::recorded);
            trace.and_then(|trace| trace.delay.as_ref()).map(Recorded::<Span>::mean)
        })
    }

    /// Returns the larger rate of the two directions, of a recording its mean; `rate` is that of a direction without its own.
    pub(super) fn fastest(&self, rate: Option<Rate>) -> Option<Rate> {
        let of = |given: &Given<'_, Rate>| {
            let mean = given.recorded().and_then(|trace| trace.rate.as_ref()).map(Recorded::<Rate>::mean);
            given.quantity().or(mean)
        };
        self.rates.iter().map(|given| given.as_ref().and_then(of).or(rate)).max().flatten()
    }

    /// Returns the round trip: the delays of both directions, of a recording their means; `rtt` if there are none.
    pub(super) fn round_trip(&self, rtt: Span) -> Span {
        let delay = self.delay.as_ref().and_then(|given| {
            let mean = given.recorded().and_then(|trace| trace.delay.as_ref()).map(Recorded::<Span>::mean);
            given.quantity().or(mean)
        });
        let half = Span::from_ps(rtt.as_ps() / 2);
        let [up, down] = self.table_delays().map(|table| delay.or(table).unwrap_or(half));
        up + down
    }

    /// Returns the keys of the link that loses, duplicates and corrupts packets.
    pub(super) fn faults(&self) -> Result<String, Error> {
        let mut both = Vec::new();
        if let Some(text) = &self.options.loss_burst {
            let accepted = "a mean number of packets, like 8";
            let packets: f64 = read("loss-burst", text, accepted)?;
            if !packets.is_finite() {
                return Err(Error::Option(format!("--loss-burst {text}: this is no number; accepted: {accepted}")));
            }
            both.push(format!("burst = {packets:?}"));
        }
        for (key, text) in [("duplicate", &self.options.duplicate), ("corrupt", &self.options.corrupt)] {
            if let Some(text) = text {
                let share: Probability = read(key, text, "a share of packets, like \"1 %\"")?;
                both.push(format!("{key} = {}", quoted(&share.to_string())));
            }
        }
        Ok(table("both", &both))
    }

    /// Returns the keys of the line.
    pub(super) fn keys(&self) -> Result<String, Error> {
        let mut both: Vec<String> = self.delay.as_ref().and_then(|delay| delay.key("delay")).into_iter().collect();
        if let Some(text) = &self.options.jitter {
            let deviation: Span = read("jitter", text, "a time like \"5 ms\"")?;
            both.push(format!("jitter = {{ deviation = \"{deviation}\" }}"));
        }
        if let Some(text) = &self.options.outage {
            let accepted = "the length of an outage and the time from one to the next, like 300ms/15s";
            let Some((length, every)) = text.split_once('/') else {
                return Err(Error::Option(format!("--outage {text}: this is not LENGTH/TIME; accepted: {accepted}")));
            };
            let [length, every]: [Span; 2] = [read("outage", length, accepted)?, read("outage", every, accepted)?];
            both.push(format!("outage = {{ length = \"{length}\", first = \"{every}\", every = \"{every}\" }}"));
        }
        let mut text = table("both", &both);
        for (name, given) in Direction::TABLES.into_iter().zip(&self.rates) {
            let key = given.as_ref().and_then(|given| {
                given.quantity().map(|rate| format!("rate = \"{rate}\"")).or_else(|| given.key("rate"))
            });
            text += &table(name, key.as_slice());
        }
        Ok(text)
    }

    /// Gives a link the recordings that its keys name.
    pub(super) fn fill(&self, link: &mut Link) {
        let delay = self.delay.as_ref().and_then(Given::recorded);
        for (direction, trace) in link.traces.iter_mut().enumerate() {
            let rate = self.rates[direction].as_ref().and_then(Given::recorded);
            let is_recorded = link.directions[direction].is_recorded();
            *trace = match (rate, delay) {
                _ if !is_recorded => None,
                (Some(rate), Some(delay)) => Some(Arc::new((**rate).clone().or((**delay).clone()))),
                (one, other) => one.or(other).cloned(),
            };
        }
    }
}

fn table(name: &str, keys: &[String]) -> String {
    if keys.is_empty() { String::new() } else { format!("{name} = {{ {} }}\n", keys.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    fn line(up: Option<&str>, down: Option<&str>, delay: Option<&str>) -> ShellLine {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        ShellLine { rates: [owned(up), owned(down)], delay: owned(delay), ..ShellLine::default() }
    }

    /// Four packets in 3 ms; 10 ms, then 30 ms; a table with 20 Mbit/s and 40 ms.
    #[test]
    fn buffers_are_sized_by_the_means_of_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (rates, delays) = (file("a.down", "1\n2\n3\n3\n"), file("a.delay", "10\n30\n"));
        let table = file("a.csv", "time,rate,delay\n0,20 Mbit/s,40 ms\n1,20 Mbit/s,40 ms\n");
        let (given, rtt) = (Some(Rate::from_bps(30 * MBIT)), Span::from_ms(100));
        let of = |line: ShellLine| {
            let line = line.read().unwrap();
            (line.fastest(given).map(Rate::as_bps), line.fastest(None).map(Rate::as_bps), line.round_trip(rtt))
        };
        let ms = Span::from_ms;
        assert_eq!(of(line(None, None, None)), (Some(30 * MBIT), None, ms(100)));
        assert_eq!(of(line(Some("5 Mbit/s"), None, None)), (Some(30 * MBIT), Some(5 * MBIT), ms(100)));
        assert_eq!(of(line(None, Some(&rates), Some("20 ms"))), (Some(30 * MBIT), Some(16 * MBIT), ms(40)));
        assert_eq!(of(line(Some("90 Mbit/s"), Some(&rates), Some(&delays))).2, ms(40));
        assert_eq!(of(line(None, Some(&table), None)), (Some(30 * MBIT), Some(20 * MBIT), ms(90)));
        let refused = |line: ShellLine| line.read().map(|_| ()).unwrap_err().to_string();
        assert!(
            refused(line(None, Some(&table), Some("20 ms"))).starts_with("--delay: the table of --down has the delay")
        );
        assert!(refused(line(None, None, Some(&table))).contains("this is a table"));
        assert!(refused(line(Some("none.up"), None, None)).starts_with("--up none.up: there is no such regular file"));
        assert!(refused(line(Some("5 Mbt/s"), None, None)).starts_with("--up: \"Mbt/s\""));
    }
}
