//! One connection to a peer, over either transport.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cellway_sys::Interest;
use rustls::pki_types::CertificateDer;

use super::Transport;
use super::dial::ATTEMPT;
use super::handshake_slots::CLIENT_HELLO_TIMEOUT;
use super::identity::Identity;
use super::quic::QuicLink;
use super::tls::TlsLink;
use super::udp::Udp;
use crate::peer_id::PeerId;

/// An event of a connection.
pub(super) enum LinkEvent {
    /// The handshake is complete; these are the verified certificates of the peer.
    Ready(Vec<CertificateDer<'static>>),
    /// The hello of the peer.
    Hello(Vec<u8>),
    /// It has ended, or was never established.
    Lost(Loss),
}

/// The reason for which a gateway ends a connection: the code on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The gateway stops, or has to.
    Stop = 0,
    /// Another connection to the same peer is in use.
    Spare = 1,
    /// The peer is not configured.
    Refusal = 2,
    /// The connection was a trial of QUIC.
    Trial = 3,
    /// Another program takes over, with the state of the flows.
    Upgrade = 4,
}

impl From<u64> for Ending {
    fn from(code: u64) -> Ending {
        match code {
            1 => Ending::Spare,
            2 => Ending::Refusal,
            3 => Ending::Trial,
            4 => Ending::Upgrade,
            _ => Ending::Stop,
        }
    }
}

/// The loss of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// Nothing was received from the peer: another transport may pass.
    pub(super) no_answer: bool,
    /// It was no longer needed; this is no error.
    pub(super) spare: bool,
    /// The peer may have kept the state of the flows, and continue over another connection.
    pub(super) kept: bool,
    /// The peer's certificate was refused here.
    pub(super) refused: bool,
    /// The message, which follows the peer's name.
    pub(crate) why: String,
}

impl Loss {
    pub(super) fn other(why: &str) -> Loss {
        Loss { no_answer: false, spare: false, kept: false, refused: false, why: why.to_owned() }
    }
    /// Creates the loss of a connection that ended without a message of the peer.
    pub(super) fn cut(why: &str) -> Loss {
        Loss { kept: true, ..Loss::other(why) }
    }
    pub(super) fn no_answer() -> Loss {
        Loss { no_answer: true, ..Loss::other("") }
    }
    /// Creates the loss with the reason of the peer, escaped for terminals and logs.
    pub(super) fn reported(ending: Ending, why: &str) -> Loss {
        let why: String = why.chars().filter(|c| !c.is_control()).collect();
        let words = match ending {
            Ending::Refusal => format!("it refuses: {why}"),
            _ => format!("it says: {why}"),
        };
        let spare = matches!(ending, Ending::Spare | Ending::Trial);
        Loss { spare, kept: ending == Ending::Upgrade, ..Loss::other(&words) }
    }
    /// Creates the loss of a connection that TLS refused here, with the message of [`super::identity::tls_message`].
    pub(super) fn refused(cause: &rustls::Error, words: &str) -> Loss {
        match cause {
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                Loss { refused: true, ..Loss::other(&format!("its certificate is refused: {words}")) }
            }
            _ => Loss::other(words),
        }
    }
}

/// The registration of a descriptor for writing, while the kernel has no room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    write: bool,
}

impl Watch {
    /// Returns the interest to register, if it differs from the registered one.
    pub(super) fn change(&mut self, write: bool) -> Option<Interest> {
        let changed = write != std::mem::replace(&mut self.write, write);
        changed.then_some(if write { Interest::Both } else { Interest::Read })
    }
}

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The handshake of TLS.
    Handshake,
    /// The peer is authenticated; its hello is missing.
    Greeting,
    /// Packets are exchanged.
    Up,
    /// Ended here; QUIC still answers late packets for a while.
    Over,
}

/// The most that is delivered in one turn. The last packet may exceed the octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) packets: usize,
    pub(super) octets: usize,
}

impl Share {
    /// All connections together: some milliseconds of work, and the octets that a peer sends in that time at 5 Gbit/s.
    pub(super) const ALL: Share = Share { packets: 2_048, octets: 2 << 20 };
    /// The least for one of many.
    const LEAST: Share = Share { packets: 64, octets: 64 << 10 };

    /// Divides it among `connections`.
    pub(super) fn among(self, connections: usize) -> Share {
        let connections = connections.max(1);
        Share {
            packets: (self.packets / connections).max(Share::LEAST.packets),
            octets: (self.octets / connections).max(Share::LEAST.octets),
        }
    }
}

/// One connection.
pub(super) struct Link {
    /// The peer that was dialled; none if the other side dialled.
    pub(super) dialled: Option<PeerId>,
    /// The peer, once it is authenticated.
    pub(super) peer: Option<PeerId>,
    pub(super) stage: Stage,
    /// Set if it is a trial of QUIC.
    pub(super) trial: bool,
    /// Set if packets are left that the next turn delivers.
    pub(super) more: bool,
    pub(super) began: Instant,
    /// The address at its beginning.
    pub(super) address: SocketAddr,
    pub(super) wire: Wire,
}

/// The transport of a connection.
pub(super) enum Wire {
    Quic(Box<QuicLink>),
    Tls(Box<TlsLink>),
}

impl Link {
    pub(super) fn new(dialled: Option<PeerId>, address: SocketAddr, wire: Wire, now: Instant) -> Link {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        Link { dialled, peer: dialled, stage: Stage::Handshake, trial: false, more: false, began: now, address, wire }
    }
    /// Returns true for an incoming connection over TCP without a ClientHello yet.
    pub(super) fn lacks_client_hello(&self) -> bool {
        let Wire::Tls(tls) = &self.wire else { return false };
        self.dialled.is_none() && self.stage == Stage::Handshake && !tls.has_spoken()
    }
    /// Returns the deadline for it to be up.
    pub(super) fn give_up_at(&self) -> Option<Instant> {
        let patience = if self.lacks_client_hello() { CLIENT_HELLO_TIMEOUT } else { ATTEMPT };
        matches!(self.stage, Stage::Handshake | Stage::Greeting).then(|| self.began + patience)
    }
    /// Returns the time of the last bytes from the peer over TLS. A connection over QUIC that is cut has just had a packet.
    pub(super) fn last_received(&self) -> Option<Instant> {
        if let Wire::Tls(tls) = &self.wire { Some(tls.last_received()) } else { None }
    }
    /// Returns the connection over TLS, if it is one.
    pub(super) fn tls(&mut self) -> Option<&mut TlsLink> {
        if let Wire::Tls(tls) = &mut self.wire { Some(tls) } else { None }
    }
    pub(super) fn transport(&self) -> Transport {
        match self.wire {
            Wire::Quic(_) => Transport::Quic,
            Wire::Tls(_) => Transport::Tls,
        }
    }
    /// Returns the current address of the peer.
    pub(super) fn remote(&self) -> SocketAddr {
        match &self.wire {
            Wire::Quic(quic) => quic.remote(),
            Wire::Tls(_) => self.address,
        }
    }
    /// Reads what has arrived, runs timers that are due, and appends events to `out`.
    pub(super) fn turn(
        &mut self,
        sockets: &mut [Udp],
        identity: &Identity,
        share: Share,
        now: Instant,
        out: &mut VecDeque<LinkEvent>,
    ) {
        match &mut self.wire {
            Wire::Quic(quic) => {
                quic.turn(now);
                if let Some(udp) = sockets.get_mut(quic.socket) {
                    quic.collect(udp, identity, out);
                }
            }
            Wire::Tls(tls) => tls.turn(identity.authority(), share, now, out),
        }
    }
    /// Returns the packets of one turn, in order of arrival.
    pub(super) fn packets(&mut self, share: Share) -> Vec<Bytes> {
        let (mut packets, mut octets) = (Vec::new(), 0);
        while let Some(packet) = self.packet() {
            octets += packet.len();
            packets.push(packet);
            if packets.len() >= share.packets || octets >= share.octets {
                self.more = true;
                break;
            }
        }
        packets
    }
    /// Returns the next packet.
    fn packet(&mut self) -> Option<Bytes> {
        match &mut self.wire {
            Wire::Quic(quic) => quic.packet(),
            Wire::Tls(tls) => tls.packet(),
        }
    }
    pub(super) fn send_hello(&mut self, octets: Vec<u8>) {
        match &mut self.wire {
            Wire::Quic(quic) => quic.send_hello(&octets),
            Wire::Tls(tls) => tls.send(octets.into()),
        }
    }
    pub(super) fn send(&mut self, packet: Bytes) {
        match &mut self.wire {
            Wire::Quic(quic) => quic.send(packet),
            Wire::Tls(tls) => tls.send(packet),
        }
    }
    /// Passes queued octets to the kernel, as many as it accepts.
    pub(super) fn flush(&mut self, sockets: &mut [Udp], now: Instant) {
        match &mut self.wire {
            Wire::Quic(quic) => {
                if let Some(udp) = sockets.get_mut(quic.socket) {
                    quic.flush(udp, now);
                }
            }
            Wire::Tls(tls) => tls.flush(now),
        }
    }
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        match &mut self.wire {
            Wire::Quic(quic) => quic.deadline(),
            Wire::Tls(tls) => tls.deadline(),
        }
    }
    /// Returns the error with which the kernel refused to send, if it did.
    pub(super) fn unsent(&self) -> Option<&std::io::Error> {
        match &self.wire {
            Wire::Quic(quic) => quic.refused.as_ref(),
            Wire::Tls(_) => None,
        }
    }
    /// Returns the most octets of a packet.
    pub(super) fn payload(&mut self) -> usize {
        match &mut self.wire {
            Wire::Quic(quic) => quic.payload(),
            Wire::Tls(_) => TlsLink::PAYLOAD,
        }
    }
    pub(super) fn octets(&mut self) -> u64 {
        match &mut self.wire {
            Wire::Quic(quic) => quic.octets(),
            Wire::Tls(tls) => tls.octets(),
        }
    }
    pub(super) fn backlog(&self) -> usize {
        match &self.wire {
            Wire::Quic(quic) => quic.backlog(),
            Wire::Tls(tls) => tls.backlog(),
        }
    }
    pub(super) fn rtt(&self) -> Option<Duration> {
        match &self.wire {
            Wire::Quic(quic) => Some(quic.rtt()),
            Wire::Tls(tls) => tls.rtt(),
        }
    }
    /// Ends it with a reason for the peer.
    pub(super) fn close(&mut self, sockets: &mut [Udp], now: Instant, ending: Ending, why: &str) {
        if self.stage != Stage::Over {
            self.end(sockets, now, ending, why);
        }
    }
    /// Ends a connection that has already failed.
    pub(super) fn end(&mut self, sockets: &mut [Udp], now: Instant, ending: Ending, why: &str) {
        self.stage = Stage::Over;
        match &mut self.wire {
            Wire::Quic(quic) => quic.close(now, ending, why),
            Wire::Tls(tls) => tls.close(ending, why),
        }
        self.flush(sockets, now);
    }
    /// Returns true if it has no state left.
    pub(super) fn is_over(&self) -> bool {
        match &self.wire {
            Wire::Quic(quic) => quic.is_over(),
            Wire::Tls(_) => self.stage == Stage::Over,
        }
    }
}

/// Returns as much of the text as fits into a reason.
pub(super) fn cut(text: &str) -> &str {
    const MOST: usize = 512;
    let end = (0..=text.len().min(MOST)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::super::hello::{Epoch, Hello, NoHello, Shared, VERSION};
    use super::*;

    #[test]
    fn both_gateways_log_a_refusal_with_the_same_names() {
        // `far` has received the hello of `near`, whose version is 2.
        let mut octets = Hello { epoch: Epoch::default(), name: "near".into(), shared: Shared::Nothing }.encode();
        octets[1] = 2;
        let here = Hello::decode(&octets).unwrap_err().message("far", "near");
        let there = Loss::reported(Ending::Refusal, &here).why;
        let text = format!("near has version 2 of the protocol between gateways, and far has version {VERSION}");
        assert_eq!((&here, there), (&text, format!("it refuses: {text}")));
        for error in [NoHello::Garbled, NoHello::Name("other".into())] {
            let message = error.message("far", "near");
            assert!(message.contains("near") && !message.starts_with("it "), "{message}");
        }
    }
}
