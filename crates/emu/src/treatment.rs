//! How the kernel and the hypervisor treated the thread that drives a run: what a reader of a late run asks first.

use std::fmt;

use cellway_record::Row;
use cellway_units::Span;

use crate::lateness::SUBJECT;
use crate::sys::{DriverThread, Policy, RunDelay, Stolen};

/// The scheduling of the driving thread, and what it did not get of its processors.
#[derive(Clone, Debug, Default)]
pub struct Treatment {
    /// Its scheduling policy.
    pub policy: Policy,
    /// Why it has no better one, in words.
    pub refused: Vec<String>,
    /// Time in which it was ready to run and did not; none where the kernel does not count it.
    pub run_delay: Option<Span>,
    /// Time that a hypervisor took from all processors of the machine, to 10 ms; none where nobody says.
    pub steal: Option<Span>,
}

impl Treatment {
    /// The figures of the tables.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |metric, unit, value| Row { subject: SUBJECT.into(), metric, unit, t: None, value };
        let flag = |is: bool| f64::from(u8::from(is));
        let mut rows = vec![
            row("real_time", "1", flag(self.policy != Policy::Ordinary)),
            row("deadline", "1", flag(self.policy == Policy::Deadline)),
        ];
        rows.extend(self.run_delay.map(|span| row("run_delay", "s", span.as_secs_f64())));
        rows.extend(self.steal.map(|span| row("steal", "s", span.as_secs_f64())));
        rows
    }
}

/// "SCHED_FIFO (SCHED_DEADLINE: ...), waited 1.2 ms for a processor, 10 ms stolen by the hypervisor".
impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.policy)?;
        if !self.refused.is_empty() {
            write!(f, " ({})", self.refused.join("; "))?;
        }
        if let Some(delay) = self.run_delay {
            write!(f, ", waited {:.1} ms for a processor", delay.as_millis_f64())?;
        }
        if let Some(steal) = self.steal {
            write!(f, ", {:.0} ms stolen by the hypervisor", steal.as_millis_f64())?;
        }
        Ok(())
    }
}

/// A thread while it drives.
#[derive(Debug)]
pub(crate) struct Observed {
    policy: Policy,
    refused: Vec<String>,
    delay: Option<(RunDelay, std::time::Duration)>,
    stolen: Option<Stolen>,
}

impl Observed {
    /// Begins to count for the present thread.
    pub(crate) fn begin(thread: &DriverThread) -> Observed {
        let delay = RunDelay::of_this_thread();
        Observed {
            policy: thread.policy(),
            refused: thread.refused().to_vec(),
            delay: delay.and_then(|delay| delay.read().map(|before| (delay, before))),
            stolen: Stolen::now(),
        }
    }

    /// Time since the beginning in which the thread was ready to run and did not.
    pub(crate) fn run_delay(&self) -> Option<Span> {
        let (delay, before) = self.delay.as_ref()?;
        Some(span(delay.read()?.saturating_sub(*before)))
    }

    /// What was counted since the beginning.
    pub(crate) fn end(self) -> Treatment {
        Treatment {
            run_delay: self.run_delay(),
            steal: self.stolen.zip(Stolen::now()).map(|(before, now)| span(now.since(before))),
            policy: self.policy,
            refused: self.refused,
        }
    }
}

fn span(duration: std::time::Duration) -> Span {
    Span::from_ns(duration.as_nanos() as u64)
}
