//! The terminal of the foreground process group.

use std::fs::File;

use rustix::process::{Pid, Signal, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::raw;

/// The terminal, if this process is in its foreground group. It is restored when dropped: a shell makes a group of its
/// own the foreground, and one that is killed leaves it so.
#[derive(Debug)]
pub(super) struct Terminal {
    terminal: File,
    group: Pid,
}

impl Terminal {
    /// Returns the terminal; `None` without one, or in its background.
    pub(super) fn ours() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let group = getpgrp();
        (tcgetpgrp(&terminal).ok()? == group).then_some(Self { terminal, group })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if tcgetpgrp(&self.terminal) != Ok(self.group) {
            // From the background this call would stop the process with SIGTTOU.
            let _ = raw::holding_back(Signal::TTOU, || tcsetpgrp(&self.terminal, self.group));
        }
    }
}
