//! Progress of reading large files on standard error: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// The time before the first sign of progress.
const FIRST: Duration = Duration::from_secs(2);
/// The longest time without a line.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reports how much of the files has been read.
pub(crate) struct Reading {
    begun: Instant,
    last: Instant,
    bar: Option<ProgressBar>,
}

impl Reading {
    pub(crate) fn new() -> Reading {
        let now = Instant::now();
        Reading { begun: now, last: now, bar: None }
    }

    /// Shows that `done` of `total` octets have been read.
    pub(crate) fn show(&mut self, done: u64, total: u64) {
        let elapsed = self.begun.elapsed();
        if output::is_quiet() || elapsed < FIRST || total == 0 {
            return;
        }
        if std::io::stderr().is_terminal() && !output::is_verbose() {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
                let style = ProgressStyle::with_template("{bar:20} {bytes}/{total_bytes}  {elapsed}  {eta} left");
                bar.with_style(style.expect("the template is well formed")).with_elapsed(elapsed)
            });
            bar.set_length(total);
            bar.set_position(done);
        } else if self.last.elapsed() >= PATIENCE {
            self.last = Instant::now();
            let share = 100.0 * done as f64 / total as f64;
            let (done, total) = (output::size(done), output::size(total));
            output::say(&format!("read {done} of {total} ({share:.0} %, {} s)", elapsed.as_secs()));
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
