//! Work that is done when this process has ended, however it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::leftovers::{NAMESPACE, OWNER};

/// The time that the work may take before a drop stops waiting for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The beginning of each script. Standard input is a pipe that this process holds: the kernel closes it when the process
/// ends. The signals of a terminal or a service manager to everything that was started must not end the script first.
const WAIT: &str = "trap '' HUP INT TERM QUIT\ncat > /dev/null\n";

/// A script of `sh` that starts when this value is dropped, or when this process ends without doing so, as by SIGKILL.
/// Only a SIGKILL to the process of the script itself prevents it.
#[derive(Debug)]
pub struct AtEnd {
    shell: Child,
}

impl AtEnd {
    /// Prepares `script`, with `arguments` as `$1` and so on, in the namespaces of the calling thread.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn new(script: &str, arguments: &[String]) -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", &format!("{WAIT}{script}"), "cellway"])
            .args(arguments)
            .env("LC_ALL", "C")
            // The mark of an outer run: its end would end this process.
            .env_remove(OWNER)
            .env_remove(NAMESPACE)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.shell.stdin = None;
        let start = Instant::now();
        while matches!(self.shell.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_runs_at_the_end_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let end = AtEnd::new("echo done > \"$1\"", &[file.to_str().unwrap().to_owned()]).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(!file.exists());
        drop(end);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "done\n");
    }
}
