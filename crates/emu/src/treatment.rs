//! The processor time that the kernel and the hypervisor withheld from the thread that drives a run: the first suspects
//! when a run is late.

use std::fmt;
use std::sync::Arc;

use cellway_record::Rows;
use cellway_record::metric::emulation;
use cellway_units::Span;

use crate::sys::{DriverThread, Policy, RunDelay, Stolen};

/// The scheduling policy of the driving thread, and the processor time that it was denied.
#[derive(Clone, Debug, Default)]
pub struct Treatment {
    /// Its scheduling policy.
    pub policy: Policy,
    /// The reasons for which it has no better policy, one for each refused policy.
    pub refused: Vec<String>,
    /// Time in which it was ready to run but did not run; `None` if the kernel does not count it.
    pub run_delay: Option<Span>,
    /// Time that a hypervisor took from all processors of the host, to 10 ms; `None` if the kernel does not report it.
    pub steal: Option<Span>,
}

impl Treatment {
    /// Adds the figures to the rows of `subject`.
    pub(crate) fn report(&self, subject: &Arc<str>, rows: &mut Rows) {
        let flag = |is: bool| f64::from(u8::from(is));
        rows.put(subject, &emulation::REAL_TIME, flag(self.policy != Policy::Ordinary));
        rows.put(subject, &emulation::DEADLINE, flag(self.policy == Policy::Deadline));
        for (metric, span) in [(&emulation::RUN_DELAY, self.run_delay), (&emulation::STEAL, self.steal)] {
            if let Some(span) = span {
                rows.put(subject, metric, span.as_secs_f64());
            }
        }
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

/// The counters of a driving thread at the start of a run.
#[derive(Debug)]
pub(crate) struct Observed {
    policy: Policy,
    refused: Vec<String>,
    delay: Option<(RunDelay, std::time::Duration)>,
    stolen: Option<Stolen>,
}

impl Observed {
    /// Reads the counters of the present thread.
    pub(crate) fn begin(thread: &DriverThread) -> Observed {
        let delay = RunDelay::of_this_thread();
        Observed {
            policy: thread.policy(),
            refused: thread.refused().to_vec(),
            delay: delay.and_then(|delay| delay.read().map(|before| (delay, before))),
            stolen: Stolen::now(),
        }
    }

    /// Returns the time since the start in which the thread was ready to run but did not run.
    pub(crate) fn run_delay(&self) -> Option<Span> {
        let (delay, before) = self.delay.as_ref()?;
        Some(span(delay.read()?.saturating_sub(*before)))
    }

    /// Returns the figures since the start.
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
