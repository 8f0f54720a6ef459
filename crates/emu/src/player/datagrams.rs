//! Sends and receives the datagrams of a scenario over the UDP of real hosts.
//!
//! Both ends are nonblocking sockets of one thread, so one clock dates both. A datagram carries its sequence number and
//! the time of its system call ([`DatagramMark`]). The sources are those of a simulation, with the same seeds and
//! random streams; a datagram that is due late is sent at once, and none is left out. The receiver of pings sends each back
//! as it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use cellway_apps::random::Streams;
use cellway_apps::{DatagramMark, DatagramSource, Family, MeasuredDatagrams, Side, UdpSource};
use cellway_units::{Bytes, Span, Time};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, Socket, Type};

use super::Stopper;
use super::alarm::Alarm;
use super::error::PlayerError;
use super::observe::{Observation, Seen};
use super::options::{SIDES, at, set_traffic_class};
use super::plan::PlayerHost;
use crate::clock::Clock;

const STOP: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
const EVENTS: usize = 256;
/// The kernel memory for a datagram in addition to its octets, approximately.
const OVERHEAD: u64 = 1024;
/// The receive buffer: the datagrams that a source sends in this time, within bounds. The receiving thread is seldom as
/// late.
const BUFFERED: Span = Span::from_secs(1);
const BUFFER: [u64; 2] = [256 << 10, 64 << 20];

/// Datagrams between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramSlot {
    /// The slot as which it is reported.
    pub slot: usize,
    /// "voice-3"; names its random streams.
    pub name: String,
    /// The source of the datagrams. Over IPv6 a packet has as many octets, 20 fewer of them payload.
    pub source: UdpSource,
    /// Measured conversations in both directions, in place of the packets of `source`, which then gives the largest packet
    /// and the buffers.
    pub measured: Option<Box<MeasuredDatagrams>>,
    /// Its start.
    pub start: Time,
    /// Sender and receiver: the host, by its place in the plan, and its address.
    pub ends: [(usize, IpAddr); 2],
    /// The port of the receiver; 0 means any.
    pub port: u16,
    /// The octet of DSCP and ECN in its packets.
    pub traffic_class: u8,
}

/// All datagrams of a run.
#[derive(Debug)]
pub struct DatagramPlan {
    /// The hosts.
    pub hosts: Vec<PlayerHost>,
    /// The slots.
    pub slots: Vec<DatagramSlot>,
    /// The seed of all random streams.
    pub seed: u64,
    /// The duration, since the epoch.
    pub duration: Span,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatagramsPlayed {
    /// Datagrams sent, those included that the kernel refused.
    pub sent: u64,
    /// Those, and echoes, that the kernel refused: a queue was full, or the network had reported an error. They are
    /// lost.
    pub refused: u64,
    /// The reason of the first refusal.
    pub reason: Option<String>,
    /// The longest that a datagram was sent after its time.
    pub latest: Span,
}

#[derive(Debug)]
struct Flow {
    slot: usize,
    /// The packets of each side; the receiver has some of measured conversations only.
    sources: [Option<DatagramSource>; 2],
    /// True if datagrams go both ways.
    both_ways: bool,
    /// Sender and receiver.
    sockets: [Socket; 2],
    /// True if the receiver sends each datagram back.
    is_echoed: bool,
    /// Octets of the largest IP packet, and of its payload.
    packet: u64,
    payload: usize,
}

/// Plays a plan: one run.
#[derive(Debug)]
pub struct DatagramPlayer {
    flows: Vec<Flow>,
    /// The next sending time of each flow.
    due: BinaryHeap<Reverse<(Time, usize, Side)>>,
    end: Time,
    poll: Poll,
    alarm: Alarm,
    stopper: Stopper,
    sender: Sender<Observation>,
    played: DatagramsPlayed,
    buffer: Box<[u8]>,
}

impl DatagramPlayer {
    /// Opens all sockets. Observations are sent to `sender`.
    ///
    /// # Errors
    ///
    /// A slot names no host, or a host cannot have a socket or address.
    pub fn new(mut plan: DatagramPlan, sender: Sender<Observation>) -> Result<DatagramPlayer, PlayerError> {
        let poll = Poll::new().map_err(PlayerError::system("wait for sockets"))?;
        let alarm = Alarm::new(poll.registry(), TIMER)?;
        let waker = Waker::new(poll.registry(), STOP).map_err(PlayerError::system("make a waker"))?;
        let streams = Streams::new(plan.seed);
        let mut flows = Vec::with_capacity(plan.slots.len());
        for (index, slot) in plan.slots.iter().enumerate() {
            let flow = Flow::open(slot, &mut plan.hosts, &streams)?;
            let reads = |side: &Side| *side == Side::Responder || flow.is_echoed || flow.both_ways;
            for side in SIDES.into_iter().filter(reads) {
                let mut source = SourceFd(&flow.sockets[at(side)].as_raw_fd());
                let registered = poll.registry().register(&mut source, token(index, side), Interest::READABLE);
                registered.map_err(PlayerError::system("wait for a socket"))?;
            }
            flows.push(flow);
        }
        let due = flows.iter().enumerate().flat_map(|(index, flow)| {
            SIDES.into_iter().filter_map(move |side| Some(Reverse((flow.next(side)?, index, side))))
        });
        let due: Vec<_> = due.collect();
        let largest = flows.iter().map(|flow| flow.payload).max().unwrap_or_default();
        Ok(DatagramPlayer {
            due: due.into(),
            flows,
            end: Time::ZERO + plan.duration,
            poll,
            alarm,
            stopper: Stopper { asked: Arc::new(AtomicBool::new(false)), waker: Arc::new(waker) },
            sender,
            played: DatagramsPlayed::default(),
            buffer: vec![0; largest].into(),
        })
    }

    /// Stops it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Plays until the end of the run, or until it is stopped.
    ///
    /// # Errors
    /// The system refuses to wait or to read.
    pub fn run(mut self, clock: Clock) -> Result<DatagramsPlayed, PlayerError> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stopper.is_asked() {
            let mut next = Time::ZERO;
            if let Some(now) = clock.now() {
                if now >= self.end {
                    break;
                }
                self.send_due(&clock, now)?;
                next = self.due.peek().map_or(self.end, |Reverse((at, ..))| *at).min(self.end);
            }
            self.alarm.set(&clock, next)?;
            match self.poll.poll(&mut events, None) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => done.map_err(PlayerError::system("wait for sockets"))?,
            }
            for event in &events {
                if let Some((index, side)) = from_token(event.token())
                    && index < self.flows.len()
                    && !self.receive(&clock, index, side)?
                {
                    return Ok(self.played);
                }
            }
        }
        Ok(self.played)
    }

    /// Sends all datagrams that are due at `now`.
    fn send_due(&mut self, clock: &Clock, now: Time) -> Result<(), PlayerError> {
        while let Some(&Reverse((at, index, side))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            let flow = &mut self.flows[index];
            let Some(source) = &mut flow.sources[side as usize] else { continue };
            let (frame, octets) = (source.frame(), source.packet().0);
            let sequence = source.send();
            self.due.extend(source.next().map(|next| Reverse((next, index, side))));
            let sent = clock.now().unwrap_or(now);
            self.played.latest = self.played.latest.max(sent.since(at));
            self.played.sent += 1;
            // The largest packet has the largest payload.
            let octets = octets.saturating_sub(flow.packet - flow.payload as u64) as usize;
            let payload = &mut self.buffer[..octets.max(DatagramMark::LEN)];
            payload.fill(0);
            payload[..DatagramMark::LEN].copy_from_slice(&DatagramMark { sequence, sent }.octets());
            if let Some(packets) = frame {
                // A frame is captured at its own time, however late its packets leave.
                let _ = self.sender.send(Observation { at, slot: flow.slot, seen: Seen::FrameSent { packets } });
            }
            let seen = if flow.both_ways { Seen::DatagramSentBy(side) } else { Seen::DatagramSent };
            // The observation is sent first: the datagram may arrive before the next statement.
            let observation = Observation { at: sent, slot: flow.slot, seen };
            let _ = self.sender.send(observation);
            self.played.send(&flow.sockets[side as usize], payload);
        }
        Ok(())
    }

    /// Reads all datagrams that wait at one side of a flow. Returns false if observations are no longer received.
    fn receive(&mut self, clock: &Clock, index: usize, reader: Side) -> Result<bool, PlayerError> {
        let flow = &self.flows[index];
        let socket = &flow.sockets[at(reader)];
        loop {
            match recv(socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((read, _)) => {
                    let at = clock.now().unwrap_or(Time::ZERO);
                    let Some(mark) = DatagramMark::read(&self.buffer[..read]) else { continue };
                    if flow.is_echoed && reader == Side::Responder {
                        self.played.send(socket, &self.buffer[..read]);
                    }
                    let seen = Seen::DatagramReceived { reader, mark, payload: Bytes(read as u64) };
                    if self.sender.send(Observation { at, slot: flow.slot, seen }).is_err() {
                        return Ok(false);
                    }
                }
                Err(Errno::AGAIN) => return Ok(true),
                // An ICMP error about a datagram of this socket.
                Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(e) => return Err(PlayerError::system("read a datagram")(e.into())),
            }
        }
    }
}

impl DatagramsPlayed {
    /// Sends a datagram, and counts it if it is refused.
    fn send(&mut self, socket: &Socket, payload: &[u8]) {
        // No room, or an error that the network has reported of an earlier datagram.
        if let Err(error) = send(socket, payload, SendFlags::NOSIGNAL) {
            self.refused += 1;
            self.reason.get_or_insert_with(|| io::Error::from(error).to_string());
        }
    }
}

/// Returns the token of a socket of flow `index`.
fn token(index: usize, side: Side) -> Token {
    Token(2 * index + at(side))
}

fn from_token(token: Token) -> Option<(usize, Side)> {
    (token.0 < TIMER.0).then(|| (token.0 / 2, SIDES[token.0 % 2]))
}

impl Flow {
    /// Opens the sockets of a slot, connected to each other.
    fn open(slot: &DatagramSlot, hosts: &mut [PlayerHost], streams: &Streams) -> Result<Flow, PlayerError> {
        if slot.ends[0].1.is_ipv4() != slot.ends[1].1.is_ipv4() {
            return Err(PlayerError::AddressKinds { slot: slot.name.clone() });
        }
        let mut socket = |end: usize, port: u16| {
            let ((host, address), count) = (slot.ends[end], hosts.len());
            let host =
                hosts.get_mut(host).ok_or(PlayerError::NoSuchHost { slot: slot.name.clone(), host, hosts: count })?;
            bound(host, SocketAddr::new(address, port), slot.source)
        };
        let ((sender, from), (receiver, to)) = (socket(0, 0)?, socket(1, slot.port)?);
        for socket in [&sender, &receiver] {
            set_traffic_class(socket, slot.traffic_class)?;
        }
        for (socket, peer) in [(&sender, to), (&receiver, from)] {
            socket.connect(&peer.into()).map_err(PlayerError::system("connect a UDP socket"))?;
        }
        let family = if from.is_ipv6() { Family::Ipv6 } else { Family::Ipv4 };
        let payload = slot.source.packet.0.saturating_sub(family.udp_headers()) as usize;
        let both_ways = slot.measured.is_some();
        let sources = match &slot.measured {
            Some(measured) => {
                SIDES.map(|side| Some(DatagramSource::measured(measured, side, streams, &slot.name, slot.start)))
            }
            None => [Some(DatagramSource::new(slot.source, streams, &slot.name, slot.start)), None],
        };
        let (sockets, packet, is_echoed) = ([sender, receiver], slot.source.packet.0, slot.source.is_echoed());
        let payload = payload.max(DatagramMark::LEN);
        Ok(Flow { slot: slot.slot, sources, both_ways, sockets, is_echoed, packet, payload })
    }

    /// Returns when the next datagram of a side is due.
    fn next(&self, side: Side) -> Option<Time> {
        self.sources[at(side)].as_ref()?.next()
    }
}

/// Opens a socket at an address, with buffers for `source`, and returns it with its address. Sockets of several slots
/// may share a port: each is connected to its own peer.
fn bound(host: &mut PlayerHost, address: SocketAddr, source: UdpSource) -> Result<(Socket, SocketAddr), PlayerError> {
    let made = (host.socket)(Domain::for_address(address), Type::DGRAM, Protocol::UDP);
    let socket = made.map_err(|source| PlayerError::Socket { host: host.name.clone(), source })?;
    let system = PlayerError::system;
    socket.set_nonblocking(true).map_err(system("make a socket nonblocking"))?;
    socket.set_reuse_address(true).map_err(system("share a port"))?;
    let refused = |source| PlayerError::Address { host: host.name.clone(), address, source };
    socket.bind(&address.into()).map_err(refused)?;
    let [least, most] = BUFFER;
    let packets = source.rate.as_bps() as f64 / source.packet.bits().0.max(1) as f64 * BUFFERED.as_secs_f64();
    let size = ((packets * (source.packet.0 + OVERHEAD) as f64) as u64).clamp(least, most) as usize;
    // Beyond the limit of the system only a privileged process may go.
    if set_socket_recv_buffer_size_force(&socket, size).is_err() {
        socket.set_recv_buffer_size(size).map_err(system("set the receive buffer"))?;
    }
    socket.set_send_buffer_size(size).map_err(system("set the send buffer"))?;
    let at = socket.local_addr().map_err(system("read an address"))?.as_socket();
    Ok((socket, at.unwrap_or(address)))
}
