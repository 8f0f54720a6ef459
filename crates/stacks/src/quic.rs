//! QUIC (RFC 9000) of `quinn-proto`: a client at the originator, a server at the responder, and a unidirectional
//! stream from the client, which it fills for as long as the run lasts.

mod settings;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use cellway_sim::{Ends, Setup, Stack};
use cellway_units::{Ecn, Time};
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent,
    StreamId, Transmit, TransportConfig,
};

use crate::clock::Clock;
use settings::Settings;

/// The port of the client: the first of those for private use. RFC 6335 section 6.
const CLIENT_PORT: u16 = 49_152;
/// The port of the server: that of HTTP over QUIC. RFC 9114 section 3.1.
const SERVER_PORT: u16 = 443;
/// The octets of one write to the stream.
const WRITE: usize = 64 << 10;
/// Every path of QUIC takes datagrams of this size (octets). RFC 9000 section 14.
const LEAST_DATAGRAM: usize = 1200;

/// Returns a factory of bulk transfers for [`cellway_sim::Stacks::with`], with [`cellway_sim::Payload::Udp`].
/// `configure` changes the settings of each connection: the congestion control (CUBIC by default), the windows, and so
/// on; BBR of `quinn-proto` draws random numbers that cannot be seeded. Datagrams are as long as the path permits,
/// without a search for its MTU.
///
/// # Errors
/// The certificate cannot be made.
pub fn bulk(
    configure: impl Fn(&mut TransportConfig) + Send + Sync + 'static,
) -> Result<impl Fn(&Setup<'_>) -> Ends + Send + Sync + 'static, String> {
    let settings = Settings::new()?;
    Ok(move |setup: &Setup<'_>| {
        if setup.max_datagram < LEAST_DATAGRAM {
            return Err(format!(
                "QUIC needs datagrams of {LEAST_DATAGRAM} B (RFC 9000 section 14); the path takes {} B",
                setup.max_datagram
            ));
        }
        let mut transport = TransportConfig::default();
        let mtu = u16::try_from(setup.max_datagram).unwrap_or(u16::MAX);
        transport.initial_mtu(mtu).mtu_discovery_config(None).enable_segmentation_offload(false);
        configure(&mut transport);
        let transport = Arc::new(transport);
        let client = Quic::client(&settings, setup, transport.clone())?;
        let server = Quic::server(&settings, setup, transport);
        Ok([Box::new(client) as Box<dyn Stack>, Box::new(server)])
    })
}

/// One end of a connection.
struct Quic {
    clock: Clock,
    endpoint: Endpoint,
    /// The connection; a server has none before the first datagram.
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    /// The stream that the client fills, once it is open.
    sending: Option<StreamId>,
    /// The streams that the server reads.
    reading: Vec<StreamId>,
    is_client: bool,
    delivered: u64,
    /// Datagrams of the endpoint itself that wait to be sent.
    responses: VecDeque<(Vec<u8>, Ecn)>,
    failure: Option<String>,
}

impl Quic {
    fn client(settings: &Settings, setup: &Setup<'_>, transport: Arc<TransportConfig>) -> Result<Quic, String> {
        let mut quic = Quic::new(Endpoint::new(settings.endpoint(setup, 0), None, false, None), setup, 0);
        let config = settings.client(transport);
        let now = quic.clock.instant(setup.start);
        let connection = quic.endpoint.connect(now, config, quic.remote, settings::SERVER_NAME);
        quic.connection = Some(connection.map_err(|e| e.to_string())?);
        Ok(quic)
    }

    fn server(settings: &Settings, setup: &Setup<'_>, transport: Arc<TransportConfig>) -> Quic {
        let server = Some(Arc::new(settings.server(transport)));
        Quic::new(Endpoint::new(settings.endpoint(setup, 1), server, false, None), setup, 1)
    }

    /// Creates the client, `side` 0, or the server, without a connection.
    fn new(endpoint: Endpoint, setup: &Setup<'_>, side: usize) -> Quic {
        let port = [SERVER_PORT, CLIENT_PORT][side];
        Quic {
            clock: Clock::new(),
            endpoint,
            connection: None,
            remote: SocketAddr::new(setup.addresses[1 - side], port),
            sending: None,
            reading: Vec::new(),
            is_client: side == 0,
            delivered: 0,
            responses: VecDeque::new(),
            failure: None,
        }
    }

    fn respond(&mut self, transmit: &Transmit, mut contents: Vec<u8>) {
        contents.truncate(transmit.size);
        self.responses.push_back((contents, ecn_of(transmit)));
    }

    /// Processes the events of the connection, then reads and writes what is possible.
    fn process(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.is_client => self.sending = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.reading.extend(connection.streams().accept(Dir::Uni));
                }
                Event::ConnectionLost { reason } if reason != ConnectionError::LocallyClosed => {
                    self.failure.get_or_insert(format!("the connection is lost: {reason}"));
                }
                _ => {}
            }
        }
        for &stream in &self.reading {
            let mut stream = connection.recv_stream(stream);
            // Blocked, or at its end.
            let Ok(mut chunks) = stream.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.delivered += chunk.bytes.len() as u64;
            }
            // New credit for the peer goes out with the next transmit.
            let _ = chunks.finalize();
        }
        if let Some(stream) = self.sending {
            while connection.send_stream(stream).write(&[0; WRITE]).is_ok_and(|written| written > 0) {}
        }
    }
}

impl Stack for Quic {
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        let now = self.clock.instant(now);
        let mut response = Vec::new();
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        match self.endpoint.handle(now, self.remote, None, ecn, BytesMut::from(datagram), &mut response) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((known, connection)) = &mut self.connection
                    && *known == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut response, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        self.failure.get_or_insert(format!("the connection is not accepted: {}", error.cause));
                        if let Some(transmit) = error.response {
                            self.respond(&transmit, response);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.respond(&transmit, response),
            None => {}
        }
        self.process();
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        if let Some((contents, ecn)) = self.responses.pop_front() {
            buffer.extend_from_slice(&contents);
            return Some(ecn);
        }
        let now = self.clock.instant(now);
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, buffer)?;
        buffer.truncate(transmit.size);
        Some(ecn_of(&transmit))
    }

    fn deadline(&mut self) -> Option<Time> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|at| self.clock.time(at))
    }

    fn wake(&mut self, now: Time) {
        let now = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.process();
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the packets that loss detection has declared lost: QUIC sends their frames again in new packets.
    fn retransmissions(&self) -> Option<u64> {
        Some(self.connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets))
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

fn ecn_of(transmit: &Transmit) -> Ecn {
    transmit.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::from_traffic_class(codepoint as u8))
}
