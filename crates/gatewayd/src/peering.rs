//! The transport to the other gateways.
//!
//! Between two gateways the packets of their state machines travel as datagrams of one QUIC connection, or as records
//! of TLS over TCP if UDP does not pass. Both sides authenticate with certificates; a peer is up when each has verified
//! the other's and confirmed it in its hello.
//!
//! # Which connection is kept
//! Both gateways may dial, and one may have lost a connection that the other still uses. So one of the two decides, the
//! one whose name is first in alphabetical order: the other sends its hello as soon as it has verified the certificate,
//! the decider only on the connection that it chooses, and the hello of the decider makes the other use a connection.
//! The decider chooses the first connection with a hello; a later one is spare unless its hello shows that the peer has
//! lost the first (another instance, or a higher count of lost connections). Two connections are therefore never in use
//! at once, and neither side drops its flows while the other keeps them.
//!
//! # Upgrades
//! A program that hands over to another one ends its connections with a reason of their own: both gateways keep the
//! state of the flows for up to `outage`. If that packet is lost the next program answers with a stateless reset (RFC
//! 9000, section 10.3), which has the same effect. The next connection continues the state if neither has lost it
//! since, as the numbers in both hellos show; the decider's hello contains its decision. See [`attachment`].

mod accept;
mod attachment;
mod connection_limit;
mod dial;
mod dialling;
mod event;
mod failure_log;
mod handshake_slots;
pub(crate) mod hello;
pub(crate) mod identity;
mod link;
mod lookup;
mod lost;
mod peers;
mod quic;
pub(crate) mod records;
mod settings;
mod sockets;
#[cfg(test)]
mod tests;
mod tls;
mod udp;
mod unlimited;
mod unreachable;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cellway_sys::{Interest, Readiness};
use quinn_proto::ConnectionHandle;
use socket2::Socket;
use tracing::{debug, info, warn};

use crate::config::Config;
use crate::error::Error;
use crate::peer_id::{PeerId, PerPeer};
use attachment::Attachment;
pub(crate) use attachment::Kept;
use attachment::KeptPeer;
pub(crate) use event::{PeerEvent, PeerTransport, Transport};
use failure_log::FailureLog;
use identity::Identity;
use link::{Ending, Link, Share, Wire};
use lookup::Lookups;
use peers::Peer;
use sockets::listen;
use udp::Udp;

const LOOKUPS: u64 = 0;
const LISTENER: u64 = 1;
const SOCKETS: u64 = 2;
/// Tokens of links start here, those of sockets are below.
const LINKS: u64 = 16;
/// The transport to the other gateways.
pub(crate) struct Peering {
    name: String,
    identity: Identity,
    instance: u64,
    ready: Readiness,
    tokens: Vec<u64>,
    /// The most that all connections deliver in a turn, and that each of them delivers in this one.
    turn: Share,
    share: Share,
    peers: PerPeer<Peer>,
    links: BTreeMap<u64, Link>,
    next_link: u64,
    /// The connection behind each handle of a socket's endpoint.
    routes: HashMap<(usize, ConnectionHandle), u64>,
    sockets: Vec<Udp>,
    listener: Option<Socket>,
    /// The address on which it listens: as configured, and as bound (port 0 lets the kernel choose).
    asked: Option<SocketAddr>,
    listen: Option<SocketAddr>,
    /// The time at which the listener is polled again, if it is not.
    accept_at: Option<Instant>,
    lookups: Lookups,
    failure_log: FailureLog,
    /// The numbers of connections that never became a peer's, by outcome.
    rejected: BTreeMap<&'static str, u64>,
    events: VecDeque<PeerEvent>,
    /// The sum of the rates to all peers (octets per second).
    line: f64,
    closed: bool,
}

impl std::fmt::Debug for Peering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peering").field("name", &self.name).field("sockets", &self.sockets).finish_non_exhaustive()
    }
}

impl AsFd for Peering {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

fn failed(what: String) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io { what, source }
}

impl Peering {
    /// Binds the sockets, and continues the state of `kept`; the first [`Peering::turn`] begins to dial.
    pub(crate) fn new(config: &Config, kept: Option<&Kept>, now: Instant) -> Result<Peering, Error> {
        let identity = Identity::read(&config.identity)?;
        for problem in identity.problems(&config.name) {
            warn!("{problem}");
        }
        let random = identity.client.crypto_provider().secure_random;
        let mut instance = [0; 8];
        if random.fill(&mut instance).is_err() {
            instance = cellway_sys::now_ns().to_ne_bytes();
        }
        let own_set = || failed("watch sockets of peers".to_owned());
        let ready = Readiness::new().map_err(|error| own_set()(std::io::Error::other(error)))?;
        let lookups = Lookups::new().map_err(failed("make an event descriptor".to_owned()))?;
        let mut peering = Peering {
            name: config.name.clone(),
            identity,
            instance: u64::from_ne_bytes(instance),
            ready,
            tokens: Vec::new(),
            turn: Share::ALL,
            share: Share::ALL,
            peers: PerPeer::default(),
            links: BTreeMap::new(),
            next_link: LINKS,
            routes: HashMap::new(),
            sockets: Vec::new(),
            listener: None,
            asked: config.listen.map(|listen| listen.address),
            listen: config.listen.map(|listen| listen.address),
            accept_at: None,
            lookups,
            failure_log: FailureLog::default(),
            rejected: BTreeMap::new(),
            events: VecDeque::new(),
            line: 0.0,
            closed: false,
        };
        peering
            .ready
            .add(&peering.lookups, LOOKUPS, Interest::Read)
            .map_err(|e| own_set()(std::io::Error::other(e)))?;
        peering.adopt(config, now);
        if let Some(kept) = kept {
            peering.resume(kept, now);
        }
        if let Some(address) = peering.listen {
            let server = settings::server(&peering.identity, peering.longest_outage(), settings::buffer(0.0), None);
            // The kernel chooses port 0 for TCP, whose connections use ports as well: UDP gets the same one.
            let listener = listen(address).map_err(failed(format!("listen for peers on TCP {address}")))?;
            let bound = listener.local_addr().map(|bound| bound.as_socket()).map_err(own_set())?;
            let address = SocketAddr::new(address.ip(), bound.map_or(address.port(), |bound| bound.port()));
            let udp = Udp::bind(address, server, peering.identity.secret());
            peering.add_socket(udp.map_err(failed(format!("listen for peers on UDP {address}")))?)?;
            let added = peering.ready.add(&listener, LISTENER, Interest::Read);
            added.map_err(|error| own_set()(std::io::Error::other(error)))?;
            peering.listener = Some(listener);
            peering.listen = Some(address);
        }
        Ok(peering)
    }

    /// Returns the address on which it listens, for QUIC and for TLS.
    #[cfg(test)]
    fn listens(&self) -> Option<SocketAddr> {
        self.listen
    }

    fn longest_outage(&self) -> Duration {
        // QUIC uses the smaller idle timeout of both sides: only the dialler has the peer's identity at this time.
        self.peers.iter().map(|peer| peer.outage).max().unwrap_or(Duration::from_secs(30))
    }

    /// Reads packets and processes timers; [`Peering::flush`] sends the results. Connections with packets share a
    /// bounded number of packets and octets per turn, so that no peer delays the others or the hosts for long, however
    /// much it sends.
    pub(crate) fn turn(&mut self, now: Instant) {
        self.accept_again(now);
        self.sockets.iter_mut().for_each(|udp| udp.more = false);
        let mut tokens = std::mem::take(&mut self.tokens);
        // Without a wait; readiness that is missed is reported at the next turn.
        let _ = self.ready.wait(Some(0), &mut tokens);
        let mut touched = Vec::new();
        for &token in &tokens {
            match token {
                LOOKUPS => self.looked_up(now),
                LISTENER => self.accept_tls(now),
                SOCKETS..LINKS => self.receive((token - SOCKETS) as usize, now, &mut touched),
                link => touched.push(link),
            }
        }
        self.tokens = tokens;
        let due =
            self.links.iter_mut().filter_map(|(&number, link)| (link.more || is_due(link, now)).then_some(number));
        touched.extend(due);
        touched.sort_unstable();
        touched.dedup();
        self.share = self.turn.among(touched.len());
        for number in touched {
            self.turn_link(number, now);
        }
        self.expire_detached(now);
        self.dial(now);
        if let Some(summary) = self.failure_log.summary(now) {
            info!("{summary}");
        }
    }

    fn add_link(&mut self, link: Link) -> u64 {
        let number = self.next_link;
        self.next_link += 1;
        self.links.insert(number, link);
        number
    }

    fn add_tls(&mut self, link: Link) -> u64 {
        let number = self.add_link(link);
        if let Some(Link { wire: Wire::Tls(tls), .. }) = self.links.get(&number)
            && let Err(error) = self.ready.add(&**tls, number, Interest::Read)
        {
            warn!("{error}");
        }
        number
    }

    /// Returns true if the last [`Peering::turn`] may have left datagrams in a socket, or has left packets of a peer.
    pub(crate) fn has_more(&self) -> bool {
        self.sockets.iter().any(|udp| udp.more) || self.links.values().any(|link| link.more)
    }

    /// Returns true if the last [`Peering::turn`] may have left packets of this peer.
    pub(crate) fn has_more_of(&self, peer: PeerId) -> bool {
        let left = |link: &Link| link.more && link.peer == Some(peer);
        self.sockets.iter().any(|udp| udp.more) || self.links.values().any(left)
    }

    /// Returns the next event, oldest first.
    pub(crate) fn next(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    /// Queues a packet; it is dropped if the peer is down.
    pub(crate) fn send(&mut self, peer: PeerId, packet: Bytes) {
        if let Some(link) =
            self.peers.get(peer).and_then(|peer| peer.attachment.link()).and_then(|at| self.links.get_mut(&at))
        {
            link.send(packet);
        }
    }

    /// Passes all queued packets to the kernel, as far as it accepts them. To be called after [`Peering::turn`] too.
    pub(crate) fn flush(&mut self, now: Instant) {
        for (&number, link) in &mut self.links {
            link.flush(&mut self.sockets, now);
            if let Wire::Tls(tls) = &mut link.wire
                && let Some(interest) = tls.watch.change(tls.wants_write())
            {
                let _ = self.ready.change(&**tls, number, interest);
            }
        }
        for (number, udp) in self.sockets.iter_mut().enumerate() {
            if let Some(interest) = udp.watch.change(udp.full) {
                let _ = self.ready.change(&*udp, SOCKETS + number as u64, interest);
            }
        }
    }

    /// Returns the time at which [`Peering::turn`] is due even if nothing arrives.
    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        let links = self.links.values_mut().filter_map(deadline_of).min();
        let dials = self.peers.ids().filter_map(|peer| self.dial_deadline(peer));
        let detached = self.peers.iter().filter_map(|peer| peer.attachment.deadline());
        dials.chain(links).chain(detached).chain(self.accept_at).chain(self.failure_log.deadline()).min()
    }

    /// Returns the octets of IP packets sent to the peer since the start: headers, QUIC's own packets, handshakes and
    /// attempts included; for TLS see [`tls::TlsLink::octets`]. It never decreases.
    pub(crate) fn octets(&mut self, peer: PeerId) -> u64 {
        let of_peer = |link: &&mut Link| link.peer == Some(peer);
        let now: u64 = self.links.values_mut().filter(of_peer).map(Link::octets).sum();
        now + self.peers.get(peer).map_or(0, |peer| peer.past_octets)
    }

    /// Returns the datagrams that the kernel has dropped here since the start, because this machine did not read them
    /// in time.
    pub(crate) fn drops(&mut self) -> u64 {
        self.sockets.iter_mut().map(Udp::drops).sum()
    }

    /// Returns the octets queued and not passed to the kernel.
    pub(crate) fn backlog(&self, peer: PeerId) -> usize {
        let current = self.peers.get(peer).and_then(|peer| peer.attachment.link()).and_then(|at| self.links.get(&at));
        current.map_or(0, Link::backlog)
    }

    /// Returns the numbers of connections that never became a peer's, by outcome: see [`accept::Peering::reject`].
    pub(crate) fn rejected(&self) -> &BTreeMap<&'static str, u64> {
        &self.rejected
    }

    /// Returns the state of the transport to a peer.
    pub(crate) fn status(&self, peer: PeerId) -> PeerTransport {
        let Some(of) = self.peers.get(peer) else { return PeerTransport::default() };
        let mut status =
            PeerTransport { tried: of.tried.clone(), surplus: of.connection_limit.surplus, ..PeerTransport::default() };
        if let Some(link) = of.attachment.link().and_then(|at| self.links.get(&at)) {
            status.transport = Some(link.transport());
            status.address = Some(link.remote());
            status.rtt = link.rtt();
        }
        status
    }

    /// Reads the keys again and applies the current addresses, transports and outages of the peers; connections do not
    /// change. Peers may be added at the end.
    ///
    /// # Errors
    /// A file of the identity is invalid, or another key has changed that needs a restart. Then nothing is changed.
    pub(crate) fn reload(&mut self, config: &Config, now: Instant) -> Result<(), Error> {
        let fixed = |what: &str| Err(failed(format!("reload: {what}"))(std::io::Error::other("this needs a restart")));
        if config.name != self.name {
            return fixed("the gateway's name has changed");
        }
        if config.listen.map(|listen| listen.address) != self.asked {
            return fixed("the address to listen on has changed");
        }
        let kept = self.peers.iter().zip(&config.peers).filter(|(old, new)| old.name == new.name).count();
        if kept < self.peers.len() {
            return fixed("peers were removed or their order has changed");
        }
        self.identity = Identity::read(&config.identity)?;
        for problem in self.identity.problems(&self.name) {
            warn!("{problem}");
        }
        self.adopt(config, now);
        debug!("keys and peers were read again");
        Ok(())
    }

    /// Ends the connection to a peer, which is then dialled again.
    pub(crate) fn abandon(&mut self, peer: PeerId, now: Instant, why: &str) {
        let way = self.peers[peer].attachment;
        if way == Attachment::Down {
            return;
        }
        if let Some(link) = way.link().and_then(|number| self.links.get_mut(&number)) {
            link.close(&mut self.sockets, now, Ending::Stop, why);
        }
        // Packets that were read and not processed belong to the connection that ends here.
        self.events.retain(|event| !matches!(event, PeerEvent::Packet { peer: of, .. } if *of == peer));
        self.down(peer, why, now);
    }

    /// Ends all connections for an upgrade: the peers keep the state of the flows, and the next program continues the
    /// result.
    pub(crate) fn hand_over(&mut self, now: Instant) -> Kept {
        let kept = self.kept();
        for link in self.links.values_mut() {
            // The peer may have decided to use a connection whose decision has not been read here.
            let keeps = matches!(link.stage, link::Stage::Up | link::Stage::Greeting);
            let ending = if keeps { Ending::Upgrade } else { Ending::Stop };
            link.close(&mut self.sockets, now, ending, "another program takes over");
        }
        kept
    }

    fn kept(&mut self) -> Kept {
        let octets: Vec<u64> = self.peers.ids().map(|peer| self.octets(peer)).collect();
        let kept = |(peer, octets): (&Peer, u64)| KeptPeer {
            session: peer.session,
            theirs: (peer.attachment != Attachment::Down).then_some((peer.theirs.instance, peer.theirs.session)),
            octets,
        };
        Kept { instance: self.instance, peers: self.peers.iter().zip(octets).map(kept).collect() }
    }

    /// Continues the state of the peers, which are in the same order.
    fn resume(&mut self, kept: &Kept, now: Instant) {
        self.instance = kept.instance;
        for ((_, peer), kept) in self.peers.iter_mut().zip(&kept.peers) {
            (peer.session, peer.past_octets) = (kept.session, kept.octets);
            if let Some((instance, session)) = kept.theirs {
                peer.theirs = hello::Epoch { instance, session };
                peer.attachment = Attachment::Detached(now + peer.outage);
                "another program has taken over here".clone_into(&mut peer.why);
            }
        }
    }

    /// Returns true, after [`Peering::close`], when all peers over TLS have received the reason of the end, or cannot
    /// be reached. A connection that ends without it seems to be cut by the path, and the peer would wait for the next
    /// one.
    pub(crate) fn has_notified(&mut self, now: Instant) -> bool {
        let links = self.links.values_mut().filter_map(link::Link::tls);
        links.fold(true, |all, link| all & link.has_notified(now))
    }
    /// Ends all connections, with a reason for the peers.
    pub(crate) fn close(&mut self, now: Instant, why: &str) {
        self.closed = true;
        for link in self.links.values_mut() {
            link.close(&mut self.sockets, now, Ending::Stop, why);
        }
        for (_, peer) in self.peers.iter_mut() {
            peer.attachment = Attachment::Down;
        }
    }
}

fn is_due(link: &mut Link, now: Instant) -> bool {
    deadline_of(link).is_some_and(|at| at <= now) || link.is_over()
}

fn deadline_of(link: &mut Link) -> Option<Instant> {
    link.deadline().into_iter().chain(link.give_up_at()).min()
}
