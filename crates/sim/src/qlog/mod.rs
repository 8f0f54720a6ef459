//! One end of one TCP connection as qlog: its segments, their fate, and the state of its congestion control.
//!
//! Version 0.3 (draft-ietf-quic-qlog-main-schema-03, draft-ietf-quic-qlog-quic-events-03), the last one that qvis opens.

mod events;
mod numbers;
mod recorder;
mod writer;

use std::io::Write;

use cellway_apps::Side;
use cellway_scenario::Scenario;

pub(crate) use self::events::congestion_state;
pub(crate) use self::recorder::{Addresses, Recorder};
use crate::error::Error;

/// The end of a connection that is recorded: of slot `ftp-1`, "ftp-1" is the originator's end of its first connection,
/// "ftp-1-sink" the responder's, and "ftp-1:3" is the originator's end of its third.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QlogEnd {
    slot: String,
    side: Side,
    /// The number of the connection in its slot, from 1.
    connection: u32,
}

/// The slot name of a responder's end has this added, as the name of an implicit host.
const SINK: &str = "-sink";

impl QlogEnd {
    /// Reads the name of an end of a connection of `scenario`.
    ///
    /// # Errors
    /// There is no such slot, or it has no TCP.
    pub fn of(scenario: &Scenario, name: &str) -> Result<QlogEnd, Error> {
        let (end, connection) = match name.split_once(':') {
            None => (name, Some(1)),
            // One form for each number, as it is in the name of the file.
            Some((end, text)) => (end, text.parse().ok().filter(|&n: &u32| n > 0 && n.to_string() == text)),
        };
        let refuse = |why: String| Error::Qlog { name: name.to_owned(), why };
        let Some(connection) = connection else {
            return Err(refuse(format!("a connection is a number from 1, like {end}:3")));
        };
        let (slot, side) = match end.strip_suffix(SINK) {
            Some(slot) => (slot, Side::Responder),
            None => (end, Side::Originator),
        };
        let group = scenario.traffic.iter().find(|traffic| (1..=traffic.count).any(|i| traffic.slot(i) == slot));
        match group {
            Some(traffic) if traffic.tcp().is_some() => Ok(QlogEnd { slot: slot.to_owned(), side, connection }),
            Some(_) => Err(refuse(format!("{slot} sends UDP, which has no connections; {}", accepted(scenario)))),
            None => Err(refuse(format!("there is no such slot; {}", accepted(scenario)))),
        }
    }

    /// Returns the name of a file for it, without an extension.
    pub fn file_stem(&self) -> String {
        let sink = if self.side == Side::Responder { SINK } else { "" };
        match self.connection {
            1 => format!("{}{sink}", self.slot),
            number => format!("{}{sink}.{number}", self.slot),
        }
    }
}

/// Returns the accepted slots in words.
fn accepted(scenario: &Scenario) -> String {
    let with_tcp = scenario.traffic.iter().filter(|traffic| traffic.tcp().is_some());
    let names: Vec<String> = with_tcp
        .map(|traffic| match traffic.count {
            1 => format!("{}-1", traffic.name),
            count => format!("{0}-1 to {0}-{count}", traffic.name),
        })
        .collect();
    match names.is_empty() {
        true => "the scenario has no traffic over TCP".to_owned(),
        false => format!("accepted: {}; with {SINK} for the responder's end", names.join(", ")),
    }
}

/// The record of one end of a connection, which a run writes.
pub struct Qlog<'a> {
    end: QlogEnd,
    to: &'a mut (dyn Write + Send),
    events: &'a mut u64,
}

impl<'a> Qlog<'a> {
    /// Creates a record that is written to `to`; `events` receives the number of events.
    pub fn new(end: QlogEnd, to: &'a mut (dyn Write + Send), events: &'a mut u64) -> Qlog<'a> {
        Qlog { end, to, events }
    }
}
