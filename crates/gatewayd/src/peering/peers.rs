//! The other gateways: dialling them, knowing them, keeping one connection to each.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use tracing::{debug, info};

use super::dial::{self, Dial};
use super::hello::{Hello, NoHello};
use super::identity::{is_of, names_of};
use super::link::{Ending, Link, Loss, Occurrence, Stage, Wire};
use super::sockets::octets_per_second;
use super::{PeerEvent, Peering, Transport, settings};
use crate::config::{self, Config, TransportChoice};

/// Another gateway.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) outage: Duration,
    pub(super) transport: TransportChoice,
    /// The connection in use.
    pub(super) current: Option<u64>,
    /// Instance and session of its hello on that.
    theirs: (u64, u64),
    /// Connections lost.
    session: u64,
    payload: usize,
    /// Why it is down, as told last.
    why: String,
    /// What was tried in vain last; while TLS is used, what came of QUIC.
    pub(super) tried: String,
    /// Octets sent on connections that are no more.
    pub(super) past_octets: u64,
    pub(super) dial: Dial,
}

impl Peer {
    fn new(own: &str, peer: &config::Peer, now: Instant) -> Peer {
        // FNV-1a (Fowler, Noll and Vo) of both names: other pauses at each end.
        let octets = own.bytes().chain([0]).chain(peer.name.bytes());
        let seed = octets
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3));
        Peer {
            name: peer.name.clone(),
            outage: Duration::from_secs_f64(peer.outage.as_secs_f64()),
            transport: peer.transport,
            current: None,
            theirs: (0, 0),
            session: 0,
            payload: 0,
            why: String::new(),
            tried: String::new(),
            past_octets: 0,
            dial: Dial::new(peer.address.clone(), seed, now),
        }
    }
}

fn over(transport: Transport) -> &'static str {
    match transport {
        Transport::Quic => "QUIC",
        Transport::Tls => "TLS over TCP",
    }
}

impl Peering {
    /// Takes the peers as the configuration has them now.
    pub(super) fn adopt(&mut self, config: &Config, now: Instant) {
        for (number, new) in config.peers.iter().enumerate() {
            let fresh = Peer::new(&self.name, new, now);
            match self.peers.get_mut(number) {
                Some(peer) => {
                    peer.outage = fresh.outage;
                    peer.transport = fresh.transport;
                    if peer.dial.address != fresh.dial.address {
                        peer.dial.address = fresh.dial.address;
                        peer.dial.next = now;
                    }
                }
                None => self.peers.push(fresh),
            }
        }
        // One socket serves all peers that dial, and those that are dialled from the same address.
        self.line = config.peers.iter().map(|peer| octets_per_second(peer.rate)).sum();
        let line = self.line;
        self.sockets.iter_mut().for_each(|udp| udp.set_buffers(line));
        let server = settings::server(&self.identity, self.longest_outage(), None);
        if self.listen.is_some()
            && let Some(udp) = self.sockets.first_mut()
        {
            udp.endpoint.set_server_config(server);
        }
    }

    /// Lets one connection do what is due, and does what follows.
    pub(super) fn turn_link(&mut self, number: u64, now: Instant) {
        let Some(mut link) = self.links.remove(&number) else { return };
        let mut told = VecDeque::new();
        link.turn(&mut self.sockets, &self.identity, now, &mut told);
        for occurrence in told {
            match occurrence {
                Occurrence::Ready(chain) => self.ready(&mut link, &chain, now),
                Occurrence::Hello(octets) => self.hello(number, &mut link, &octets, now),
                Occurrence::Lost(loss) => self.lost(number, &mut link, &loss, now),
            }
        }
        let waits = matches!(link.stage, Stage::Handshake | Stage::Greeting);
        if waits && now >= link.began + dial::ATTEMPT {
            self.lost(number, &mut link, &Loss::silent(), now);
            link.end(&mut self.sockets, now, Ending::Stop, "no hello came in time");
        }
        if let (Stage::Up, Some(peer)) = (link.stage, link.peer) {
            while let Some(packet) = link.packet() {
                self.events.push_back(PeerEvent::Packet { peer, packet });
            }
            let payload = link.payload();
            if payload != self.peers[peer].payload {
                self.peers[peer].payload = payload;
                self.events.push_back(PeerEvent::Payload { peer, payload });
            }
        }
        if !link.is_over() {
            self.links.insert(number, link);
            return;
        }
        if let Some(peer) = link.peer.and_then(|peer| self.peers.get_mut(peer)) {
            peer.past_octets += link.octets();
        }
        if let Wire::Quic(quic) = &link.wire {
            self.routes.remove(&(quic.socket, quic.handle));
        }
    }

    /// Of the two, the gateway whose name comes first decides which connection is used.
    fn decides(&self, peer: usize) -> bool {
        self.name < self.peers[peer].name
    }

    fn say_hello(&mut self, link: &mut Link, peer: usize) {
        let hello = Hello { instance: self.instance, session: self.peers[peer].session, name: self.name.clone() };
        link.send_hello(hello.encode());
    }

    /// The handshake is done: who is it?
    fn ready(&mut self, link: &mut Link, chain: &[CertificateDer<'static>], now: Instant) {
        let Some(certificate) = chain.first() else { return };
        let known = || self.peers.iter().position(|peer| is_of(certificate, &peer.name));
        let Some(peer) = link.dialed.or_else(known) else {
            let names = names_of(certificate);
            info!("{} dialled with a certificate of {names}: no peer has that name", link.address);
            let why = format!("no peer there is called {names}, the name in our certificate");
            link.close(&mut self.sockets, now, Ending::Refusal, &why);
            return;
        };
        if link.trial {
            let of = &mut self.peers[peer];
            of.tried = format!("QUIC to {} gets through; TLS is kept until it ends", link.address);
            of.dial.tried(now);
            link.close(&mut self.sockets, now, Ending::Trial, "");
            return;
        }
        link.peer = Some(peer);
        link.stage = Stage::Greeting;
        if let Wire::Tls(tls) = &mut link.wire {
            tls.set_outage(self.peers[peer].outage);
        }
        if !self.decides(peer) {
            self.say_hello(link, peer);
        }
    }

    /// The peer has verified us too.
    fn hello(&mut self, number: u64, link: &mut Link, octets: &[u8], now: Instant) {
        let (Stage::Greeting, Some(peer)) = (link.stage, link.peer) else { return };
        let name = &self.peers[peer].name;
        let hello = Hello::decode(octets)
            .and_then(|hello| if hello.name == *name { Ok(hello) } else { Err(NoHello::Name(hello.name)) });
        let hello = match hello {
            Ok(hello) => hello,
            Err(error) => {
                let why = error.message(&self.name, name);
                link.close(&mut self.sockets, now, Ending::Refusal, &why);
                self.attempt_failed(link, &why, false);
                return;
            }
        };
        let theirs = (hello.instance, hello.session);
        if let Some(old) = self.peers[peer].current {
            if self.decides(peer) && theirs == self.peers[peer].theirs {
                debug!("{}: a second connection is spare", self.peers[peer].name);
                link.close(&mut self.sockets, now, Ending::Spare, "");
                return;
            }
            if let Some(old) = self.links.get_mut(&old) {
                old.close(&mut self.sockets, now, Ending::Spare, "");
            }
            self.down(peer, "it began another connection", now);
        }
        if self.decides(peer) {
            self.say_hello(link, peer);
        }
        link.stage = Stage::Up;
        let unsent = self.unsent(peer).map(ToString::to_string);
        for other in self.links.values_mut().filter(|other| other.peer == Some(peer)) {
            other.close(&mut self.sockets, now, Ending::Spare, "");
        }
        let (dialer, transport, payload, address) =
            (link.dialed.is_some(), link.transport(), link.payload(), link.remote());
        let of = &mut self.peers[peer];
        of.current = Some(number);
        of.theirs = theirs;
        of.payload = payload;
        of.why.clear();
        of.tried.clear();
        if dialer && transport == Transport::Tls && of.transport == TransportChoice::Auto {
            let failures = of.dial.round.as_ref().map(|round| round.failures.join("; ")).unwrap_or_default();
            let why = match unsent {
                _ if !failures.is_empty() => failures,
                Some(error) => format!("QUIC to {address}: sending failed: {error}"),
                None => format!("QUIC to {address}: no answer"),
            };
            of.tried = format!("{why}; TLS is used");
        }
        of.dial.reached(now);
        self.events.push_back(PeerEvent::Up { peer, dialer, transport, payload, address });
    }

    /// A connection has ended, or an attempt at one.
    fn lost(&mut self, number: u64, link: &mut Link, loss: &Loss, now: Instant) {
        if link.stage == Stage::Over {
            return;
        }
        let was_up = link.stage == Stage::Up;
        link.stage = Stage::Over;
        let current = link.peer.filter(|&peer| self.peers[peer].current == Some(number));
        if let Some(peer) = current {
            let why = if loss.silent {
                format!("nothing was heard of it for {} s", self.peers[peer].outage.as_secs_f64())
            } else if loss.spare {
                "it began another connection".to_owned()
            } else {
                loss.why.clone()
            };
            self.down(peer, &why, now);
        } else if let (true, Some(peer)) = (link.trial, link.dialed) {
            let of = &mut self.peers[peer];
            let why = if loss.silent { "no answer" } else { &loss.why };
            of.tried = format!("QUIC to {}: {why}; TLS is used", link.address);
            of.dial.tried(now);
        } else if !was_up && !loss.spare {
            let why = match link.unsent() {
                Some(error) if loss.silent => format!("no answer, and sending failed: {error}"),
                None if loss.silent => "no answer".to_owned(),
                _ => loss.why.clone(),
            };
            self.attempt_failed(link, &why, loss.silent);
            if let (true, None) = (loss.refused, link.dialed) {
                let names = self.identity.refused_names();
                if let Some(peer) = self.peers.iter().position(|peer| names.contains(&peer.name)) {
                    self.still_down(peer, &format!("it dialled from {}, and {why}", link.address));
                }
            }
        }
    }

    /// What was wrong with one connection before it was up.
    fn attempt_failed(&mut self, link: &Link, why: &str, silent: bool) {
        let transport = link.transport();
        let Some(peer) = link.dialed else {
            info!("a gateway dialled from {} over {}, and failed: {why}", link.address, over(transport));
            if let Some(peer) = link.peer {
                self.still_down(peer, why);
            }
            return;
        };
        let of = &mut self.peers[peer];
        of.tried = format!("{} to {}: {why}", over(transport), link.address);
        if let Some(round) = &mut of.dial.round {
            round.failures.push(of.tried.clone());
            if transport == Transport::Quic {
                // Where something answers, UDP gets through, and TLS would fail for the same reason.
                round.tls_at = round.tls_at.filter(|_| silent).map(|_| link.began);
            }
        }
    }

    pub(super) fn down(&mut self, peer: usize, why: &str, now: Instant) {
        let of = &mut self.peers[peer];
        of.current = None;
        of.session += 1;
        of.tried.clear();
        why.clone_into(&mut of.why);
        of.dial.lost(now);
        self.events.push_back(PeerEvent::Down { peer, why: why.to_owned() });
    }

    /// Tells why a peer is down, if that is another reason than the last one.
    pub(super) fn still_down(&mut self, peer: usize, why: &str) {
        let of = &mut self.peers[peer];
        if of.current.is_none() && of.why != why {
            why.clone_into(&mut of.why);
            self.events.push_back(PeerEvent::Down { peer, why: why.to_owned() });
        }
    }
}
