//! Programs of the system that configure the network, run in the network namespace of the calling thread.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the path of a program. The PATH of an ordinary user often lacks `sbin`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs `ip` or `nft` with `input`, and returns its output.
///
/// # Errors
/// The program is missing, or its message if it fails.
pub fn run_tool(program: &str, arguments: &[&str], input: &str) -> io::Result<String> {
    let path = find_program(program).ok_or_else(|| missing(program))?;
    let mut child = Command::new(path)
        .args(arguments)
        .env("LC_ALL", "C")
        // A signal to our process group, as from a terminal, must not stop it half-way.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it exits before it has read all input the reason is reported below.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(io::Error::other(said.join("; ")))
}

/// Returns the error of a missing program.
pub(super) fn missing(program: &str) -> io::Error {
    let package = if program == "nft" { "nftables" } else { "iproute2" };
    let hint = format!("the program `{program}` is missing: install the package {package}");
    io::Error::new(io::ErrorKind::NotFound, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_failed_program_is_reported() {
        let error = run_tool("cat", &["/no/such/file"], "").unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
        assert_eq!(run_tool("cat", &[], "text").unwrap(), "text");
        let error = run_tool("no-such-program", &[], "").unwrap_err().to_string();
        assert!(error.contains("install"), "{error}");
    }
}
