//! How the kernel treats the thread that drives a run.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

use super::raw;

/// What the driver would like; all of it helps punctuality and none of it is needed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scheduling {
    /// Go before all ordinary threads (`SCHED_FIFO`, lowest priority).
    pub real_time: bool,
    /// Stay on this CPU.
    pub cpu: Option<usize>,
}

/// The present thread as driver, until dropped: then it is an ordinary one again. Timer slack is 1 ns
/// meanwhile (50 µs is the default), so a wait ends when it should.
#[derive(Debug)]
pub struct DriverThread {
    real_time: Result<(), String>,
    pinned: Result<(), String>,
    slack: Option<u64>,
    policy: Option<raw::Policy>,
    cpus: Option<CpuSet>,
    /// The settings are those of a thread, so the guard must not travel.
    _here: std::marker::PhantomData<*const ()>,
}

impl DriverThread {
    /// Prepares the present thread.
    #[must_use]
    pub fn prepare(wanted: Scheduling) -> Self {
        let slack = current_timer_slack().ok();
        // Refused by no kernel since 2.6.28; a wait then ends up to 50 µs late, which the run measures.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut this = Self {
            real_time: Err("not asked for".into()),
            pinned: Err("not asked for".into()),
            slack,
            policy: None,
            cpus: None,
            _here: std::marker::PhantomData,
        };
        if wanted.real_time {
            this.real_time = match raw::real_time(1) {
                Ok(before) => {
                    this.policy = Some(before);
                    Ok(())
                }
                Err(e) => Err(refused_real_time(&e)),
            };
        }
        if let Some(cpu) = wanted.cpu {
            this.pinned = this.pin(cpu);
        }
        this
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

    /// Whether it has real-time scheduling, or why not.
    ///
    /// # Errors
    /// In words, for a report.
    pub fn real_time(&self) -> Result<(), &str> {
        self.real_time.as_ref().copied().map_err(String::as_str)
    }

    /// Whether it stays on its CPU, or why not.
    ///
    /// # Errors
    /// In words, for a report.
    pub fn pinned(&self) -> Result<(), &str> {
        self.pinned.as_ref().copied().map_err(String::as_str)
    }
}

impl Drop for DriverThread {
    fn drop(&mut self) {
        // Each gives back what the thread had, which the kernel allows to anyone.
        if let Some(policy) = self.policy.take() {
            let _ = raw::set_policy(&policy);
        }
        if let Some(cpus) = self.cpus.take() {
            let _ = sched_setaffinity(None, &cpus);
        }
        if let Some(slack) = self.slack {
            let _ = set_current_timer_slack(NonZeroU64::new(slack));
        }
    }
}

fn refused_real_time(e: &io::Error) -> String {
    if e.kind() == io::ErrorKind::PermissionDenied {
        "not permitted: needs CAP_SYS_NICE or a limit `rtprio` of 1 or more (ulimit -r)".into()
    } else {
        e.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_gives_back_what_it_took() {
        let slack = current_timer_slack().unwrap();
        let cpus = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|&n| cpus.is_set(n)).unwrap();
        let driver = DriverThread::prepare(Scheduling { real_time: true, cpu: Some(cpu) });
        // Real-time threads have none at all since Linux 6.12.
        assert!(current_timer_slack().unwrap() <= 1);
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        assert_eq!(driver.pinned(), Ok(()));
        assert_eq!(raw::is_real_time(), driver.real_time().is_ok());
        drop(driver);
        assert_eq!(current_timer_slack().unwrap(), slack);
        assert_eq!(sched_getaffinity(None).unwrap(), cpus);
        assert!(!raw::is_real_time());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_in_words() {
        let driver = DriverThread::prepare(Scheduling { real_time: false, cpu: Some(1023) });
        assert!(driver.pinned().unwrap_err().contains("1023"));
        assert_eq!(driver.real_time(), Err("not asked for"));
    }
}
