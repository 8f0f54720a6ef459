//! Dialling the peers that are down.

use std::net::SocketAddr;
use std::time::Instant;

use super::link::{Link, Stage, Wire};
use super::peers::Peer;
use super::quic::QuicLink;
use super::tls::TlsLink;
use super::{Peering, Transport, settings};
use crate::config::TransportChoice;
use crate::peer_id::PeerId;

impl Peering {
    /// Returns true if a trial of QUIC makes sense while TLS works. The connection over TLS is used all the same until
    /// it ends: a change would reset all connections over it.
    fn wants_trial(&self, peer: &Peer) -> bool {
        let link = peer.attachment.link().and_then(|at| self.links.get(&at));
        peer.transport == TransportChoice::Auto
            && link.is_some_and(|link| link.transport() == Transport::Tls)
            && !self.links.values().any(|link| link.trial && link.stage != Stage::Over)
    }

    /// Returns the time of the next step of dialling the peer.
    pub(super) fn dial_deadline(&self, peer: PeerId) -> Option<Instant> {
        let of = &self.peers[peer];
        let tries = |link: &Link| link.dialled == Some(peer) && link.stage != Stage::Over;
        if self.closed || of.dial.address.is_none() || of.dial.looking_up {
            None
        } else if of.attachment.link().is_some() {
            self.wants_trial(of).then_some(of.dial.next)
        } else if let Some(round) = &of.dial.round {
            match round.tls_at {
                // An attempt whose packets do not leave this machine is not waited for.
                Some(_) if self.unsent(peer).is_some() => Some(of.dial.next),
                Some(at) => Some(at),
                // A round without attempts has failed, and must end.
                None => (!self.links.values().any(tries)).then_some(of.dial.next),
            }
        } else {
            Some(of.dial.next)
        }
    }

    /// Returns the error with which the kernel sends no packets of an attempt over QUIC, if it does not.
    pub(super) fn unsent(&self, peer: PeerId) -> Option<&std::io::Error> {
        let attempts = self.links.values().filter(|link| link.dialled == Some(peer) && link.stage == Stage::Handshake);
        attempts.filter_map(Link::unsent).next()
    }

    /// Dials the peers that are down.
    pub(super) fn dial(&mut self, now: Instant) {
        for peer in self.peers.ids() {
            let of = &self.peers[peer];
            if self.dial_deadline(peer).is_none_or(|at| at > now) {
                continue;
            }
            if let Some(round) = &of.dial.round {
                if round.tls_at.is_some() {
                    self.dial_tls(peer, now);
                } else {
                    let why = self.peers[peer].dial.failed(now);
                    if !why.is_empty() {
                        self.still_down(peer, &why, now);
                    }
                }
            } else if let Some(address) = of.dial.address.clone() {
                match address.parse::<SocketAddr>() {
                    Ok(address) => self.found(peer, vec![address], now),
                    Err(_) => {
                        self.peers[peer].dial.looking_up = true;
                        self.lookups.begin(peer, &address);
                    }
                }
            }
        }
    }

    pub(super) fn looked_up(&mut self, now: Instant) {
        while let Some((peer, found)) = self.lookups.next() {
            let Some(of) = self.peers.get_mut(peer) else { continue };
            of.dial.looking_up = false;
            let why = match found {
                Ok(addresses) if !addresses.is_empty() => {
                    self.found(peer, addresses, now);
                    continue;
                }
                Ok(_) => "it has no address".to_owned(),
                Err(error) => error.to_string(),
            };
            let why = format!("{}: {why}", of.dial.address.as_deref().unwrap_or_default());
            of.tried.clone_from(&why);
            of.dial.failed(now);
            self.still_down(peer, &why, now);
        }
    }

    /// Begins a round with the addresses of the peer.
    pub(super) fn found(&mut self, peer: PeerId, addresses: Vec<SocketAddr>, now: Instant) {
        let of = &mut self.peers[peer];
        if of.attachment.link().is_some() {
            if let Some(address) = addresses.into_iter().next() {
                self.dial_quic(peer, address, true, now);
            }
            return;
        }
        let (quic, tls) = (of.transport != TransportChoice::Tls, of.transport != TransportChoice::Quic);
        let Some(address) = of.dial.begin(addresses, quic, tls, now) else { return };
        if quic {
            self.dial_quic(peer, address, false, now);
        } else {
            self.dial_tls(peer, now);
        }
    }

    fn dial_quic(&mut self, peer: PeerId, address: SocketAddr, trial: bool, now: Instant) {
        let name = self.peers[peer].name.clone();
        let buffer = settings::buffer(self.line);
        let settings = settings::client(&self.identity, self.peers[peer].outage, buffer, address);
        let begun = self.socket_for(address).map_err(|error| error.to_string()).and_then(|(socket, called)| {
            let settings = settings.ok_or("TLS has no cipher for QUIC")?;
            let connected = self.sockets[socket].endpoint.connect(now, settings, called, &name);
            connected.map(|(handle, connection)| (socket, handle, connection)).map_err(|error| error.to_string())
        });
        match begun {
            Ok((socket, handle, connection)) => {
                let quic = QuicLink::new(socket, handle, connection);
                let mut link = Link::new(Some(peer), address, Wire::Quic(Box::new(quic)), now);
                link.trial = trial;
                let number = self.add_link(link);
                self.routes.insert((socket, handle), number);
                self.turn_link(number, now);
            }
            Err(why) => self.not_begun(peer, &format!("QUIC to {address}: {why}"), now),
        }
    }

    fn dial_tls(&mut self, peer: PeerId, now: Instant) {
        let of = &mut self.peers[peer];
        let Some(round) = &mut of.dial.round else { return };
        round.tls_at = None;
        let address = round.address;
        let from = self.listen.map(|listen| listen.ip());
        match TlsLink::dial(&self.identity, &of.name, address, from, of.outage, now) {
            Ok(tls) => {
                self.add_tls(Link::new(Some(peer), address, Wire::Tls(Box::new(tls)), now));
            }
            Err(error) => self.not_begun(peer, &format!("TLS over TCP to {address}: {error}"), now),
        }
    }

    pub(super) fn not_begun(&mut self, peer: PeerId, why: &str, now: Instant) {
        let of = &mut self.peers[peer];
        why.clone_into(&mut of.tried);
        match &mut of.dial.round {
            Some(round) => {
                round.failures.push(why.to_owned());
                // Nor is an attempt over QUIC waited for that could not begin.
                round.tls_at = round.tls_at.map(|at| at.min(now));
            }
            None => of.dial.tried(now),
        }
    }
}
