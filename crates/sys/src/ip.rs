//! The program `ip` of iproute2: the most reliable way to configure devices.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::tool::{find_program, missing};

/// An error of `ip`.
#[derive(Debug)]
pub(super) enum Refusal {
    /// This line was refused; those before it are executed.
    Line { line: String, message: String },
    /// It could not be started.
    Start(io::Error),
}

/// Passes `lines` to `ip -batch -`, in the namespace of the calling thread.
pub(super) fn batch(lines: &str) -> Result<(), Refusal> {
    let program = find_program("ip").ok_or_else(|| Refusal::Start(missing("ip")))?;
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Refusal::Start)?;
    if let Some(mut input) = child.stdin.take() {
        // It stops reading at the first refused line, which it reports below.
        let _ = input.write_all(lines.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    let output = child.wait_with_output().map_err(Refusal::Start)?;
    if output.status.success() {
        return Ok(());
    }
    let (line, message) = refused(lines, &String::from_utf8_lossy(&output.stderr));
    Err(Refusal::Line { line, message })
}

/// Returns the refused line and the message. `ip` ends its message with "Command failed -:N", N counted from 1.
fn refused(lines: &str, complaint: &str) -> (String, String) {
    let number =
        complaint.lines().find_map(|line| line.trim().strip_prefix("Command failed -:")?.parse::<usize>().ok());
    let line = number.and_then(|number| lines.lines().nth(number.checked_sub(1)?)).unwrap_or("-batch -");
    let message: Vec<&str> =
        complaint.lines().map(str::trim).filter(|line| !line.starts_with("Command failed")).collect();
    (line.trim().to_owned(), message.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refused_line_is_named() {
        let lines = "link set dev lo up\n route add 10.0.0.0/8 via nowhere\n";
        let (line, message) = refused(lines, "Error: inet address is expected.\nCommand failed -:2\n");
        assert_eq!(line, "route add 10.0.0.0/8 via nowhere");
        assert_eq!(message, "Error: inet address is expected.");
        assert_eq!(refused(lines, "odd\n"), ("-batch -".into(), "odd".into()));
        assert_eq!(refused(lines, "Command failed -:0").0, "-batch -");
    }
}
