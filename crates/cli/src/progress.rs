//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::cell::Cell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use cellway_lab::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output;

/// The longest time without a line while runs of a study finish.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reports the progress of a command's runs.
pub(crate) enum Bar {
    /// A bar that is redrawn in place, and removed at the end.
    Terminal(ProgressBar),
    /// A line for each study that has ended, and at intervals for a long study; with details, for each finished run.
    Lines { begun: Instant, last: Cell<Instant> },
    /// Nothing: the command is quiet.
    None,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        if output::is_quiet() {
            return Bar::None;
        }
        // Lines stay, and a bar does not.
        if !std::io::stderr().is_terminal() || output::is_verbose() {
            let begun = Instant::now();
            return Bar::Lines { begun, last: Cell::new(begun) };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} runs  {elapsed}{left}  {wide_msg}");
        let style = style.expect("the template is well formed").with_key(
            "left",
            |state: &ProgressState, to: &mut dyn Write| {
                let _ = to.write_str(&left([state.pos(), state.len().unwrap_or_default()], state.elapsed()));
            },
        );
        bar.set_style(style);
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
                let patience = if output::is_verbose() { Duration::ZERO } else { PATIENCE };
                let is_due = progress.study[0] > 0 && last.get().elapsed() >= patience;
                if progress.has_ended() || is_due {
                    output::say(&line(&progress, begun.elapsed()));
                    last.set(Instant::now());
                }
            }
            Bar::None => {}
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

/// Formats the time that is left, from the mean of the finished runs: " (about 2 min left)". Empty before one has finished.
fn left([done, total]: [u64; 2], elapsed: Duration) -> String {
    if done == 0 || done >= total {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
    match seconds {
        s if s < 60.0 => format!(" (about {:.0} s left)", s.max(1.0)),
        s if s < 3600.0 => format!(" (about {:.0} min left)", s / 60.0),
        s => format!(" (about {:.1} h left)", s / 3600.0),
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
    fn the_time_left_is_known_after_the_first_run() {
        let after = |done, seconds| left([done, 20], Duration::from_secs(seconds));
        assert_eq!([after(0, 300), after(20, 300)], ["", ""]);
        assert_eq!(after(1, 1), " (about 19 s left)");
        assert_eq!(after(19, 1), " (about 1 s left)");
        assert_eq!(after(5, 60), " (about 3 min left)");
        assert_eq!(after(2, 1200), " (about 3.0 h left)");
    }

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
