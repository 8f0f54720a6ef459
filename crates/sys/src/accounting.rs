//! Processor time that a thread was denied: time in which it was ready to run but did not run (`run delay`), and time
//! that a hypervisor gave to other machines (`steal`). Kernel documentation: `scheduler/sched-stats.rst`,
//! `proc_stat(5)`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Units of `/proc/stat` in a second: `USER_HZ`, which is 100 on every architecture that Linux supports.
const USER_HZ: u64 = 100;

/// The run delay of the thread that opened this. Any thread may read it.
#[derive(Debug)]
pub struct RunDelay {
    file: File,
}

impl RunDelay {
    /// Opens the run delay of the calling thread; `None` if the kernel does not count it (`CONFIG_SCHED_INFO`).
    #[must_use]
    pub fn of_this_thread() -> Option<Self> {
        let this = Self { file: File::open("/proc/thread-self/schedstat").ok()? };
        // Without the option the file has zeros, even for the time on a processor.
        let (on_processor, _) = this.parse()?;
        (on_processor > 0).then_some(this)
    }

    /// Returns the run delay since the thread was started.
    #[must_use]
    pub fn read(&self) -> Option<Duration> {
        self.parse().map(|(_, delay)| Duration::from_nanos(delay))
    }

    /// Returns the nanoseconds on a processor, and those of waiting for one.
    fn parse(&self) -> Option<(u64, u64)> {
        let mut text = [0; 80];
        let octets = self.file.read_at(&mut text, 0).ok()?;
        let mut numbers = std::str::from_utf8(&text[..octets]).ok()?.split_ascii_whitespace();
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// Time that a hypervisor took from all processors of this machine together, to 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stolen(Duration);

impl Stolen {
    /// Returns the time since the machine was started; `None` without `/proc`.
    #[must_use]
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // user nice system idle iowait irq softirq steal
        let ticks = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().nth(7)?;
        Some(Self(Duration::from_millis(ticks.parse::<u64>().ok()? * 1000 / USER_HZ)))
    }

    /// Returns the time taken since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_shares_its_processor_has_waited_for_it() {
        let Some(before) = RunDelay::of_this_thread().and_then(|delay| delay.read()) else {
            return crate::skipped::skip("this kernel does not count the run delay of threads");
        };
        // More threads than processors, because all are pinned to one.
        let mut one = rustix::thread::CpuSet::new();
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        one.set((0..rustix::thread::CpuSet::MAX_CPU).find(|&n| all.is_set(n)).unwrap());
        let work = || {
            rustix::thread::sched_setaffinity(None, &one).unwrap();
            let delay = RunDelay::of_this_thread().unwrap();
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_millis(100) {
                std::hint::spin_loop();
            }
            delay.read().unwrap()
        };
        let waited: Vec<Duration> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(waited.iter().any(|&waited| waited > Duration::from_millis(10)), "{waited:?}");
        assert!(RunDelay::of_this_thread().unwrap().read().unwrap() >= before);
    }

    #[test]
    fn steal_is_the_eighth_field() {
        let text = "cpu  180352 13833 29530 31383 995 0 350 812 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let stolen = Stolen::parse(text).unwrap();
        assert_eq!(stolen, Stolen(Duration::from_millis(8120)));
        assert_eq!(Stolen(Duration::from_millis(8200)).since(stolen), Duration::from_millis(80));
        assert_eq!(Stolen::parse("intr 1 2 3"), None);
        assert!(Stolen::now().is_some());
    }
}
