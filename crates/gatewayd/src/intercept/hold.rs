//! The TUN device on which SYNs wait.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use cellway_gateway::Reason;
use cellway_sys::{Namespace, Tun, TunConfig};
use serde::{Deserialize, Serialize};

use super::answer::{About, Answers};
use super::fragments::{Fragments, Whole};
use super::packet::{Kind, disown, kind};
use super::rules;
use super::tool::{self, Family};
use crate::config::Intercept;
use crate::error::Error;

/// The largest MTU: a packet that arrived in one piece is not fragmented.
const MTU: u32 = 65_535;
/// SYNs that the kernel queues while the data thread is busy.
const QUEUE: u32 = 4_096;
/// The IPv4 dummy address (RFC 7600, section 4.8; RFC 8190): of no network, and by its scope never a source.
const DUMMY: &str = "192.0.0.8/32";

/// A SYN. It may arrive several times: a client retransmits a SYN without an answer after a second (RFC 6298, section
/// 2.1), with the same sequence number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Syn {
    /// The client.
    pub(crate) client: SocketAddr,
    /// The server.
    pub(crate) server: SocketAddr,
    /// The initial sequence number, the same in each retransmission.
    sequence: u32,
    /// The number that acknowledges all of it.
    // The layout of a handover has this name.
    #[serde(rename = "acknowledgment")]
    pub(super) acknowledgement: u32,
    /// With the header of the TUN device.
    packet: Vec<u8>,
    /// The fragments in which it arrived, if any.
    pieces: Vec<Vec<u8>>,
}

impl Syn {
    /// Returns the client, the server and the initial sequence number, which are the same in each retransmission.
    pub(crate) fn key(&self) -> (SocketAddr, SocketAddr, u32) {
        (self.client, self.server, self.sequence)
    }
}

#[cfg(test)]
impl Syn {
    /// Creates one without a packet, for tests without a TUN device.
    pub(crate) fn between(client: SocketAddr, server: SocketAddr) -> Syn {
        Syn { client, server, sequence: 0, acknowledgement: 0, packet: Vec::new(), pieces: Vec::new() }
    }
}

/// The TUN device on which SYNs wait. The kernel removes it, and the route to it, when this is dropped or the process
/// dies: then SYNs pass this machine as they pass a router.
#[derive(Debug)]
pub(crate) struct Hold {
    tun: Tun,
    answers: Answers,
    fragments: Fragments,
    buffer: Vec<u8>,
}

impl Hold {
    /// Makes the device in the network namespace of the calling thread, with the route to it in its table.
    pub(crate) fn open(intercept: &Intercept) -> Result<Hold, Error> {
        let what = |what: &str| format!("{what} of the device `{}`", intercept.device);
        let other = |e| Error::Io { what: what("making"), source: io::Error::other(e) };
        let here = Namespace::here().map_err(other)?;
        let config = TunConfig::new(&intercept.device, MTU).queue_length(QUEUE).offload(false);
        let tun = Tun::open(&here, &config).map_err(other)?;
        // A packet that is written back has a client's source address, and the route to that address uses another
        // device: a strict check of the reverse path (rp_filter=1, RFC 3704) would drop it. A loose one does not, if
        // the device has an address. The larger of this setting and `all` counts.
        tool::ip(Family::V4, &["addr", "add", DUMMY, "dev", &intercept.device, "scope", "host"])?;
        let (all, own) = (reverse_path("all"), reverse_path(&intercept.device));
        if all.max(own) == 1 {
            std::fs::write(reverse_path_of(&intercept.device), "2")
                .map_err(|source| Error::Io { what: what("setting rp_filter=2 (it is 1)"), source })?;
        }
        rules::lead_to_device(intercept)?;
        Hold::with(tun)
    }
    /// Continues a device of [`Hold::into_fd`].
    pub(crate) fn resume(intercept: &Intercept, device: OwnedFd) -> Result<Hold, Error> {
        Hold::with(Tun::from_fd(device, &intercept.device, MTU))
    }
    fn with(tun: Tun) -> Result<Hold, Error> {
        let answers = Answers::open()
            .map_err(|source| Error::Io { what: "a raw socket (CAP_NET_RAW) for refusals".into(), source })?;
        Ok(Hold { tun, answers, fragments: Fragments::default(), buffer: vec![0; Tun::LARGEST] })
    }
    /// Returns the device: it stays as long as the descriptor is open, with the SYNs that wait.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.tun.into_fd()
    }

    /// Returns the next SYN that waits, if there is one.
    pub(crate) fn next(&mut self) -> io::Result<Option<Syn>> {
        while let Some(octets) = self.tun.read(&mut self.buffer)? {
            let packet = &mut self.buffer[..octets];
            let Some(ip) = packet.get_mut(Tun::HEADER..) else { continue };
            match kind(ip) {
                Kind::Syn { client, server, sequence, acknowledgement } => {
                    let packet = packet.to_vec();
                    let pieces = Vec::new();
                    return Ok(Some(Syn { client, server, sequence, acknowledgement, packet, pieces }));
                }
                Kind::Other => {
                    let Some(Whole { packet: whole, pieces }) = self.fragments.add(ip) else { continue };
                    if let Kind::Syn { client, server, sequence, acknowledgement } = kind(&whole) {
                        let packet = [&[0; Tun::HEADER][..], &whole].concat();
                        return Ok(Some(Syn { client, server, sequence, acknowledgement, packet, pieces }));
                    }
                }
                // A neighbour did not answer. The kernel notifies the sender of the packet, which by its address is the
                // client. Written back, the ICMP error is delivered to the socket that sent the packet, or forwarded to
                // the client if no socket here has sent it.
                Kind::Unreachable if disown(ip) => {
                    self.tun.write(packet)?;
                }
                Kind::Unreachable => {}
            }
        }
        Ok(None)
    }

    /// Lets the kernel answer it: the connection will arrive at [`super::Listeners`]. Harmless if repeated.
    pub(crate) fn release(&mut self, syn: &Syn) -> io::Result<()> {
        // If the device has no room the SYN is lost, as in networks: the client retransmits it.
        self.tun.write(&syn.packet).map(drop)
    }

    /// Forwards it to its server, as a router would.
    pub(crate) fn pass(&self, syn: &Syn) -> io::Result<()> {
        if syn.pieces.is_empty() {
            return self.answers.pass(&syn.packet[Tun::HEADER..], syn.server.ip());
        }
        // A raw socket does not fragment a packet that includes its IP header (raw(7)).
        syn.pieces.iter().try_for_each(|piece| self.answers.pass(piece, syn.server.ip()))
    }
    /// Answers it as it would have been answered without a gateway.
    pub(crate) fn refuse(&mut self, syn: &Syn, reason: Reason) -> io::Result<()> {
        let Syn { client, server, acknowledgement, ref packet, .. } = *syn;
        let packet = &packet[Tun::HEADER..];
        self.answers.send(&About { client, server, acknowledgement, packet }, reason)
    }
}

impl AsFd for Hold {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

fn reverse_path_of(device: &str) -> String {
    format!("/proc/sys/net/ipv4/conf/{device}/rp_filter")
}

fn reverse_path(device: &str) -> u8 {
    let text = std::fs::read_to_string(Path::new(&reverse_path_of(device))).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}
