//! The clock of benchmarks that run on one thread.

use std::sync::OnceLock;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time of this thread so far, in seconds: programs that run beside it do not count. Under valgrind,
/// where this clock cannot be read, it is the time since the first call.
pub(crate) fn processor_seconds() -> f64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    if std::env::var("LD_PRELOAD").is_ok_and(|loaded| loaded.contains("vgpreload")) {
        return BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64();
    }
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
