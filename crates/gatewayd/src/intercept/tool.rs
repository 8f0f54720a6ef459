//! Runs `ip` and `nft`, which are the stable interfaces to the kernel.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Returns the option of `ip`.
    pub(super) const fn option(self) -> &'static str {
        match self {
            Family::V4 => "-4",
            Family::V6 => "-6",
        }
    }
}

/// Returns true if this machine has IPv6 and has not disabled it.
pub(super) fn has_ipv6() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv6/conf/all/disable_ipv6").is_ok_and(|text| text.trim() == "0")
}

/// Returns the versions of IP that this machine has.
pub(super) fn families() -> &'static [Family] {
    if has_ipv6() { &[Family::V4, Family::V6] } else { &[Family::V4] }
}

/// Returns the path of a program. The PATH of an ordinary user often lacks `sbin`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Runs `ip` for one version of IP.
pub(super) fn ip(family: Family, arguments: &[&str]) -> Result<(), Error> {
    let mut all = vec![family.option()];
    all.extend(arguments);
    run("ip", &all, "")
}

/// Runs `ip` for one version of IP, and returns its output.
pub(super) fn ip_prints(family: Family, arguments: &[&str]) -> Result<String, Error> {
    let mut all = vec![family.option()];
    all.extend(arguments);
    output("ip", &all, "")
}

/// Passes `script` to `nft -f -`: all of it is executed or nothing.
pub(super) fn nft(script: &str) -> Result<(), Error> {
    run("nft", &["-f", "-"], script)
}

/// Runs `nft`, and returns its output.
pub(super) fn nft_prints(arguments: &[&str]) -> Result<String, Error> {
    output("nft", arguments, "")
}

/// Checks that the kernel accepts `script`; nothing is changed.
pub(super) fn nft_would(script: &str) -> Result<(), Error> {
    run("nft", &["-c", "-f", "-"], script)
}

/// Returns true if a table, named with its family, has this chain.
pub(super) fn nft_has_chain(table: &str, chain: &str) -> bool {
    nft(&format!("list chain {table} {chain}\n")).is_ok()
}

/// Runs a program in the network namespace of the calling thread.
fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), Error> {
    output(program, arguments, input).map(drop)
}

/// Like [`run`], and returns the output of the program.
fn output(program: &str, arguments: &[&str], input: &str) -> Result<String, Error> {
    let what = || format!("`{program} {}`", arguments.join(" "));
    let path = find(program).ok_or_else(|| missing(program))?;
    let attempt = || -> io::Result<String> {
        let mut child = Command::new(Path::new(&path))
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
    };
    attempt().map_err(|source| Error::Io { what: what(), source })
}

fn missing(program: &str) -> Error {
    let package = if program == "nft" { "nftables" } else { "iproute2" };
    let hint = format!("the program is missing: install the package {package}");
    Error::Io { what: format!("`{program}`"), source: io::Error::new(io::ErrorKind::NotFound, hint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_failed_program_is_reported() {
        let error = run("cat", &["/no/such/file"], "").unwrap_err().to_string();
        assert!(error.starts_with("`cat /no/such/file`: ") && error.contains("No such file"), "{error}");
        run("cat", &[], "text").unwrap();
        let error = run("no-such-program", &[], "").unwrap_err().to_string();
        assert!(error.contains("install"), "{error}");
    }
}
