//! Runs by number on threads, their results in the order in which they come.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

use crate::error::Error;
use crate::study::PATIENCE;

/// Calls `work` with each of `runs`, on threads, and `take` with each result, on this one. After `stop` has returned true
/// no run is begun, and those at work are handed a flag that is set. Returns true if all runs were taken.
///
/// # Errors
/// The first that `take` returns; the rest is not run.
pub(super) fn each<T: Send>(
    runs: &[u64],
    threads: Option<usize>,
    stop: &mut dyn FnMut() -> bool,
    work: impl Fn(u64, &AtomicBool) -> T + Sync,
    mut take: impl FnMut(u64, T) -> Result<(), Error>,
) -> Result<bool, Error> {
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            let (next, stopped, work, send) = (&next, &stopped, &work, send.clone());
            scope.spawn(move || {
                while !stopped.load(Ordering::Relaxed)
                    && let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                    && send.send((*run, work(*run, stopped))).is_ok()
                {}
            });
        }
        drop(send);
        let mut left = runs.len();
        loop {
            match receive.recv_timeout(PATIENCE) {
                Ok((run, result)) => {
                    left -= 1;
                    if let Err(error) = take(run, result) {
                        stopped.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // At the end, or after a stop; or a thread has panicked, and the scope propagates that.
                Err(RecvTimeoutError::Disconnected) => return Ok(left == 0),
            }
            // Runs that end all the same are taken, too.
            if left > 0 && stop() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    })
}
