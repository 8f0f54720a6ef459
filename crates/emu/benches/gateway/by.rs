//! The carriers of the bytes of a transfer, and their setup.

use std::time::Duration;

use crate::bulk::Direction;
use crate::daemons::{Pair, Rate};
use crate::net::{Net, Running};
use crate::path::Path;
use crate::streams::{SINK, SOURCE};

/// The carrier of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The kernel with a window of 64 KB.
    Small,
    /// The kernel with buffers of four times bandwidth times delay.
    Cubic,
    Bbr,
    Kcptun,
    /// The gateways, over QUIC.
    Here(Rate),
    /// The same, answering connections before the server does.
    Early,
    /// The gateways, in TLS over TCP.
    Tls,
}

impl By {
    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Small => "kernel-64KB",
            By::Cubic => "cubic",
            By::Bbr => "bbr",
            By::Kcptun => "kcptun",
            By::Here(Rate::Given) => "given",
            By::Here(Rate::Auto) => "auto",
            By::Early => "early",
            By::Tls => "tls",
        }
    }
    /// Returns the configuration of the pair, if the carrier is one.
    pub(crate) fn pair(self, path: &Path, window: Option<f64>) -> Option<Pair> {
        let rate = match self {
            By::Here(rate) => rate,
            By::Early | By::Tls => Rate::Given,
            By::Small | By::Cubic | By::Bbr | By::Kcptun => return None,
        };
        Some(Pair {
            early: self == By::Early,
            transport: if self == By::Tls { "tls" } else { "quic" },
            rate,
            window: window.map(|window| (window * path.bdp() as f64) as u64),
            ..Pair::given(path)
        })
    }
    /// Returns the reason why it cannot be measured on this computer, if any.
    pub(crate) fn missing(self) -> Option<&'static str> {
        let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let controls = controls.unwrap_or_default();
        let knows = |control| controls.split_whitespace().any(|one| one == control);
        let has = |program| cellway_emu::sys::find_program(program).is_some();
        match self {
            By::Cubic if !knows("cubic") => Some("the kernel has no cubic"),
            By::Bbr if !knows("bbr") => Some("the kernel has no bbr"),
            By::Kcptun if !(has("kcptun-client") && has("kcptun-server")) => Some("kcptun is not installed"),
            _ => None,
        }
    }
    /// Settings of the hosts' kernels, as commands of a shell before another.
    pub(crate) fn settings(self, path: &Path) -> String {
        let most = match self {
            // Half of a receive buffer is window (ip-sysctl.rst, tcp_adv_win_scale).
            By::Small => 2 * 65_536,
            By::Cubic | By::Bbr => 4 * path.bdp(),
            By::Kcptun | By::Here(_) | By::Early | By::Tls => return String::new(),
        };
        let set = |key| format!("echo 4096 {most} {most} > /proc/sys/net/ipv4/{key} && ");
        set("tcp_rmem") + &set("tcp_wmem")
    }
    /// Returns the congestion control of the senders. Not the kernel's default: if that is bbr, a single host sends
    /// four packets a round trip for 200 ms every 10 s, as long as it takes to read them.
    pub(crate) fn control(self) -> &'static str {
        if matches!(self, By::Bbr) { "bbr" } else { "cubic" }
    }
}

/// The port of the near end of kcptun.
pub(crate) const NEAR: u16 = 12_948;
/// Within this time both ends of kcptun are ready.
const READY: Duration = Duration::from_millis(500);

/// Starts the two ends of kcptun, near and far, for transfers in one direction. Tuned as its users do for a link of a
/// known rate: windows of its bandwidth-delay product, no redundancy, no compression, encrypted.
pub(crate) fn kcptun(net: &dyn Net, path: &Path, direction: Direction) -> Result<[Running; 2], String> {
    let bdp = path.bdp();
    let window = (bdp * 11 / 10 / 1444).to_string();
    let buffer = (4 * bdp).max(4 << 20).to_string();
    let port = if direction == Direction::Down { SOURCE } else { SINK };
    let (target, near, far) =
        (format!("127.0.0.1:{port}"), format!("127.0.0.1:{NEAR}"), format!("{}:29900", net.address("server")));
    let start = |machine, ends: [&str; 5]| {
        let mut words = ends.to_vec();
        words.extend(["--mode", "fast3", "--mtu", "1472", "--ds", "0", "--ps", "0", "--crypt", "aes-128", "--nocomp"]);
        words.extend(["--sndwnd", &window, "--rcvwnd", &window, "--sockbuf", &buffer]);
        words.extend(["--smuxver", "2", "--smuxbuf", &buffer, "--streambuf", &buffer, "--quiet", "--log", "/dev/null"]);
        Running::start(net, machine, &words)
    };
    let far_end = start("server", ["kcptun-server", "-l", ":29900", "-t", &target])?;
    let near_end = start("client", ["kcptun-client", "-l", &near, "-r", &far])?;
    std::thread::sleep(READY);
    Ok([near_end, far_end])
}
