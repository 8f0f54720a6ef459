//! The directions of the line of a path, and its variation: options of `cellway shell`.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use cellway_scenario::{Link, LinkTrace, Recorded, TraceFormat};
use cellway_units::{Rate, Span};

use super::shell::{quoted, read};
use crate::error::Error;
use crate::traces::{TraceFolder, Unusable};

/// The options of the directions, in the order of a link's: from the client, towards it.
const DIRECTIONS: [(&str, &str); 2] = [("up", "forward"), ("down", "back")];

/// What a line has besides a rate, a round trip and losses.
#[derive(Clone, Debug, Default)]
pub struct ShellLine {
    /// From the client, towards it: a rate, or a file with a recorded link; the rate of the path if absent.
    pub rates: [Option<String>; 2],
    /// The delay of each direction: a time, or a file with recorded delays; half of the round trip if absent.
    pub delay: Option<String>,
    /// The mean number of packets lost in a row.
    pub loss_burst: Option<String>,
    /// The standard deviation of the delay.
    pub jitter: Option<String>,
    /// The length of outages, and the time from one to the next: "300ms/15s".
    pub outage: Option<String>,
}

/// The value of an option: a quantity, or a file.
#[derive(Clone, Copy)]
enum Given<'a, T> {
    Quantity(T),
    File(&'a str, TraceFormat),
}

impl<T> Given<'_, T> {
    /// Returns the key of a direction that names the file, if it is one; `quantity` is what the file records.
    fn trace(&self, quantity: &str) -> Option<String> {
        match self {
            Given::Quantity(_) => None,
            Given::File(file, TraceFormat::Csv) => Some(format!("trace = {{ csv = {} }}", quoted(file))),
            Given::File(file, _) => Some(format!("trace = {{ {quantity} = {} }}", quoted(file))),
        }
    }
}

impl ShellLine {
    /// Returns the option that sets `key` of the scenario, if one of these does.
    pub(super) fn option(key: &str) -> Option<&'static str> {
        let parts: Vec<&str> = key.split('.').collect();
        let has = |part: &str| parts.contains(&part);
        match () {
            () if has("burst") => Some("--loss-burst"),
            () if has("jitter") => Some("--jitter"),
            () if has("outage") => Some("--outage"),
            () if has("both") => Some("--delay"),
            () if has("forward") => Some("--up"),
            () if has("back") => Some("--down"),
            () => None,
        }
    }

    fn rate(&self, direction: usize) -> Result<Option<Given<'_, Rate>>, Error> {
        let accepted = "a rate like \"30 Mbit/s\", or a file with a recorded link";
        given(DIRECTIONS[direction].0, self.rates[direction].as_deref(), TraceFormat::Opportunities, accepted)
    }

    fn delay(&self) -> Result<Option<Given<'_, Span>>, Error> {
        let accepted = "a time like \"20 ms\", or a file with a delay in ms for each 10 ms";
        let given = given("delay", self.delay.as_deref(), TraceFormat::Delays, accepted)?;
        match given {
            Some(Given::File(file, TraceFormat::Csv)) => Err(Error::Option(format!(
                "--delay {file}: this is a table; accepted: {accepted}, or the table as --down and --up"
            ))),
            given => Ok(given),
        }
    }

    /// Returns what the file of a direction records, if it has one.
    fn recorded(&self, direction: usize) -> Result<Arc<LinkTrace>, Error> {
        match self.rate(direction)? {
            Some(Given::File(file, format)) => read_trace(DIRECTIONS[direction].0, file, format),
            _ => Ok(Arc::default()),
        }
    }

    /// Returns the larger rate of the two directions, of a recording its mean; `rate` is that of a direction without its own.
    pub(super) fn fastest(&self, rate: Option<Rate>) -> Result<Option<Rate>, Error> {
        let mut fastest = None;
        for direction in [0, 1] {
            let own = match self.rate(direction)? {
                Some(Given::Quantity(rate)) => Some(rate),
                _ => self.recorded(direction)?.rate.as_ref().map(Recorded::<Rate>::mean),
            };
            fastest = fastest.max(own.or(rate));
        }
        Ok(fastest)
    }

    /// Returns the round trip: the delays of both directions, of a recording their means; `rtt` if there are none.
    pub(super) fn round_trip(&self, rtt: Span) -> Result<Span, Error> {
        let mean = |trace: &LinkTrace| trace.delay.as_ref().map(Recorded::<Span>::mean);
        let tables = [mean(&*self.recorded(0)?), mean(&*self.recorded(1)?)];
        let delay = match self.delay()? {
            Some(Given::Quantity(delay)) => Some(delay),
            Some(Given::File(file, format)) => mean(&*read_trace("delay", file, format)?),
            None => None,
        };
        if let (Some(_), Some(direction)) = (delay, tables.iter().position(Option::is_some)) {
            let table = DIRECTIONS[direction].0;
            let message = format!("--delay: the table of --{table} has the delay, too; accepted: one of them");
            return Err(Error::Option(message));
        }
        let half = Span::from_ps(rtt.as_ps() / 2);
        let [up, down] = tables.map(|table| delay.or(table).unwrap_or(half));
        Ok(up + down)
    }

    /// Returns the keys of the link that loses packets.
    pub(super) fn bursts(&self) -> Result<String, Error> {
        match &self.loss_burst {
            None => Ok(String::new()),
            Some(text) => {
                let accepted = "a mean number of packets, like 8";
                let packets: f64 = read("loss-burst", text, accepted)?;
                if !packets.is_finite() {
                    return Err(Error::Option(format!("--loss-burst {text}: this is no number; accepted: {accepted}")));
                }
                Ok(format!("both = {{ burst = {packets:?} }}\n"))
            }
        }
    }

    /// Returns the keys of the line.
    pub(super) fn keys(&self) -> Result<String, Error> {
        let mut both: Vec<String> = self.delay()?.and_then(|delay| delay.trace("delay")).into_iter().collect();
        if let Some(text) = &self.jitter {
            let deviation: Span = read("jitter", text, "a time like \"5 ms\"")?;
            both.push(format!("jitter = {{ deviation = \"{deviation}\" }}"));
        }
        if let Some(text) = &self.outage {
            let accepted = "the length of an outage and the time from one to the next, like 300ms/15s";
            let Some((length, every)) = text.split_once('/') else {
                return Err(Error::Option(format!("--outage {text}: this is not LENGTH/TIME; accepted: {accepted}")));
            };
            let [length, every]: [Span; 2] = [read("outage", length, accepted)?, read("outage", every, accepted)?];
            both.push(format!("outage = {{ length = \"{length}\", first = \"{every}\", every = \"{every}\" }}"));
        }
        let mut text = table("both", &both);
        for (direction, (_, name)) in DIRECTIONS.into_iter().enumerate() {
            let key = match self.rate(direction)? {
                Some(Given::Quantity(rate)) => Some(format!("rate = \"{rate}\"")),
                Some(file) => file.trace("rate"),
                None => None,
            };
            text += &table(name, key.as_slice());
        }
        Ok(text)
    }

    /// Reads the recordings of a link.
    pub(super) fn fill(&self, link: &mut Link) -> Result<(), Error> {
        let mut folder = TraceFolder::default();
        for direction in [0, 1] {
            link.traces[direction] = folder.recorded(&link.directions[direction]).map_err(|wrong| {
                let of_delay = wrong.key == "delay" || self.rates[direction].is_none();
                refused(if of_delay { "delay" } else { DIRECTIONS[direction].0 }, wrong)
            })?;
        }
        Ok(())
    }
}

fn table(name: &str, keys: &[String]) -> String {
    if keys.is_empty() { String::new() } else { format!("{name} = {{ {} }}\n", keys.join(", ")) }
}

/// Reads an option that is a quantity, which begins with a digit, or the name of a file, which has `format` unless its first
/// line begins with the name of a column.
fn given<'a, T: FromStr<Err: Display>>(
    name: &str,
    text: Option<&'a str>,
    format: TraceFormat,
    accepted: &str,
) -> Result<Option<Given<'a, T>>, Error> {
    let Some(text) = text else { return Ok(None) };
    if let Ok(quantity) = text.trim().parse() {
        return Ok(Some(Given::Quantity(quantity)));
    }
    let path = Path::new(text);
    if !path.is_file() {
        // A wrong quantity has a reason of its own.
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return read(name, text, accepted).map(|quantity| Some(Given::Quantity(quantity)));
        }
        return Err(Error::Option(format!("--{name} {text}: there is no such regular file; accepted: {accepted}")));
    }
    let start = std::fs::read_to_string(path).map(|all| all.trim_start().chars().take(1).collect::<String>());
    let is_table = start.is_ok_and(|start| start.chars().all(char::is_alphabetic) && !start.is_empty());
    Ok(Some(Given::File(text, if is_table { TraceFormat::Csv } else { format })))
}

fn read_trace(option: &str, file: &str, format: TraceFormat) -> Result<Arc<LinkTrace>, Error> {
    TraceFolder::default().file("rate", Path::new(file), format).map_err(|wrong| refused(option, wrong))
}

fn refused(option: &str, wrong: Unusable) -> Error {
    Error::Option(format!("--{option}: {}; accepted: {}", wrong.message, wrong.accepted))
}
