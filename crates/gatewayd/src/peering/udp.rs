//! A UDP socket and the QUIC endpoint on it.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cellway_sys::Drops;
use quinn_proto::{DatagramEvent, Endpoint, ServerConfig};
use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};

use super::link::Watch;
use super::settings;

/// Most octets of a coalesced receive (`UDP_GRO`).
const COALESCED: usize = 1 << 16;
/// The initial capacity of the buffer of received datagrams (octets).
const ARRIVED: usize = 1 << 18;
/// Receives of one system call.
const RECEIVES: usize = quinn_udp::BATCH_SIZE;
/// The time budget for receiving in one pass. The system call during which it expires is the last.
const READING: Duration = Duration::from_millis(2);
/// Most octets of one segmented send: the kernel refuses more than fits one IP packet of 64 KiB, and QUIC treats that
/// as a loss.
const SEGMENTED: usize = 65_000;

/// A socket, its endpoint, and its receive buffer.
pub(super) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    pub(super) endpoint: Endpoint,
    receive: Box<[u8]>,
    /// The buffer of received datagrams.
    arrived: BytesMut,
    answer: Vec<u8>,
    local: SocketAddr,
    /// The buffer sizes (octets) that the kernel granted for receiving and for sending, and those requested.
    pub(super) granted: (usize, usize),
    asked: usize,
    drops: Drops,
    /// True if the last [`Udp::receive`] of this turn may have left datagrams in the socket.
    pub(super) more: bool,
    /// True if the kernel had no room at the last attempt.
    pub(super) full: bool,
    /// The interest that is registered with the kernel.
    pub(super) watch: Watch,
    /// Datagrams that belonged to no connection and opened none.
    #[cfg(test)]
    pub(super) strays: u64,
}

impl std::fmt::Debug for Udp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Udp").field("local", &self.local).finish_non_exhaustive()
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Udp {
    /// Opens a socket at `address`; with `server` peers can dial it.
    pub(super) fn bind(address: SocketAddr, server: Option<Arc<ServerConfig>>, reset: [u8; 32]) -> io::Result<Udp> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM.cloexec(), Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        let endpoint = Endpoint::new(settings::endpoint(reset), server, !state.may_fragment(), None);
        let local = socket.local_addr()?;
        let receive = vec![0; COALESCED * RECEIVES].into_boxed_slice();
        let mut udp = Udp {
            socket,
            state,
            endpoint,
            receive,
            arrived: BytesMut::with_capacity(ARRIVED),
            answer: Vec::new(),
            local,
            granted: (0, 0),
            asked: 0,
            drops: Drops::default(),
            more: false,
            full: false,
            watch: Watch::default(),
            #[cfg(test)]
            strays: 0,
        };
        udp.set_buffers(settings::buffer(0.0));
        Ok(udp)
    }

    /// Requests buffers of this size, in each direction.
    pub(super) fn set_buffers(&mut self, octets: usize) {
        if octets == self.asked {
            return;
        }
        self.asked = octets;
        // The FORCE variants exceed the machine's limit and need CAP_NET_ADMIN.
        let _ = sockopt::set_socket_recv_buffer_size_force(&self.socket, octets)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&self.socket, octets));
        let _ = sockopt::set_socket_send_buffer_size_force(&self.socket, octets)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&self.socket, octets));
        // The kernel doubles the requested size, for its own bookkeeping (socket(7)).
        let granted = |octets: rustix::io::Result<usize>| octets.unwrap_or(0) / 2;
        self.granted = (
            granted(sockopt::socket_recv_buffer_size(&self.socket)),
            granted(sockopt::socket_send_buffer_size(&self.socket)),
        );
    }

    /// Returns the datagrams that the kernel has dropped because the receive buffer was full; 0 if it does not report
    /// them.
    pub(super) fn drops(&mut self) -> u64 {
        self.drops.update(&self.socket).unwrap_or(0)
    }

    /// Opens a socket for dialling only: any address, of both families if the machine has both.
    pub(super) fn anywhere(reset: [u8; 32]) -> io::Result<Udp> {
        Udp::bind((Ipv6Addr::UNSPECIFIED, 0).into(), None, reset)
            .or_else(|_| Udp::bind((Ipv4Addr::UNSPECIFIED, 0).into(), None, reset))
    }

    /// Returns its own address.
    #[cfg(test)]
    pub(super) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns `remote` as an address of the family of this socket, if it can reach that.
    pub(super) fn calls(&self, remote: SocketAddr) -> Option<SocketAddr> {
        match (self.local.ip(), remote.ip()) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => Some(remote),
            (IpAddr::V6(own), IpAddr::V4(ip)) if own.is_unspecified() => {
                Some(SocketAddr::new(ip.to_ipv6_mapped().into(), remote.port()))
            }
            _ => None,
        }
    }

    /// Returns the number of datagrams of up to `mtu` octets that may leave in one call.
    pub(super) fn segments(&self, mtu: u16) -> usize {
        let most = SEGMENTED / usize::from(mtu.max(1));
        self.state.max_gso_segments().min(most).max(1)
    }

    /// Reads received datagrams and passes the event of each to `meant`.
    pub(super) fn receive(&mut self, now: Instant, mut meant: impl FnMut(&mut Endpoint, DatagramEvent)) {
        let mut meta = [RecvMeta::default(); RECEIVES];
        let begun = Instant::now();
        while begun.elapsed() < READING {
            let mut slices = self.receive.chunks_exact_mut(COALESCED).map(IoSliceMut::new);
            let mut buffers: [IoSliceMut<'_>; RECEIVES] =
                std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
            let count = match self.state.recv((&self.socket).into(), &mut buffers, &mut meta) {
                Ok(count) => count,
                // An ICMP error of an earlier send concerns no connection in particular, and is reported once.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => continue,
                Err(_) => return,
            };
            for (meta, buffer) in meta.iter().zip(&buffers).take(count) {
                // One copy for all datagrams of a coalesced receive, which are slices of it. The memory is reused when
                // the last of them is dropped.
                self.arrived.extend_from_slice(&buffer[..meta.len]);
                let mut data = self.arrived.split();
                // A socket with a single address has none to choose for an answer.
                let own = if self.local.ip().is_unspecified() { meta.dst_ip } else { None };
                while !data.is_empty() {
                    let datagram = data.split_to(meta.stride.max(1).min(data.len()));
                    self.answer.clear();
                    let event = self.endpoint.handle(now, meta.addr, own, None, datagram, &mut self.answer);
                    #[cfg(test)]
                    if matches!(event, None | Some(DatagramEvent::Response(_))) {
                        self.strays += 1;
                    }
                    match event {
                        Some(DatagramEvent::Response(transmit)) => {
                            send(&self.socket, &self.state, &transmit, &self.answer, transmit.src_ip).ok();
                        }
                        Some(event) => meant(&mut self.endpoint, event),
                        None => {}
                    }
                }
            }
            if count < RECEIVES {
                return;
            }
        }
        self.more = true;
    }

    /// Passes one transmission to the kernel. Only `WouldBlock` is to be retried.
    pub(super) fn send(
        &mut self,
        transmit: &quinn_proto::Transmit,
        data: &[u8],
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        let sent = send(&self.socket, &self.state, transmit, data, from);
        self.full = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        sent
    }

    #[cfg(test)]
    pub(super) fn rebind(&mut self) {
        let address = SocketAddr::new(self.local.ip(), 0);
        let socket = UdpSocket::bind(address).unwrap();
        self.state = UdpSocketState::new((&socket).into()).unwrap();
        self.local = socket.local_addr().unwrap();
        self.socket = socket;
    }
}

fn send(
    socket: &UdpSocket,
    state: &UdpSocketState,
    transmit: &quinn_proto::Transmit,
    data: &[u8],
    src_ip: Option<IpAddr>,
) -> io::Result<()> {
    let transmit = quinn_udp::Transmit {
        destination: transmit.destination,
        // This layer does not react to marks, so its packets must not be ECN-capable (RFC 3168, section 6.1).
        ecn: None,
        contents: &data[..transmit.size],
        segment_size: transmit.segment_size,
        src_ip,
    };
    state.try_send(socket.into(), &transmit)
}
