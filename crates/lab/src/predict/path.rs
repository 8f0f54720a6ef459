//! A path that is described by a few texts with units.

use std::collections::BTreeMap;

use cellway_scenario::{BufferSize, CongestionControl};
use cellway_settings::quantity::{self, Refusal, Text};
use cellway_theory::{Amount, Bound, Line, LineFraming, PathInput, Prediction, predict_path};
use cellway_units::Rate;
use serde_json::{Value, json};

use crate::error::Error;

/// The parameters of a path: name and accepted values. The first three are required.
pub const PATH: [(&str, &str); 12] = [
    (
        "rate",
        "a rate like \"40 Mbit/s\", or a line: e1, ds1, e3, ds3, oc3c, oc12c, taxi, ethernet, fast-ethernet, fddi",
    ),
    ("rtt", "a time like \"60 ms\""),
    ("window", "an amount like \"64 KiB\""),
    ("mss", "an amount like \"1460 B\""),
    ("framing", "packet, ethernet, fddi, aal5-vc-mux, aal5-llc-snap, bare-cells"),
    ("loss", "a number from 0 to 1 like \"1e-4\", or per cent like \"0.01%\""),
    ("control", "bbr, cubic, dctcp, prague, reno, tahoe"),
    ("buffer", "cells like \"256 cell\", or an amount like \"64 KiB\""),
    ("delayed-ack", "on, off"),
    ("source", "a rate like \"149.76 Mbit/s\", or a line"),
    ("shaping", "a rate like \"20 Mbit/s\", or a line"),
    ("connections", "a whole number like \"2\""),
];

/// The texts of a path, each read by its name.
struct Texts<'a>(&'a BTreeMap<String, String>);

/// Predicts a path from `texts`: see [`PATH`]. The framing is that of the line if `rate` names one (AAL5 with LLC/SNAP
/// on lines for cells), AAL5 with a buffer in cells, and bare packets otherwise.
pub fn path(texts: &BTreeMap<String, String>) -> Result<Prediction, Error> {
    if let Some(name) = texts.keys().find(|name| PATH.iter().all(|(known, _)| known != name)) {
        let known: Vec<&str> = PATH.iter().map(|(known, _)| *known).collect();
        return Err(Error::Option(format!("a path has no {name:?}; accepted: {}", known.join(", "))));
    }
    let all = Texts(texts);
    let needed = |name: &'static str| Error::Option(format!("{name} is missing; accepted: {}", accepted(name)));
    let mut input = PathInput::new(
        all.rate("rate")?.ok_or_else(|| needed("rate"))?,
        all.read("rtt")?.ok_or_else(|| needed("rtt"))?,
        all.read("window")?.ok_or_else(|| needed("window"))?,
    );
    let line = texts.get("rate").and_then(|text| text.trim().parse::<Line>().ok());
    let in_cells = texts.get("buffer").is_some_and(|buffer| buffer.contains("cell"));
    input.framing = match line {
        Some(Line::Ethernet | Line::FastEthernet) => LineFraming::Ethernet,
        Some(Line::Fddi) => LineFraming::Fddi,
        Some(Line::E1 | Line::Ds1 | Line::E3 | Line::Ds3 | Line::Oc3c | Line::Oc12c | Line::Taxi) => {
            LineFraming::Aal5LlcSnap
        }
        None if in_cells => LineFraming::Aal5LlcSnap,
        None => LineFraming::Packet,
    };
    let named = |text: &str| LineFraming::ALL.into_iter().find(|framing| framing.name() == text);
    input.framing = all.word("framing", named)?.unwrap_or(input.framing);
    input.mss = all.read("mss")?.unwrap_or(input.mss);
    let share = |text: &str| {
        let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
        number.parse::<f64>().ok().map(|p| p / whole).filter(|p| (0.0..=1.0).contains(p))
    };
    input.loss = all.word("loss", share)?;
    let control = |text: &str| CongestionControl::ALL.into_iter().find(|control| control.name() == text);
    input.control = all.word("control", control)?.unwrap_or(input.control);
    let size = |text: &str| text.parse().map(BufferSize::Cells).or_else(|_| text.parse().map(BufferSize::Bytes)).ok();
    input.buffer = all.word("buffer", size)?;
    let switch = |text: &str| match text {
        "on" | "yes" => Some(true),
        "off" | "no" => Some(false),
        _ => None,
    };
    input.delayed_ack = all.word("delayed-ack", switch)?.unwrap_or(input.delayed_ack);
    (input.source, input.shaping) = (all.rate("source")?, all.rate("shaping")?);
    input.connections = all.word("connections", |text| text.parse().ok())?.unwrap_or(input.connections);
    Ok(predict_path(&input)?)
}

fn accepted(name: &str) -> &'static str {
    PATH.iter().find(|(known, _)| *known == name).map_or("", |(_, accepted)| *accepted)
}

impl Texts<'_> {
    /// Parses the text of that name with `read`; `None` if it is not given.
    fn word<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let wrong = || Error::Option(format!("{name}: {text:?} is invalid; accepted: {}", accepted(name)));
        read(text.trim()).map(Some).ok_or_else(wrong)
    }

    /// Parses a quantity, whose error describes the fault.
    fn read<T: Text>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        quantity::parse(text.trim()).map(Some).map_err(|Refusal { message, suggestion }| {
            let meant = suggestion.map_or(String::new(), |text| format!("; did you mean {text}?"));
            Error::Option(format!("{name}: {message}{meant}; accepted: {}", accepted(name)))
        })
    }

    /// Parses a rate, or the name of a line.
    fn rate(&self, name: &str) -> Result<Option<Rate>, Error> {
        match self.0.get(name).and_then(|text| text.trim().parse::<Line>().ok()) {
            Some(line) => Ok(Some(line.rate())),
            None => self.read(name),
        }
    }
}

/// Returns a prediction, as JSON.
pub fn path_json(prediction: &Prediction) -> Value {
    let amount = |amount: &Amount| json!({ "value": amount.value, "unit": amount.unit });
    json!({
        "goodput": prediction.goodput,
        "binding": prediction.binding().limit.name(),
        "round_trip": prediction.round_trip,
        "bandwidth_delay_product": prediction.bandwidth_delay_product,
        "window_needed": prediction.window_needed.0,
        "buffer_needed": amount(&prediction.buffer_needed),
        "spacer_buffer": prediction.spacer_buffer.as_ref().map(amount),
        "advice": prediction.advice,
        "caveats": prediction.caveats,
        "bounds": prediction.bounds.iter().map(bound_json).collect::<Vec<_>>(),
    })
}

fn bound_json(bound: &Bound) -> Value {
    json!({
        "limit": bound.limit.name(), "at": bound.at, "value": bound.value,
        "equation": bound.equation, "source": bound.source, "caveats": bound.caveats,
    })
}
