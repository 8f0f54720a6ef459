//! The clock of benchmarks that run on one thread.

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time of this thread so far, in seconds: programs that run beside it do not count.
pub(crate) fn processor_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
