//! The results of a run, as rows of its tables.

use std::sync::Arc;

use cellway_record::metric::{command, emulation};
use cellway_record::{Counts, Quantity, RunRecord};
use cellway_units::{Span, Time};

use super::Emulated;
use crate::lateness::SUBJECT;
use crate::programs::ProgramEnd;
use crate::pump::Pump;

/// Returns the record of a run that ended at `ended`.
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
    let (mut summary, series) = testbed.finish(ended);
    let subject: Arc<str> = SUBJECT.into();
    let valid = lateness.is_valid(limit) && ingress.is_valid(limit);
    summary.put(&subject, &emulation::VALID, f64::from(u8::from(valid)));
    lateness.report(&subject, &mut summary);
    if ingress.count() > 0 {
        for (metric, quantile) in [
            (&emulation::INGRESS_WAIT_P50, 0.5),
            (&emulation::INGRESS_WAIT_P99, 0.99),
            (&emulation::INGRESS_WAIT_P999, 0.999),
        ] {
            summary.put(&subject, metric, ingress.quantile(quantile).as_secs_f64());
        }
        summary.put(&subject, &emulation::INGRESS_WAIT_MAX, ingress.max().as_secs_f64());
    }
    if delays.count() > 0 {
        for (metric, quantile) in
            [(&emulation::DELAY_P50, 0.5), (&emulation::DELAY_P95, 0.95), (&emulation::DELAY_P99, 0.99)]
        {
            summary.put(&subject, metric, delays.quantile(quantile).as_secs_f64());
        }
    }
    treatment.report(&subject, &mut summary);
    summary.put(&subject, &emulation::CPU, cpu.as_secs_f64());
    summary.put(&subject, &emulation::PACKETS, delays.count() as f64);
    summary.put(&subject, &emulation::REFUSED, refusals.iter().map(|(_, count)| count).sum::<u64>() as f64);
    summary.put(&subject, &emulation::UNTAKEN, untaken as f64);
    for (reason, count) in refusals {
        notes.push(format!("{count} packets of hosts did not enter the network: {reason}"));
    }
    for (reason, count) in failures {
        notes.push(format!("{count} conversations failed: {reason}"));
    }
    if untaken > 0 {
        notes.push(format!("{untaken} packets were not accepted by the kernel of their host: its queue was full, or the host was shutting down"));
    }
    for program in &programs {
        let subject: Arc<str> = program.name.as_str().into();
        summary.put(&subject, &command::FAILED, f64::from(u8::from(program.failed)));
        if let Some(status) = program.status {
            summary.put(&subject, &command::EXIT_STATUS, f64::from(status));
        }
        for (metric, unit, value) in &program.figures {
            summary.put(&subject, Quantity::own(metric, unit), *value);
        }
    }
    let record = RunRecord { summary: summary.finish(), series: series.finish(), counts };
    let duration = ended - Time::ZERO;
    let (status, internet) = (None, None);
    Emulated { record, programs, status, lateness, ingress, limit, treatment, delays, internet, notes, duration }
}
