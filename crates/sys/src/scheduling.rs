//! The scheduling of the thread that drives a run.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

use super::raw;

/// The share of a processor that `SCHED_DEADLINE` reserves: 0.9 ms of each millisecond. Other threads get the rest, and
/// the time in which this thread sleeps. The kernel admits reservations of up to 95 % of all processors.
const RUNTIME_NS: u64 = 900_000;
const PERIOD_NS: u64 = 1_000_000;

/// Settings for a thread with precise deadlines. Each helps, and none is required.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scheduling {
    /// Precedence over all ordinary threads, by the processor time that the thread needs.
    pub before_others: Option<Demand>,
    /// The CPU to run on. `SCHED_DEADLINE` is not requested then: the kernel grants it only to threads that may use
    /// every CPU.
    pub cpu: Option<usize>,
}

/// The part of a processor that a thread may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// At most nine tenths of a millisecond: `SCHED_DEADLINE`, else `SCHED_FIFO` of the lowest priority.
    Part,
    /// All of it for milliseconds: `SCHED_FIFO`. `SCHED_DEADLINE` stops such a thread each time its share is used up,
    /// even on an idle processor.
    Whole,
}

/// The scheduling policy of a thread (`sched(7)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_DEADLINE`: a reserved share of each millisecond.
    Deadline,
    /// `SCHED_FIFO`: before ordinary threads. Kernels since 6.12 may take up to 50 ms of a second from it for those
    /// (the fair server); earlier ones may stop it for 50 ms of a second (`sched_rt_runtime_us`).
    Fifo,
    /// The default policy.
    #[default]
    Ordinary,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Deadline => "SCHED_DEADLINE",
            Self::Fifo => "SCHED_FIFO",
            Self::Ordinary => "SCHED_OTHER",
        })
    }
}

/// The calling thread as driver, until dropped: then it is an ordinary one again. Timer slack is 1 ns meanwhile (50 µs
/// is the default), so that a wait ends on time.
///
/// A thread under `SCHED_DEADLINE` must not call `sched_yield`: that yields the rest of its millisecond.
#[derive(Debug)]
pub struct DriverThread {
    policy: Policy,
    /// The errors of better policies that were refused, in the order of the attempts.
    refused: Vec<String>,
    pinned: Result<(), String>,
    slack: Option<u64>,
    before: Option<raw::Policy>,
    cpus: Option<CpuSet>,
    /// The settings are those of a thread, so the guard must not be sent to another.
    _here: std::marker::PhantomData<*const ()>,
}

impl DriverThread {
    /// Prepares the calling thread.
    #[must_use]
    pub fn prepare(wanted: Scheduling) -> Self {
        let slack = current_timer_slack().ok();
        // Refused by no kernel since 2.6.28; a wait then ends up to 50 µs late, which the run measures.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut this = Self {
            policy: Policy::Ordinary,
            refused: Vec::new(),
            pinned: Err("not asked for".into()),
            slack,
            before: None,
            cpus: None,
            _here: std::marker::PhantomData,
        };
        if let Some(cpu) = wanted.cpu {
            this.pinned = this.pin(cpu);
        }
        if let Some(demand) = wanted.before_others {
            if demand == Demand::Part && this.cpus.is_none() {
                this.take(Policy::Deadline, || raw::deadline(RUNTIME_NS, PERIOD_NS));
            }
            if this.before.is_none() {
                this.take(Policy::Fifo, || raw::real_time(1));
            }
        }
        this
    }

    fn take(&mut self, policy: Policy, set: impl FnOnce() -> io::Result<raw::Policy>) {
        match set() {
            Ok(before) => {
                self.policy = policy;
                self.before = Some(before);
            }
            Err(e) => self.refused.push(format!("{policy}: {}", reason(policy, &e))),
        }
    }

    /// Returns the policy that it has.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the reasons for which it has no better policy, one line for each that was refused.
    #[must_use]
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    fn pin(&mut self, cpu: usize) -> Result<(), String> {
        let before = sched_getaffinity(None).map_err(|e| e.to_string())?;
        if cpu >= CpuSet::MAX_CPU || !before.is_set(cpu) {
            let usable: Vec<String> =
                (0..CpuSet::MAX_CPU).filter(|&n| before.is_set(n)).map(|n| n.to_string()).collect();
            return Err(format!("CPU {cpu} cannot be used by this process; {} can", usable.join(", ")));
        }
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).map_err(|e| format!("CPU {cpu}: {e}"))?;
        self.cpus = Some(before);
        Ok(())
    }

    /// Returns the reason for which it is not pinned to its CPU, if it is not.
    ///
    /// # Errors
    /// The reason as a message.
    pub fn pinned(&self) -> Result<(), &str> {
        self.pinned.as_ref().copied().map_err(String::as_str)
    }
}

impl Drop for DriverThread {
    fn drop(&mut self) {
        // Each restores the earlier state of the thread, which the kernel permits to any user.
        if let Some(before) = self.before.take() {
            let _ = raw::set_policy(&before);
        }
        if let Some(cpus) = self.cpus.take() {
            let _ = sched_setaffinity(None, &cpus);
        }
        if let Some(slack) = self.slack {
            let _ = set_current_timer_slack(NonZeroU64::new(slack));
        }
    }
}

fn reason(policy: Policy, e: &io::Error) -> String {
    match (policy, e.raw_os_error()) {
        (Policy::Deadline, Some(libc::EBUSY)) => {
            "the kernel has promised too much of the processors to others already".into()
        }
        (Policy::Deadline, Some(libc::EPERM)) => {
            "not permitted: needs CAP_SYS_NICE, which a user namespace does not give, and the use of every CPU".into()
        }
        (Policy::Deadline, Some(libc::EINVAL | libc::ENOSYS)) => "this kernel does not have it".into(),
        (_, Some(libc::EPERM)) => {
            "not permitted: needs CAP_SYS_NICE or a limit `rtprio` of 1 or more (ulimit -r)".into()
        }
        _ => e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_restores_the_earlier_scheduling() {
        let slack = current_timer_slack().unwrap();
        let cpus = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|&n| cpus.is_set(n)).unwrap();
        let driver = DriverThread::prepare(Scheduling { before_others: Some(Demand::Part), cpu: Some(cpu) });
        // Real-time threads have none at all since Linux 6.12.
        assert!(current_timer_slack().unwrap() <= 1);
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        assert_eq!(driver.pinned(), Ok(()));
        assert_eq!(raw::policy_number() == libc::SCHED_FIFO, driver.policy() == Policy::Fifo);
        assert_ne!(driver.policy(), Policy::Deadline, "it is not given to a thread that is tied to a CPU");
        drop(driver);
        assert_eq!(current_timer_slack().unwrap(), slack);
        assert_eq!(sched_getaffinity(None).unwrap(), cpus);
        assert_eq!(raw::policy_number(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_missing_cpu_is_refused_with_a_message() {
        let driver = DriverThread::prepare(Scheduling { before_others: None, cpu: Some(1023) });
        assert!(driver.pinned().unwrap_err().contains("1023"));
        assert_eq!((driver.policy(), driver.refused()), (Policy::Ordinary, &[][..]));
    }

    #[test]
    fn a_deadline_policy_is_used_if_granted_and_refusals_are_reported() {
        let driver = DriverThread::prepare(Scheduling { before_others: Some(Demand::Part), cpu: None });
        let (number, refused) = match driver.policy() {
            Policy::Deadline => (libc::SCHED_DEADLINE, 0),
            Policy::Fifo => (libc::SCHED_FIFO, 1),
            Policy::Ordinary => (libc::SCHED_OTHER, 2),
        };
        assert_eq!((raw::policy_number(), driver.refused().len()), (number, refused), "{:?}", driver.refused());
        assert!(driver.refused().iter().all(|why| why.starts_with("SCHED_") && why.contains(": ")));
        // The threads and programs that it starts have the ordinary policy.
        assert_eq!(std::thread::spawn(raw::policy_number).join().unwrap(), libc::SCHED_OTHER);
        assert!(std::process::Command::new("true").status().unwrap().success());
        drop(driver);
        assert_eq!(raw::policy_number(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_thread_that_may_need_a_whole_processor_is_never_stopped_for_having_used_its_part() {
        let driver = DriverThread::prepare(Scheduling { before_others: Some(Demand::Whole), cpu: None });
        assert_ne!(driver.policy(), Policy::Deadline, "{:?}", driver.refused());
        assert_eq!(driver.policy() == Policy::Fifo, driver.refused().is_empty(), "{:?}", driver.refused());
    }

    /// A thread that never sleeps leaves a tenth of its processor to others.
    #[test]
    fn a_spinning_thread_leaves_a_tenth_to_others() {
        use std::sync::atomic::{AtomicBool, Ordering};

        let (stop, started) = (AtomicBool::new(false), AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().unwrap().get();
        std::thread::scope(|scope| {
            for _ in 0..cpus {
                scope.spawn(|| {
                    let _driver = DriverThread::prepare(Scheduling { before_others: Some(Demand::Part), cpu: None });
                    started.store(true, Ordering::Relaxed);
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            while !started.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            // This ends only if ordinary threads get processor time.
            let mut sum = 0_u64;
            (0..10_000_000_u64).for_each(|n| sum = std::hint::black_box(sum.wrapping_mul(31) + n));
            stop.store(true, Ordering::Relaxed);
        });
    }
}
