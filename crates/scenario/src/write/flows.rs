//! Flows that arrive by themselves.

use std::fmt::Write;

use crate::model::{FlowPace, FlowSizes, FlowSource, FlowSpec};
use crate::tree::quoted;

pub(super) fn write_flows(out: &mut String, flows: &FlowSpec) -> std::fmt::Result {
    writeln!(out, "[traffic.flows]\narrivals = \"{}\"", flows.source.arrivals().name())?;
    match &flows.source {
        FlowSource::Trace { file } => writeln!(out, "file = {}", quoted(file))?,
        FlowSource::Poisson { pace, sizes } | FlowSource::Periodic { pace, sizes } => {
            match pace {
                FlowPace::Interval(interval) => writeln!(out, "interval = \"{interval}\"")?,
                FlowPace::Load(load) => writeln!(out, "load = {load:?}")?,
            }
            write_sizes(out, sizes)?;
        }
    }
    if let Some(count) = flows.count {
        writeln!(out, "count = {count}")?;
    }
    if let Some(duration) = flows.duration {
        writeln!(out, "duration = \"{duration}\"")?;
    }
    writeln!(out, "limit = {}", flows.limit)
}

pub(super) fn write_sizes(out: &mut String, sizes: &FlowSizes) -> std::fmt::Result {
    writeln!(out, "sizes = \"{}\"", sizes.distribution().name())?;
    match sizes {
        FlowSizes::WebSearch | FlowSizes::DataMining => Ok(()),
        FlowSizes::Fixed(size) => writeln!(out, "size = \"{size}\""),
        FlowSizes::LogNormal { median, sigma } => writeln!(out, "median = \"{median}\"\nsigma = {sigma:?}"),
        FlowSizes::Pareto { shape, minimum, maximum } => {
            if let Some(maximum) = maximum {
                writeln!(out, "maximum = \"{maximum}\"")?;
            }
            writeln!(out, "shape = {shape:?}\nminimum = \"{minimum}\"")
        }
        FlowSizes::Table { file } => writeln!(out, "file = {}", quoted(file)),
    }
}
