//! Conversations drawn from a class of a workload file.

use std::fmt::Write;

use crate::model::{ConversationPace, ConversationUse, WorkloadSpec};
use crate::quantity::ClassName;

/// Returns the value of the key `app`.
pub(super) fn class_name(spec: &WorkloadSpec) -> String {
    ClassName { file: spec.file.clone(), class: spec.class.clone() }.to_string()
}

/// Writes the options, behind the header of their table.
pub(super) fn write_workload(out: &mut String, spec: &WorkloadSpec) -> std::fmt::Result {
    writeln!(out, "arrivals = \"{}\"\nfits = {}", spec.arrivals.arrivals().name(), spec.fits)?;
    match spec.arrivals {
        ConversationUse::Closed { gap } => writeln!(out, "gap = \"{gap}\""),
        ConversationUse::Open { pace, count, duration, limit } => {
            match pace {
                ConversationPace::Scale(scale) => writeln!(out, "scale = {scale:?}")?,
                ConversationPace::Load(load) => writeln!(out, "load = {load:?}")?,
            }
            if let Some(count) = count {
                writeln!(out, "conversations = {count}")?;
            }
            if let Some(duration) = duration {
                writeln!(out, "duration = \"{duration}\"")?;
            }
            writeln!(out, "limit = {limit}")
        }
    }
}
