//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use cellway_lab::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// The longest time without a line while runs of a study finish.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reports the progress of a command's runs.
pub(crate) enum Bar {
    /// A bar that is redrawn in place, and removed at the end.
    Terminal(ProgressBar),
    /// A line for each study that has ended, and at intervals for a long study.
    Lines { begun: Instant, last: Cell<Instant> },
}

impl Bar {
    pub(crate) fn new() -> Bar {
        if !std::io::stderr().is_terminal() {
            let begun = Instant::now();
            return Bar::Lines { begun, last: Cell::new(begun) };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {elapsed} (about {eta} left)  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar::Terminal(bar)
    }

    pub(crate) fn show(&self, progress: Progress<'_>) {
        match self {
            Bar::Terminal(bar) => {
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                if bar.message() != progress.label {
                    bar.set_message(progress.label.to_owned());
                }
            }
            Bar::Lines { begun, last } => {
                let is_due = progress.study[0] > 0 && last.get().elapsed() >= PATIENCE;
                if progress.has_ended() || is_due {
                    output::say(&line(&progress, begun.elapsed()));
                    last.set(Instant::now());
                }
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Bar::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Formats "done: STUDY: Figure 2, 24 runs (60 of 1320 in all, 1 min 05 s)".
fn line(progress: &Progress<'_>, elapsed: Duration) -> String {
    let Progress { label, done, total, study: [finished, runs] } = *progress;
    let count = |n: u64| output::count(n, "run");
    let state = match progress.has_ended() {
        true => format!("done: {label}, {}", count(runs)),
        false => format!("running: {label}, {finished} of {}", count(runs)),
    };
    let all = if total == runs { String::new() } else { format!("{done} of {total} in all, ") };
    let seconds = elapsed.as_secs();
    let time =
        if seconds < 60 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) };
    format!("{state} ({all}{time})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_study_and_all() {
        let progress = Progress { label: "kdd: windows", done: 60, total: 1320, study: [24, 24] };
        let said = line(&progress, Duration::from_secs(65));
        assert_eq!(said, "done: kdd: windows, 24 runs (60 of 1320 in all, 1 min 05 s)");
        let said = line(&Progress { study: [23, 24], ..progress }, Duration::from_secs(9));
        assert_eq!(said, "running: kdd: windows, 23 of 24 runs (60 of 1320 in all, 9 s)");
        let alone = Progress { label: "small", done: 1, total: 1, study: [1, 1] };
        assert_eq!(line(&alone, Duration::from_millis(300)), "done: small, 1 run (0 s)");
    }
}
