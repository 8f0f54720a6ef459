//! The directions of the line of a path, and its variation: options of `cellway shell`.

use std::fmt::Display;
use std::mem;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use cellway_scenario::{
    Direction, Link, LinkTrace, Outage, OutageBuffer, OutagePackets, Recorded, TraceFormat, Trains,
};
use cellway_units::{Probability, Rate, Span};

use super::shell::{quoted, read};
use crate::error::Error;
use crate::text_file;

/// The options of the directions, in the order of a link's: from the client, towards it.
const OPTIONS: [&str; 2] = ["up", "down"];

const OF_RATE: &str = "a rate like \"30 Mbit/s\", a file with a recorded link, or the two files of CellReplay for a light and a \
                       heavy load, like down-light,down-heavy";
const OF_DELAY: &str = "a time like \"20 ms\", or a file with a delay in ms for each 10 ms";
const OF_JITTER: &str = "a standard deviation like 5ms, or one with the file of a distribution, like 5ms,wifi.dist";
const OF_OUTAGE: &str = "the length of an outage, 1 us or more, and the time from one to the next, which is longer, like \
                         300ms/15s; behind it ,lost if packets are lost meanwhile, and ,flushed if the buffer is emptied";

/// The options of a line besides its rate, its round trip and its losses.
#[derive(Clone, Debug, Default)]
pub struct ShellLine {
    /// From the client, towards it: a rate, a file with a recorded link, or the two of a light and a heavy load, separated by a
    /// comma; the rate of the path if absent.
    pub rates: [Option<String>; 2],
    /// The delay of each direction: a time, or a file with recorded delays; half of the round trip if absent.
    pub delay: Option<String>,
    /// The mean number of packets lost in a row.
    pub loss_burst: Option<String>,
    /// The share of packets that arrive twice.
    pub duplicate: Option<String>,
    /// The share of packets that are corrupted.
    pub corrupt: Option<String>,
    /// The standard deviation of the delay, and the file with its distribution: "5ms", "5ms,wifi.dist".
    pub jitter: Option<String>,
    /// The length of outages, the time from one to the next, and what is lost in them: "300ms/15s", "300ms/15s,lost,flushed".
    pub outage: Option<String>,
}

/// The value of an option: a quantity, or a file with its recording.
enum Given<'a, T> {
    Quantity(T),
    File {
        name: &'a str,
        format: TraceFormat,
        trace: Arc<LinkTrace>,
    },
    /// The files of a light and a heavy load.
    Loads {
        names: [&'a str; 2],
        trace: Arc<LinkTrace>,
    },
}

impl<'a> Given<'a, Rate> {
    /// Reads an option of a direction.
    fn of_direction(option: &str, text: &'a str) -> Result<Given<'a, Rate>, Error> {
        match text.split_once(',') {
            Some((light, heavy)) if !Path::new(text).is_file() => {
                let names = [light, heavy];
                let read = |(name, format): (&str, TraceFormat)| {
                    if name.is_empty() {
                        let message = format!("--{option} {text}: the name of a file is missing; accepted: {OF_RATE}");
                        return Err(Error::Option(message));
                    }
                    let content = text_file::read(Path::new(name))
                        .map_err(|why| Error::Option(format!("--{option} {text}: {why}; accepted: {OF_RATE}")))?;
                    recording(option, name, &content, format)
                };
                let [light, heavy] = [(light, TraceFormat::Light), (heavy, TraceFormat::Heavy)].map(read);
                Ok(Given::Loads { names, trace: Arc::new((*light?).clone().or((*heavy?).clone())) })
            }
            _ => Given::read(option, text, TraceFormat::Opportunities, OF_RATE),
        }
    }
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
        let trace = recording(option, text, &content, format)?;
        Ok(Given::File { name: text, format, trace })
    }

    fn quantity(&self) -> Option<T> {
        match self {
            Given::Quantity(quantity) => Some(*quantity),
            Given::File { .. } | Given::Loads { .. } => None,
        }
    }

    fn recorded(&self) -> Option<&Arc<LinkTrace>> {
        match self {
            Given::Quantity(_) => None,
            Given::File { trace, .. } | Given::Loads { trace, .. } => Some(trace),
        }
    }

    /// Returns the keys of a direction that name the files, if there are any; `quantity` is what the file records.
    fn key(&self, quantity: &str) -> Option<String> {
        match self {
            Given::Quantity(_) => None,
            Given::File { name, format, .. } => {
                let key = if *format == TraceFormat::Csv { "csv" } else { quantity };
                Some(format!("trace.{key} = {}", quoted(name)))
            }
            Given::Loads { names: [light, heavy], .. } => {
                Some(format!("trace.light = {}, trace.heavy = {}", quoted(light), quoted(heavy)))
            }
        }
    }
}

/// Reads the content of the file `name`, which an option gives.
fn recording(option: &str, name: &str, content: &str, format: TraceFormat) -> Result<Arc<LinkTrace>, Error> {
    let trace = format.read(content).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        Error::Option(format!("--{option}: {name}{line}: {}; accepted: {}", error.message, error.accepted))
    })?;
    Ok(Arc::new(trace))
}

/// The random part of the delay.
struct ReadJitter<'a> {
    deviation: Span,
    /// The file with the distribution, and its values.
    table: Option<(&'a str, Arc<LinkTrace>)>,
}

impl<'a> ReadJitter<'a> {
    fn read(text: &'a str) -> Result<ReadJitter<'a>, Error> {
        let (deviation, name) = text.split_once(',').map_or((text, None), |(deviation, name)| (deviation, Some(name)));
        let table = match name {
            None => None,
            Some("") => {
                let message = format!("--jitter {text}: the name of a file is missing; accepted: {OF_JITTER}");
                return Err(Error::Option(message));
            }
            Some(name) => {
                let content = text_file::read(Path::new(name));
                let content =
                    content.map_err(|why| Error::Option(format!("--jitter {text}: {why}; accepted: {OF_JITTER}")))?;
                Some((name, recording("jitter", name, &content, TraceFormat::Distribution)?))
            }
        };
        Ok(ReadJitter { deviation: read("jitter", deviation, OF_JITTER)?, table })
    }
}

/// A line whose options have been read, with the recordings that they name.
pub(super) struct ReadLine<'a> {
    options: &'a ShellLine,
    rates: [Option<Given<'a, Rate>>; 2],
    delay: Option<Given<'a, Span>>,
    jitter: Option<ReadJitter<'a>>,
    outage: Option<Outage>,
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
        let rate = |direction: usize| {
            let text = self.rates[direction].as_deref();
            text.map(|text| Given::of_direction(OPTIONS[direction], text)).transpose()
        };
        let delay = self.delay.as_deref().map(|text| Given::read("delay", text, TraceFormat::Delays, OF_DELAY));
        let jitter = self.jitter.as_deref().map(ReadJitter::read).transpose()?;
        let outage = self.outage.as_deref().map(outage_of).transpose()?;
        let line = ReadLine { options: self, rates: [rate(0)?, rate(1)?], delay: delay.transpose()?, jitter, outage };
        if let Some(Given::File { name, format: TraceFormat::Csv, .. }) = line.delay {
            let message =
                format!("--delay {name}: this is a table; accepted: {OF_DELAY}, or the table as --down and --up");
            return Err(Error::Option(message));
        }
        if let (Some(_), Some(direction)) = (&line.delay, line.recorded_delays().iter().position(Option::is_some)) {
            let of_file = OPTIONS[direction];
            let message = format!("--delay: the recording of --{of_file} has the delay, too; accepted: one of them");
            return Err(Error::Option(message));
        }
        let loads = line.rates.iter().position(|rate| matches!(rate, Some(Given::Loads { .. })));
        if let (Some(_), Some(direction)) = (&line.jitter, loads) {
            let of_file = OPTIONS[direction];
            let message =
                format!("--jitter: the recording of --{of_file} has the delay of each packet; accepted: one of them");
            return Err(Error::Option(message));
        }
        Ok(line)
    }
}

impl ReadLine<'_> {
    /// Returns an option that only lines of packets have, if one is given, and what is accepted in place of it.
    pub(super) fn of_packets(&self) -> Option<(&'static str, &'static str)> {
        if let Some(direction) = self.rates.iter().position(Option::is_some) {
            return Some((OPTIONS[direction], "--framing packet"));
        }
        if self.delay.as_ref().is_some_and(|delay| delay.recorded().is_some()) {
            return Some(("delay", "a time like 20ms, or --framing packet"));
        }
        if self.jitter.is_some() {
            return Some(("jitter", "--framing packet"));
        }
        let of_cells = (OutagePackets::Lost, OutageBuffer::Kept);
        let is_for_packets = self.outage.is_some_and(|outage| (outage.packets, outage.buffer) != of_cells);
        is_for_packets.then_some(("outage", "LENGTH/TIME,lost, or --framing packet"))
    }

    /// Returns the mean delays of the recordings of the directions, where they have one.
    fn recorded_delays(&self) -> [Option<Span>; 2] {
        [0, 1].map(|direction| {
            let trace = self.rates[direction].as_ref().and_then(Given::recorded)?;
            let of_light = || trace.light.as_ref().map(Trains::mean_delay);
            trace.delay.as_ref().map(Recorded::<Span>::mean).or_else(of_light)
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
        let [up, down] = self.recorded_delays().map(|table| delay.or(table).unwrap_or(half));
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

    /// Returns the keys of the line. If only one direction has a recorded delay, the other has half of `rtt`.
    pub(super) fn keys(&self, rtt: Span) -> String {
        let mut both = Vec::new();
        if let Some(ReadJitter { deviation, .. }) = self.jitter {
            both.push(format!("jitter = {{ deviation = \"{deviation}\" }}"));
        }
        if let Some(Outage { length, first, every, packets, buffer }) = self.outage {
            let every = every.map_or(String::new(), |every| format!(", every = \"{every}\""));
            let (packets, buffer) = (packets.name(), buffer.name());
            both.push(format!(
                "outage = {{ length = \"{length}\", first = \"{first}\"{every}, packets = \"{packets}\", buffer = \"{buffer}\" }}"
            ));
        }
        let delay = self.delay.as_ref().and_then(|delay| delay.key("delay"));
        let jitter = self.jitter.as_ref().and_then(|jitter| jitter.table.as_ref());
        let jitter = jitter.map(|(name, _)| format!("trace.jitter = {}", quoted(name)));
        both.extend(delay.into_iter().chain(jitter));
        let mut text = table("both", &both);
        let recorded = self.recorded_delays();
        for (direction, (name, given)) in Direction::TABLES.into_iter().zip(&self.rates).enumerate() {
            let key = given.as_ref().and_then(|given| {
                given.quantity().map(|rate| format!("rate = \"{rate}\"")).or_else(|| given.key("rate"))
            });
            let is_other = recorded[direction].is_none() && recorded[1 - direction].is_some();
            let delay = is_other.then(|| format!("delay = \"{} ps\"", rtt.as_ps() / 2));
            text += &table(name, &key.into_iter().chain(delay).collect::<Vec<_>>());
        }
        text
    }

    /// Gives a link the recordings that its keys name.
    pub(super) fn fill(&self, link: &mut Link) {
        let delay = self.delay.as_ref().and_then(Given::recorded);
        let jitter = self.jitter.as_ref().and_then(|jitter| jitter.table.as_ref()).map(|(_, trace)| trace);
        for (direction, trace) in link.traces.iter_mut().enumerate() {
            let rate = self.rates[direction].as_ref().and_then(Given::recorded);
            let is_recorded = link.directions[direction].is_recorded();
            let all = [rate, delay, jitter].into_iter().flatten().filter(|_| is_recorded);
            *trace = all.cloned().reduce(|one, other| Arc::new((*one).clone().or((*other).clone())));
        }
    }
}

/// Reads the option of outages.
fn outage_of(text: &str) -> Result<Outage, Error> {
    let wrong = |why: String| Error::Option(format!("--outage {text}: {why}; accepted: {OF_OUTAGE}"));
    let mut words = text.split(',').map(str::trim);
    let Some((length, every)) = words.next().unwrap_or_default().split_once('/') else {
        return Err(wrong("this is not LENGTH/TIME".to_owned()));
    };
    let [length, every]: [Span; 2] = [read("outage", length, OF_OUTAGE)?, read("outage", every, OF_OUTAGE)?];
    if length.is_zero() {
        return Err(wrong("an outage has no length".to_owned()));
    }
    let (mut packets, mut buffer) = (OutagePackets::Wait, OutageBuffer::Kept);
    for word in words {
        let is_twice = if word == OutagePackets::Lost.name() {
            mem::replace(&mut packets, OutagePackets::Lost) == OutagePackets::Lost
        } else if word == OutageBuffer::Flushed.name() {
            mem::replace(&mut buffer, OutageBuffer::Flushed) == OutageBuffer::Flushed
        } else {
            return Err(wrong(format!("{word:?} is neither lost nor flushed")));
        };
        if is_twice {
            return Err(wrong(format!("{word} is given twice")));
        }
    }
    Ok(Outage { length, first: every, every: Some(every), packets, buffer })
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
        // A light load of 20 ms to 40 ms, and a heavy one of 11.2 Mbit/s.
        let pair = format!("{},{}", file("light", "0 20 0 1\n100 40 0\n"), file("heavy", "1\n2\n"));
        assert_eq!(of(line(None, Some(&pair), None)), (Some(30 * MBIT), Some(11_200_000), ms(80)));
        // The direction without a table has half of the round trip.
        let keys = line(None, Some(&table), None).read().unwrap().keys(rtt);
        assert!(keys.starts_with("forward = { delay = \"50000000000 ps\" }\nback = { trace.csv"), "{keys}");
        let refused = |line: ShellLine| line.read().map(|_| ()).unwrap_err().to_string();
        assert!(
            refused(line(None, Some(&table), Some("20 ms")))
                .starts_with("--delay: the recording of --down has the delay")
        );
        assert!(refused(line(None, None, Some(&table))).contains("this is a table"));
        let jitter = ShellLine { jitter: Some("1ms".to_owned()), ..line(Some(&pair), None, None) };
        assert!(refused(jitter).starts_with("--jitter: the recording of --up has the delay of each packet"));
        assert!(refused(line(Some("none,x"), None, None)).starts_with("--up none,x: cannot read none: "));
        let wrong = format!("{rates},{rates}");
        let told = refused(line(Some(&wrong), None, None));
        assert!(
            told.starts_with(&format!("--up: {rates}:1: the line has only a time; accepted: in each line")),
            "{told}"
        );
        assert!(refused(line(Some("none.up"), None, None)).starts_with("--up none.up: there is no such regular file"));
        assert!(refused(line(Some("5 Mbt/s"), None, None)).starts_with("--up: \"Mbt/s\""));
    }

    /// A table of netem with -1, 0 and 2 deviations; outages in which packets are lost and the buffer is emptied.
    #[test]
    fn jitter_has_a_table_and_outages_empty_the_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let [dist, delay] = [("a.dist", "0 -8192 16384\n"), ("a.delay", "10\n30\n")].map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let line = ShellLine {
            jitter: Some(format!("5ms,{dist}")),
            outage: Some("300ms/15s,flushed, lost".to_owned()),
            ..line(None, None, Some(&delay))
        };
        let path = crate::emulate::ShellPath {
            line: line.clone(),
            multiplexing: "per-conversation".to_owned(),
            ..Default::default()
        };
        let plan = path.plan(&["true".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
        let mut link = plan.base().links[2].clone();
        line.read().unwrap().fill(&mut link);
        let seconds = Span::from_secs(15);
        let outage = Outage {
            length: Span::from_ms(300),
            first: seconds,
            every: Some(seconds),
            packets: OutagePackets::Lost,
            buffer: OutageBuffer::Flushed,
        };
        for (own, trace) in link.directions.iter().zip(&link.traces) {
            assert_eq!((own.outage, own.jitter.deviation), (outage, Span::from_ms(5)));
            let trace = trace.as_ref().unwrap();
            assert_eq!(trace.jitter.as_deref(), Some(&[-1, 0, 2].map(|deviations| deviations << 20)[..]));
            assert_eq!(trace.delay.as_ref().map(Recorded::<Span>::mean), Some(Span::from_ms(20)));
        }
        let refused = |text: &str| outage_of(text).unwrap_err().to_string();
        assert!(refused("300ms").starts_with("--outage 300ms: this is not LENGTH/TIME; accepted: the length"));
        assert!(refused("1s/9s,kept").starts_with("--outage 1s/9s,kept: \"kept\" is neither lost nor flushed"));
        assert!(refused("1s/9s,lost,lost").starts_with("--outage 1s/9s,lost,lost: lost is given twice"));
    }
}
