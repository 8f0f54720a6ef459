//! What came of a run, as rows of its tables.

use std::sync::Arc;

use cellway_record::{Counts, Row, RunRecord};
use cellway_units::{Span, Time};

use super::Emulated;
use crate::lateness::SUBJECT;
use crate::programs::ProgramEnd;
use crate::pump::Pump;

/// What a simulation counts and nobody tells of a kernel's TCP.
const UNSEEN: [&str; 7] =
    ["timeouts", "timeouts_mean", "fast_retransmits", "collapses", "collapses_mean", "line_share", "line_share_mean"];

/// The record of a run that ended at `ended`.
pub(super) fn emulated(
    pump: Pump,
    ended: Time,
    programs: Vec<ProgramEnd>,
    mut notes: Vec<String>,
    limit: Span,
) -> Emulated {
    let Pump { engine, lateness, ingress, untaken, passes, cpu, treatment, .. } = pump;
    debug_assert!(lateness.earliness().is_zero(), "a packet was {} early", lateness.earliness());
    let delays = engine.delays.clone();
    let refusals: Vec<_> = engine.refusals().iter().collect();
    let failures: Vec<(String, u64)> = engine.failures().map(|(reason, count)| (reason.to_owned(), count)).collect();
    let testbed = engine.testbed;
    let counts = Counts {
        events: testbed.fabric.events(ended) + passes,
        cell_hops: testbed.fabric.cell_hops(),
        packet_hops: testbed.fabric.packet_hops(ended),
        packets: delays.count(),
        simulated: ended - Time::ZERO,
    };
    let (mut summary, series) = testbed.meter.finish(ended, &testbed.fabric);
    summary.retain(|row| !UNSEEN.contains(&row.metric));
    let subject: Arc<str> = SUBJECT.into();
    let row = |metric, unit, value| Row { subject: subject.clone(), metric, unit, t: None, value };
    let valid = lateness.is_valid(limit) && ingress.is_valid(limit);
    summary.push(row("valid", "1", f64::from(u8::from(valid))));
    summary.extend(lateness.rows());
    if ingress.count() > 0 {
        for (metric, quantile) in [("ingress_wait_p50", 0.5), ("ingress_wait_p99", 0.99), ("ingress_wait_p999", 0.999)]
        {
            summary.push(row(metric, "s", ingress.quantile(quantile).as_secs_f64()));
        }
        summary.push(row("ingress_wait_max", "s", ingress.max().as_secs_f64()));
    }
    if delays.count() > 0 {
        for (metric, quantile) in [("delay_p50", 0.5), ("delay_p95", 0.95), ("delay_p99", 0.99)] {
            summary.push(row(metric, "s", delays.quantile(quantile).as_secs_f64()));
        }
    }
    summary.extend(treatment.rows());
    summary.push(row("cpu", "s", cpu.as_secs_f64()));
    summary.push(row("packets", "packet", delays.count() as f64));
    summary.push(row("refused", "packet", refusals.iter().map(|(_, count)| count).sum::<u64>() as f64));
    summary.push(row("untaken", "packet", untaken as f64));
    for (reason, count) in refusals {
        notes.push(format!("{count} packets of hosts did not enter the network: {reason}"));
    }
    for (reason, count) in failures {
        notes.push(format!("{count} conversations failed: {reason}"));
    }
    if untaken > 0 {
        notes.push(format!("{untaken} packets were not taken by their host: its queue was full, or it was going down"));
    }
    for program in &programs {
        let subject: Arc<str> = program.name.as_str().into();
        let mut put = |metric: &str, unit: &str, value| {
            let (metric, unit) = (cellway_record::word(metric), cellway_record::word(unit));
            summary.push(Row { subject: subject.clone(), metric, unit, t: None, value });
        };
        put("failed", "1", f64::from(u8::from(program.failed)));
        if let Some(status) = program.status {
            put("exit_status", "1", f64::from(status));
        }
        for (metric, unit, value) in &program.figures {
            put(metric, unit, *value);
        }
    }
    let record = RunRecord { summary, series, counts };
    let duration = ended - Time::ZERO;
    Emulated { record, programs, status: None, lateness, ingress, limit, treatment, delays, notes, duration }
}
