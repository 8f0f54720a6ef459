//! Local networks of veth devices ([`Lan::Veth`](crate::path::Lan)): the emulator carries the packets of the line only.

use std::io::Write as _;
use std::process::{Command, Stdio};

use cellway_emu::Hosts;

/// The hosts and their gateways.
const LANS: [[&str; 2]; 2] = [["client", "g1"], ["server", "g2"]];
/// The name of both devices of a local network.
const DEVICE: &str = "lan";

/// Joins each host to its gateway. Addresses do not change.
///
/// # Errors
///
/// The message of `ip`, which has refused a command.
pub(crate) fn join(hosts: &Hosts) -> Result<(), String> {
    for [host, gateway] in LANS {
        let [own, via] =
            [host, gateway].map(|name| hosts.address(name).expect("the scenario of the bench has this host"));
        let thread = hosts.run(gateway, || rustix::thread::gettid().as_raw_nonzero());
        let thread = thread.expect("the scenario of the bench has this host");
        let link =
            format!("link add {DEVICE} type veth peer name {DEVICE} netns {thread}\nlink set {DEVICE} mtu 1500 up\n");
        configure(hosts, host, link)?;
        configure(hosts, gateway, format!("link set {DEVICE} mtu 1500 up\nroute replace {own}/32 dev {DEVICE}\n"))?;
        configure(hosts, host, format!("route replace default via {via} dev {DEVICE} onlink\n"))?;
    }
    Ok(())
}

/// Gives `lines` to `ip -batch -` in a host.
fn configure(hosts: &Hosts, host: &str, lines: String) -> Result<(), String> {
    let run = move || {
        let mut ip = Command::new("ip");
        ip.args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut ip = ip.spawn()?;
        ip.stdin.take().expect("it was started with a pipe").write_all(lines.as_bytes())?;
        ip.wait_with_output()
    };
    let done = hosts.run(host, run).expect("the scenario of the bench has this host");
    let output = done.map_err(|e: std::io::Error| format!("ip: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip in {host}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
