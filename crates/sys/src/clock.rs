//! The real-time clock of a run.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns `CLOCK_MONOTONIC` in nanoseconds: the clock of all deadlines here.
#[must_use]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel's monotonic clock is never negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Sleeps until `deadline`, in nanoseconds of [`now_ns`], or until a signal.
pub fn sleep_until(deadline: u64) {
    let at = Timespec { tv_sec: (deadline / 1_000_000_000) as i64, tv_nsec: (deadline % 1_000_000_000) as _ };
    // A signal ends the sleep early, which callers allow for.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_go_back() {
        let times: Vec<u64> = (0..1000).map(|_| now_ns()).collect();
        assert!(times.is_sorted());
        assert!(times[999] > times[0]);
    }
}
