//! A bar on standard error, where a person sees it.

use std::time::Duration;

use cellway_lab::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar that appears only on a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {elapsed} (about {eta} left)  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar }
    }

    pub(crate) fn show(&self, progress: Progress<'_>) {
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.done);
        if self.bar.message() != progress.label {
            self.bar.set_message(progress.label.to_owned());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
