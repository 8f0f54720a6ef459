//! TCP of `smoltcp`: a connection from the originator, which it fills for as long as the run lasts.

use std::collections::VecDeque;

use cellway_sim::{Ends, Setup, Stack};
use cellway_units::{Ecn, Time};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{
    HardwareAddress, IpAddress, IpCidr, IpProtocol, IpRepr, IpVersion, Ipv4Packet, Ipv6Packet, TcpPacket, TcpSeqNumber,
};

/// The protocol number of TCP, for [`cellway_sim::Payload::Ip`]. RFC 9293 section 3.1.
pub const TCP: u8 = 6;
/// The port of the originator: the first of those for private use. RFC 6335 section 6.
const CLIENT_PORT: u16 = 49_152;
/// The port of the responder: that of ttcp.
const SERVER_PORT: u16 = 5001;
/// Packets that wait to be taken from the interface at most.
const MOST_WAITING: usize = 64;
const HOP_LIMIT: u8 = 64;

/// Returns a factory of bulk transfers for [`cellway_sim::Stacks::with`], with
/// [`cellway_sim::Payload::Ip`]` { protocol: smol::TCP }`. `buffer` is the size of the send buffer and of the receive
/// buffer, in bytes; `configure` changes the settings of each socket, whose congestion control is CUBIC.
pub fn bulk(
    buffer: usize,
    configure: impl Fn(&mut Socket<'static>) + Send + Sync + 'static,
) -> impl Fn(&Setup<'_>) -> Ends + Send + Sync + 'static {
    move |setup: &Setup<'_>| {
        let mut originator = Smol::new(setup, 0, buffer, &configure);
        let mut responder = Smol::new(setup, 1, buffer, &configure);
        originator.connect((setup.addresses[1].into(), SERVER_PORT))?;
        responder.socket().listen(SERVER_PORT).map_err(|e| e.to_string())?;
        Ok([Box::new(originator) as Box<dyn Stack>, Box::new(responder)])
    }
}

/// One end of a connection.
struct Smol {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    link: Link,
    /// Addresses of this end and of the other.
    addresses: [IpAddress; 2],
    delivered: u64,
    /// One more than the last sequence number of data that has been sent.
    sent: Option<TcpSeqNumber>,
    retransmissions: u64,
    /// The time of the last call.
    now: Instant,
    /// True once the connection is established.
    established: bool,
}

impl Smol {
    fn new(setup: &Setup<'_>, side: usize, buffer: usize, configure: &impl Fn(&mut Socket<'static>)) -> Smol {
        let [local, remote] = [setup.addresses[side], setup.addresses[1 - side]].map(IpAddress::from);
        // The MTU of IP includes the header.
        let mut link = Link { mtu: setup.max_datagram + header(local), received: None, sent: VecDeque::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        let seed = setup.seed.first_chunk().map_or(0, |octets| u64::from_le_bytes(*octets));
        config.random_seed = seed ^ side as u64;
        let mut interface = Interface::new(config, &mut link, instant(setup.start));
        // Every address is a neighbour: there is one other host.
        interface.update_ip_addrs(|own| own.push(IpCidr::new(local, 0)).expect("the list has room for one address"));
        let memory = || SocketBuffer::new(vec![0; buffer]);
        let mut socket = Socket::new(memory(), memory());
        socket.set_congestion_control(CongestionControl::Cubic);
        configure(&mut socket);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Smol {
            interface,
            sockets,
            handle,
            link,
            addresses: [local, remote],
            delivered: 0,
            sent: None,
            retransmissions: 0,
            now: instant(setup.start),
            established: false,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn connect(&mut self, remote: (IpAddress, u16)) -> Result<(), String> {
        let socket = self.sockets.get_mut::<Socket<'static>>(self.handle);
        socket.connect(self.interface.context(), remote, CLIENT_PORT).map_err(|e| e.to_string())
    }

    fn poll(&mut self, now: Time) {
        self.now = instant(now);
        self.interface.poll(self.now, &mut self.link, &mut self.sockets);
    }

    /// Processes the packet that has arrived and the timers, then reads and writes what is possible.
    fn process(&mut self, now: Time) {
        self.poll(now);
        let socket = self.sockets.get_mut::<Socket<'static>>(self.handle);
        self.established |= socket.state() == State::Established;
        while socket.can_recv() {
            let Ok(octets) = socket.recv(|data| (data.len(), data.len())) else { break };
            self.delivered += octets as u64;
        }
        // Only the originator has something to send; the other end is passive.
        if socket.remote_endpoint().is_some_and(|remote| remote.port == SERVER_PORT) {
            while socket.can_send() {
                if !socket.send(|free| (free.len(), free.len())).is_ok_and(|octets| octets > 0) {
                    break;
                }
            }
        }
    }

    /// Counts a segment that is sent as a retransmission if it has data that has been sent before.
    fn count(&mut self, segment: &[u8]) {
        let Ok(segment) = TcpPacket::new_checked(segment) else { return };
        let (begin, data) = (segment.seq_number(), segment.payload().len());
        if data == 0 {
            return;
        }
        self.retransmissions += u64::from(self.sent.is_some_and(|sent| begin < sent));
        let end = begin + data;
        self.sent = Some(self.sent.map_or(end, |sent| if end > sent { end } else { sent }));
    }
}

impl Stack for Smol {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        let [local, remote] = self.addresses;
        let ip = IpRepr::new(remote, local, IpProtocol::Tcp, datagram.len(), HOP_LIMIT);
        let mut packet = vec![0; ip.buffer_len()];
        ip.emit(&mut packet[..], &ChecksumCapabilities::default());
        packet[ip.header_len()..].copy_from_slice(datagram);
        self.link.received = Some(packet);
        self.process(now);
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        if self.link.sent.is_empty() {
            self.poll(now);
        }
        let packet = self.link.sent.pop_front()?;
        buffer.extend_from_slice(payload(&packet)?);
        self.count(buffer);
        // smoltcp has no ECN.
        Some(Ecn::NotEct)
    }

    fn deadline(&mut self) -> Option<Time> {
        let at = self.interface.poll_at(self.now, &self.sockets)?;
        Some(Time::from_ps(u64::try_from(at.total_micros()).unwrap_or(0).saturating_mul(PS_PER_US)))
    }

    fn wake(&mut self, now: Time) {
        self.process(now);
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn retransmissions(&self) -> Option<u64> {
        Some(self.retransmissions)
    }

    fn failure(&self) -> Option<String> {
        let socket = self.sockets.get::<Socket<'static>>(self.handle);
        (self.established && !socket.is_open()).then(|| "the connection is closed".to_owned())
    }
}

const PS_PER_US: u64 = 1_000_000;

/// Returns simulated time as smoltcp has it, in whole microseconds.
fn instant(time: Time) -> Instant {
    Instant::from_micros((time.as_ps() / PS_PER_US) as i64)
}

fn header(address: IpAddress) -> usize {
    match address.version() {
        IpVersion::Ipv4 => smoltcp::wire::IPV4_HEADER_LEN,
        IpVersion::Ipv6 => smoltcp::wire::IPV6_HEADER_LEN,
    }
}

/// Returns the payload of an IP packet with TCP.
fn payload(packet: &[u8]) -> Option<&[u8]> {
    match IpVersion::of_packet(packet).ok()? {
        IpVersion::Ipv4 => Some(Ipv4Packet::new_checked(packet).ok()?.payload()),
        IpVersion::Ipv6 => Some(Ipv6Packet::new_checked(packet).ok()?.payload()),
    }
}

/// The link of the interface: one packet to receive, and those that it has sent.
struct Link {
    mtu: usize,
    received: Option<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Link {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sending<'_>)> {
        self.received.take().map(|packet| (Received(packet), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sending<'_>> {
        (self.sent.len() < MOST_WAITING).then_some(Sending(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Sending<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
