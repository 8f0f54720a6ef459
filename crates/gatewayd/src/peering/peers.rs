//! The other gateways: dialling, authentication, and one connection to each.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;
use tracing::debug;

use super::attachment::{Attachment, Greeting, View};
use super::connection_limit::{ConnectionLimit, GREETING};
use super::dial::Dial;
use super::handshake_slots::CLIENT_HELLO_TIMEOUT;
use super::hello::{Epoch, Hello, NoHello, Shared};
use super::identity::{is_of, names_of};
use super::link::{Ending, Link, LinkEvent, Loss, Stage, Wire};
use super::sockets::octets_per_second;
use super::unreachable::UnreachableLog;
use super::{PeerEvent, Peering, Transport, settings};
use crate::config::{self, Config, TransportChoice};
use crate::peer_id::PeerId;

/// Another gateway.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) outage: Duration,
    pub(super) transport: TransportChoice,
    pub(super) attachment: Attachment,
    /// The time at which it was last up.
    since: Instant,
    /// The epoch in its last hello.
    pub(super) theirs: Epoch,
    /// The number of times that the state of the flows was lost.
    pub(super) session: u64,
    payload: usize,
    /// The reason for which it is down, as reported last.
    pub(super) why: String,
    /// The last failed attempts; while TLS is used, the result of trying QUIC.
    pub(super) tried: String,
    /// Octets sent on connections that have ended.
    pub(super) past_octets: u64,
    pub(super) dial: Dial,
    pub(super) connection_limit: ConnectionLimit,
    pub(super) unreached: UnreachableLog,
    /// The addresses at which it was verified recently, the latest one at the end.
    seen: Vec<(IpAddr, Instant)>,
}

/// Most addresses of a peer that are remembered, and the time for which they are: handshakes from there have slots of
/// their own.
const SEEN: usize = 4;
const REMEMBERED: Duration = Duration::from_secs(86_400);

impl Peer {
    fn new(own: &str, peer: &config::Peer, now: Instant) -> Peer {
        // FNV-1a (Fowler, Noll and Vo) of both names: the pauses differ at each end.
        let octets = own.bytes().chain([0]).chain(peer.name.bytes());
        let seed = octets
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3));
        Peer {
            name: peer.name.clone(),
            outage: Duration::from_secs_f64(peer.outage.as_secs_f64()),
            transport: peer.transport,
            attachment: Attachment::Down,
            since: now,
            theirs: Epoch::default(),
            session: 0,
            payload: 0,
            why: String::new(),
            tried: String::new(),
            past_octets: 0,
            dial: Dial::new(peer.address.clone(), seed, now),
            connection_limit: ConnectionLimit::default(),
            unreached: UnreachableLog::default(),
            seen: Vec::new(),
        }
    }

    /// Returns true if the peer is expected to dial from `address`.
    pub(super) fn is_at(&self, address: IpAddr, now: Instant) -> bool {
        let lately = |&(seen, at): &(IpAddr, Instant)| seen == address && now < at + REMEMBERED;
        self.dial.means(address) || self.seen.iter().any(lately)
    }

    pub(super) fn saw(&mut self, address: IpAddr, now: Instant) {
        let address = address.to_canonical();
        self.seen.retain(|(seen, _)| *seen != address);
        if self.seen.len() == SEEN {
            self.seen.remove(0);
        }
        self.seen.push((address, now));
    }
}

impl Peering {
    /// Applies the peers of the current configuration.
    pub(super) fn adopt(&mut self, config: &Config, now: Instant) {
        for (place, new) in config.peers.iter().enumerate() {
            let fresh = Peer::new(&self.name, new, now);
            match self.peers.get_mut(PeerId::at(place)) {
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
        let buffer = settings::buffer(self.line);
        self.sockets.iter_mut().for_each(|udp| udp.set_buffers(buffer));
        let server = settings::server(&self.identity, self.longest_outage(), buffer, None);
        if self.listen.is_some()
            && let Some(udp) = self.sockets.first_mut()
        {
            udp.endpoint.set_server_config(server);
        }
    }

    /// Processes the timers and the events of one connection.
    pub(super) fn turn_link(&mut self, number: u64, now: Instant) {
        let Some(mut link) = self.links.remove(&number) else { return };
        let mut told = VecDeque::new();
        link.turn(&mut self.sockets, &self.identity, self.share, now, &mut told);
        for occurrence in told {
            match occurrence {
                LinkEvent::Ready(chain) => self.ready(&mut link, &chain, now),
                LinkEvent::Hello(octets) => self.hello(number, &mut link, &octets, now),
                LinkEvent::Lost(loss) => self.lost(number, &mut link, &loss, now),
            }
        }
        if link.give_up_at().is_some_and(|at| at <= now) {
            let loss = match link.lacks_client_hello() {
                true => Loss::other(&format!("it sent no ClientHello for {} s", CLIENT_HELLO_TIMEOUT.as_secs())),
                false => Loss::no_answer(),
            };
            self.lost(number, &mut link, &loss, now);
            link.end(&mut self.sockets, now, Ending::Stop, "no hello arrived in time");
        }
        link.more = false;
        if let (Stage::Up, Some(peer)) = (link.stage, link.peer) {
            self.events.extend(link.packets(self.share).into_iter().map(|packet| PeerEvent::Packet { peer, packet }));
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

    /// Returns true if this gateway decides which connection is used: the one whose name is first.
    fn decides(&self, peer: PeerId) -> bool {
        self.name < self.peers[peer].name
    }

    /// Returns the view of the state shared with a peer, for a hello over `link`.
    fn view(&self, peer: PeerId, link: &Link) -> View {
        let Peer { attachment, since, theirs, session, .. } = self.peers[peer];
        let mine = Epoch { instance: self.instance, session };
        View { attachment, mine, theirs, decides: self.decides(peer), simultaneous: link.began <= since }
    }

    fn say_hello(&mut self, link: &mut Link, peer: PeerId, shared: Shared) {
        let hello = Hello { epoch: self.view(peer, link).mine, name: self.name.clone(), shared };
        link.send_hello(hello.encode());
    }

    /// Identifies the peer after the handshake.
    fn ready(&mut self, link: &mut Link, chain: &[CertificateDer<'static>], now: Instant) {
        // Its slot may just have been given to another connection.
        if link.stage != Stage::Handshake {
            return;
        }
        let Some(certificate) = chain.first() else { return };
        let known = || self.peers.find(|peer| is_of(certificate, &peer.name));
        let Some(peer) = link.dialled.or_else(known) else {
            let names = names_of(certificate);
            let seen_here = format!("its certificate is of {names}: no peer has that name");
            self.reject("failed");
            self.log_failure(link.address, "", &seen_here, now);
            let why = format!("no peer there is called {names}, the name in our certificate");
            link.close(&mut self.sockets, now, Ending::Refusal, &why);
            return;
        };
        if link.trial {
            let of = &mut self.peers[peer];
            of.tried = format!("QUIC to {} works; TLS is used until it ends", link.address);
            of.dial.tried(now);
            link.close(&mut self.sockets, now, Ending::Trial, "");
            return;
        }
        if link.dialled.is_none() && !self.may_enter(link, peer, now) {
            return;
        }
        link.peer = Some(peer);
        link.stage = Stage::Greeting;
        if let Wire::Tls(tls) = &mut link.wire {
            tls.set_outage(self.peers[peer].outage);
        }
        let View { attachment, theirs, decides, .. } = self.view(peer, link);
        if !decides {
            self.say_hello(link, peer, attachment.shared(theirs));
        }
    }

    /// Bounds the connections that a verified peer opens here. Returns false if this one was ended.
    fn may_enter(&mut self, link: &mut Link, peer: PeerId, now: Instant) -> bool {
        if !self.peers[peer].connection_limit.may_enter(now) {
            let why = format!("{} opens connections too often", self.peers[peer].name);
            self.log_failure(link.address, "", &why, now);
            link.close(&mut self.sockets, now, Ending::Stop, &why);
            return false;
        }
        let greets =
            |link: &&mut Link| link.peer == Some(peer) && link.dialled.is_none() && link.stage == Stage::Greeting;
        let greeting = self.links.values_mut().filter(greets);
        let (count, oldest) = greeting.fold((0, None), |(count, oldest): (usize, Option<&mut Link>), link| {
            (count + 1, Some(oldest.map_or(link, |oldest| oldest)))
        });
        if let (GREETING.., Some(oldest)) = (count, oldest) {
            oldest.close(&mut self.sockets, now, Ending::Spare, "");
            self.peers[peer].connection_limit.surplus += 1;
            let why = format!("{} holds too many connections open", self.peers[peer].name);
            self.log_failure(link.address, "", &why, now);
        }
        true
    }

    /// Processes the hello of a peer, which has verified our certificate.
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
                self.attempt_failed(link, &why, false, now);
                return;
            }
        };
        let view = self.view(peer, link);
        let greeting = view.greeting(hello.epoch, hello.shared);
        match greeting {
            Greeting::Spare => {
                debug!("{}: a second connection is spare", self.peers[peer].name);
                link.close(&mut self.sockets, now, Ending::Spare, "");
                return;
            }
            Greeting::Lost => {
                let why = format!("{} has lost the state that {} continues", self.name, self.peers[peer].name);
                link.close(&mut self.sockets, now, Ending::Stop, &why);
                self.attempt_failed(link, &why, false, now);
                return;
            }
            Greeting::Resumes | Greeting::Begins => {}
        }
        let resumed = greeting == Greeting::Resumes;
        if let Some(old) = view.attachment.link().and_then(|old| self.links.get_mut(&old)) {
            old.close(&mut self.sockets, now, Ending::Spare, "");
        }
        match view.attachment {
            Attachment::Attached(_) if !resumed => self.down(peer, "it began another connection", now),
            Attachment::Detached(_) if !resumed => self.down(peer, &self.peers[peer].why.clone(), now),
            _ => {}
        }
        if view.decides {
            self.say_hello(link, peer, if resumed { Shared::Detached(hello.epoch) } else { Shared::Nothing });
        }
        link.stage = Stage::Up;
        let unsent = self.unsent(peer).map(ToString::to_string);
        for other in self.links.values_mut().filter(|other| other.peer == Some(peer)) {
            other.close(&mut self.sockets, now, Ending::Spare, "");
        }
        let (dialer, transport, payload, address) =
            (link.dialled.is_some(), link.transport(), link.payload(), link.remote());
        let of = &mut self.peers[peer];
        (of.attachment, of.since) = (Attachment::Attached(number), now);
        of.theirs = hello.epoch;
        of.payload = payload;
        of.why.clear();
        of.tried.clear();
        of.unreached = UnreachableLog::default();
        of.saw(address.ip(), now);
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
        self.events.push_back(PeerEvent::Up { peer, dialer, transport, payload, address, resumed });
    }
}
