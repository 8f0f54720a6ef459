//! Runs `ip` and `nft`, which are the stable interfaces to the kernel.

use cellway_sys::run_tool;

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
    run_tool(program, arguments, input).map_err(|source| Error::Io { what: what(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_failed_program_is_reported() {
        let error = run("cat", &["/no/such/file"], "").unwrap_err().to_string();
        assert!(error.starts_with("`cat /no/such/file`: ") && error.contains("No such file"), "{error}");
    }
}
