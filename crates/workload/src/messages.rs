//! Recorded conversations: as they are in a file, with their rules, and as they are played.

use std::sync::Arc;

use cellway_apps::{Message, Recorded};
use cellway_settings::in_file::InFile;
use cellway_units::Span;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::kinds::MOST_OCTETS;
use crate::knots::{Fault, shown};

/// The longest time before a message (s): up to it a whole number of nanoseconds is exact in a file.
const MOST_SECONDS: f64 = 1e6;

/// A message as it is in a file: octets, octets of the other end before it, seconds.
type MessageFile = (f64, f64, f64);

/// Conversations as they are in a file: each the messages of the originator and of the responder.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MessagesFile(pub(crate) Vec<[Vec<MessageFile>; 2]>);

impl InFile for MessagesFile {
    fn read(value: Value) -> Result<MessagesFile, serde_json::Error> {
        serde_json::from_value(value).map(MessagesFile)
    }
    fn schema(_: &mut SchemaGenerator) -> Schema {
        let message = json!({ "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3 });
        let end = json!({ "type": "array", "items": message });
        let conversation = json!({ "type": "array", "items": end, "minItems": 2, "maxItems": 2 });
        let all = json!({ "type": "array", "items": conversation, "minItems": 1 });
        Schema::try_from(all).unwrap_or_default()
    }
}

/// Returns the conversations of a file.
pub(crate) fn recorded(file: &MessagesFile) -> Result<Vec<Arc<Recorded>>, Fault> {
    let conversation = |(place, ends): (usize, &[Vec<MessageFile>; 2])| {
        one(ends).map(Arc::new).map_err(|(message, accepted)| Fault { place, message, accepted: accepted.to_owned() })
    };
    file.0.iter().enumerate().map(conversation).collect()
}

fn one(ends: &[Vec<MessageFile>; 2]) -> Result<Recorded, (String, &'static str)> {
    let whole = |value: f64, least: f64| (least..=MOST_OCTETS).contains(&value) && value.fract() == 0.0;
    for &(octets, after, seconds) in ends.iter().flatten() {
        if !whole(octets, 1.0) {
            return Err((
                format!("has a message of {} octets", shown(octets)),
                "whole octets from 1 on, like [300, 0, 0.0]",
            ));
        }
        if !whole(after, 0.0) {
            return Err((
                format!("has a message after {} octets", shown(after)),
                "whole octets from 0 on, like [300, 0, 0.0]",
            ));
        }
        if !(0.0..=MOST_SECONDS).contains(&seconds) {
            return Err((format!("has a message after {} s", shown(seconds)), "0 to 1e6 s, like [300, 0, 0.5]"));
        }
    }
    let read = |&(octets, after, seconds): &MessageFile| message(octets as u64, after as u64, seconds);
    let recorded = Recorded { messages: [0, 1].map(|end: usize| ends[end].iter().map(read).collect()) };
    match is_playable(&recorded) {
        true => Ok(recorded),
        false => Err((
            "has no message, or one that waits for octets which the other end does not send before it".to_owned(),
            "messages whose second number is at most the octets that the other end has sent by then",
        )),
    }
}

/// Returns a message of `octets`, `after` octets of the other end and a time, which is rounded to nanoseconds.
pub fn message(octets: u64, after: u64, seconds: f64) -> Message {
    let seconds = seconds.clamp(0.0, MOST_SECONDS);
    Message { octets, after, delay: Span::from_ns((seconds * 1e9).round() as u64) }
}

/// Returns true if both ends can send all messages.
fn is_playable(recorded: &Recorded) -> bool {
    let (mut next, mut sent) = ([0; 2], [0u64; 2]);
    loop {
        let due = |end: usize| recorded.messages[end].get(next[end]).filter(|message| message.after <= sent[1 - end]);
        let Some((end, octets)) = [0, 1].into_iter().find_map(|end| Some((end, due(end)?.octets))) else { break };
        next[end] += 1;
        sent[end] = sent[end].saturating_add(octets);
    }
    next.iter().sum::<usize>() > 0 && [0, 1].into_iter().all(|end| next[end] == recorded.messages[end].len())
}

/// Returns a conversation as it is in a file.
pub(crate) fn printed(recorded: &Recorded) -> String {
    let message = |one: &Message| {
        // Picoseconds beyond whole nanoseconds are not kept.
        let seconds = (one.delay.as_ps() / 1000) as f64 / 1e9;
        format!("[{}, {}, {seconds:?}]", one.octets, one.after)
    };
    let end = |messages: &[Message]| messages.iter().map(message).collect::<Vec<_>>().join(", ");
    format!("[[{}], [{}]]", end(&recorded.messages[0]), end(&recorded.messages[1]))
}
