//! The server, which waits for requests.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cellway_units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

use crate::message::{self, Answer, Ask, Opening, Token, Until};
use crate::tcp::TcpOptions;
use crate::transfer::transfer;
use crate::{Error, Limit, Outcome, Test};

/// The time limit for the first octets of a connection.
const OPENING: Duration = Duration::from_secs(1);
/// The time limit for the request, and for the data connections.
const CONNECTIONS: Duration = Duration::from_secs(10);
/// Most connections that wait while another test runs.
const WAITING_MAX: usize = 64;
/// The interval between two calls of `stop`.
const TICK: Duration = Duration::from_millis(100);

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The longest test.
    #[serde(with = "crate::text")]
    pub max_time: Span,
    /// The most bytes of one test, all streams together.
    #[serde(with = "crate::text")]
    pub max_bytes: Bytes,
}

impl Default for Limits {
    /// Returns 5 min and 100 GiB.
    fn default() -> Limits {
        Limits { max_time: Span::from_secs(300), max_bytes: Bytes(100 << 30) }
    }
}

impl Limits {
    fn check(&self, test: &Test) -> Result<(), Error> {
        let wrong = |what, given: String, accepted: String| Err(Error::Range { what, given, accepted });
        match test.limit {
            Limit::Time(time) if time > self.max_time => {
                wrong("the time", time.to_string(), format!("{} or less (--max-time of the server)", self.max_time))
            }
            Limit::Bytes(bytes) if bytes > self.max_bytes => {
                let accepted = format!("{} or less (--max-bytes of the server)", self.max_bytes);
                wrong("the amount of data", bytes.to_string(), accepted)
            }
            _ => Ok(()),
        }
    }
}

/// Waits for tests and serves one after another.
#[derive(Debug)]
pub struct Server {
    at: SocketAddr,
    /// `None` only while it is replaced.
    listener: Option<TcpListener>,
    /// Connections that were accepted when the listener was replaced, and have not been served.
    waiting: VecDeque<(TcpStream, SocketAddr)>,
    /// The options that accepted connections inherit from the listener.
    set: TcpOptions,
    limits: Limits,
}

impl Server {
    /// Listens at `address`, or without one at all addresses of this host, IPv4 and IPv6.
    pub fn bind(address: Option<IpAddr>, port: u16, limits: Limits) -> Result<Server, Error> {
        let set = TcpOptions::default();
        let (at, listener) = match address {
            Some(address) => listen(SocketAddr::new(address, port), &set)?,
            None => listen((Ipv6Addr::UNSPECIFIED, port).into(), &set)
                .or_else(|_| listen((Ipv4Addr::UNSPECIFIED, port).into(), &set))?,
        };
        Ok(Server { at, listener: Some(listener), waiting: VecDeque::new(), set, limits })
    }

    /// Returns the address of the listener, with the port that the kernel chose if 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Serves until `stop`, or with `once` until one test has ended or failed. Failures, also of connections of other
    /// protocols, are reported and do not end the server.
    pub fn serve(
        &mut self,
        once: bool,
        told: &mut dyn FnMut(SocketAddr, Result<(Test, Outcome), Error>),
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        loop {
            if stop() {
                return Err(Error::Stopped);
            }
            let next = match self.waiting.pop_front() {
                Some(next) => Some(next),
                None => self.accept()?,
            };
            let Some((control, from)) = next else { continue };
            let asked = ask(&control);
            let test = match asked {
                Ok(test) => test,
                Err(error) => {
                    told(from, Err(error));
                    continue;
                }
            };
            let done = self.one(&control, &test, stop);
            let stopped = matches!(done, Err(Error::Stopped));
            let refused = matches!(done, Err(Error::Refused { .. }));
            let failed = done.is_err();
            told(from, done.map(|outcome| (test, outcome)));
            self.fit(&TcpOptions::default())?;
            match () {
                () if stopped => return Err(Error::Stopped),
                () if once && !refused => {
                    let reason = "the test did not come to its end".to_owned();
                    return if failed { Err(Error::PeerFailed { reason }) } else { Ok(()) };
                }
                () => {}
            }
        }
    }

    /// Runs one test, from the answer to the reports.
    fn one(&mut self, control: &TcpStream, test: &Test, stop: &mut dyn FnMut() -> bool) -> Result<Outcome, Error> {
        let receives = !test.reverse;
        let options = test.options(receives);
        let possible = || {
            test.check()?;
            self.limits.check(test)?;
            let socket = Socket::new(Domain::for_address(self.at), Type::STREAM, None).map_err(Error::peer)?;
            options.apply(&socket)
        };
        if let Err(error) = possible() {
            let reason = error.to_string();
            message::send(control, &Answer::Refused { reason: reason.clone() })?;
            return Err(Error::Refused { reason });
        }
        // The options that apply before the handshake: window and segment size.
        self.fit(&TcpOptions { window: options.window, mss: options.mss, ..TcpOptions::default() })?;
        let token = token()?;
        message::send(control, &Answer::Ready { token, limits: self.limits })?;
        let data = self.streams(token, test, &options, stop)?;
        // Now rather than after the test, when its client may already request the next one.
        self.fit(&TcpOptions::default())?;
        message::send(control, &Answer::Go)?;
        transfer(control, &data, test, receives, self.limits, stop)
    }

    /// Accepts the data connections of a test. Returns them in order.
    fn streams(
        &self,
        token: Token,
        test: &Test,
        options: &TcpOptions,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<TcpStream>, Error> {
        let began = Instant::now();
        let mut data: Vec<Option<TcpStream>> = (0..test.streams).map(|_| None).collect();
        while data.iter().any(Option::is_none) {
            if stop() {
                return Err(Error::Stopped);
            }
            if began.elapsed() > CONNECTIONS {
                return Err(Error::Streams {
                    came: data.iter().flatten().count(),
                    streams: test.streams,
                    within: Span::from_secs(CONNECTIONS.as_secs()),
                });
            }
            let Some((stream, _)) = self.accept()? else { continue };
            match Opening::read(Until::new(&stream, OPENING)) {
                Ok(Some(Opening::Data { token: its, stream: index })) if its == token => {
                    options.apply_to_sender(&socket2::SockRef::from(&stream))?;
                    options.hold_window(&stream)?;
                    if let Some(place @ None) = data.get_mut(index as usize) {
                        *place = Some(stream);
                    }
                }
                Ok(Some(Opening::Control)) => {
                    let reason = "it is busy with the test of another; try again later".to_owned();
                    // Best effort: a failure does not concern the current test.
                    let _ = message::send(&stream, &Answer::Refused { reason });
                }
                // A connection of another test or protocol is dropped.
                _ => {}
            }
        }
        Ok(data.into_iter().flatten().collect())
    }

    /// Returns the next connection, or `None` after a short time.
    fn accept(&self) -> Result<Option<(TcpStream, SocketAddr)>, Error> {
        let failed = |source| Error::Listen { at: self.at.to_string(), source };
        let Some(listener) = &self.listener else { return Ok(None) };
        match listener.accept() {
            Ok((stream, from)) => {
                stream.set_nodelay(true).map_err(failed)?;
                stream.set_write_timeout(Some(CONNECTIONS)).map_err(failed)?;
                Ok(Some((stream, from)))
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            // It was reset before it was accepted.
            Err(e) if e.kind() == ErrorKind::ConnectionAborted => Ok(None),
            Err(e) => Err(failed(e)),
        }
    }

    /// Sets the options that accepted connections inherit. Buffers cannot be reset, so the listener is replaced.
    fn fit(&mut self, options: &TcpOptions) -> Result<(), Error> {
        if self.set != *options {
            // Connections in the backlog would be reset with the old listener.
            if let Some(old) = self.listener.take() {
                let knocked = old.set_nonblocking(true).is_ok();
                while knocked && self.waiting.len() < WAITING_MAX {
                    let Ok((stream, from)) = old.accept() else { break };
                    let failed = |source| Error::Listen { at: self.at.to_string(), source };
                    stream.set_nodelay(true).map_err(failed)?;
                    stream.set_write_timeout(Some(CONNECTIONS)).map_err(failed)?;
                    self.waiting.push_back((stream, from));
                }
            }
            self.listener = Some(listen(self.at, options)?.1);
            self.set = options.clone();
        }
        Ok(())
    }
}

/// Reads the request of a connection.
fn ask(control: &TcpStream) -> Result<Test, Error> {
    match Opening::read(Until::new(control, OPENING)) {
        Ok(Some(Opening::Control)) => Ok(message::receive::<Ask>(control, CONNECTIONS)?.test),
        Ok(Some(Opening::Data { .. })) => Err(Error::Protocol { what: "data for no test that runs".to_owned() }),
        Ok(None) => Err(Error::Protocol { what: "it does not begin like one".to_owned() }),
        Err(source) => Err(Error::Peer { source }),
    }
}

fn listen(at: SocketAddr, options: &TcpOptions) -> Result<(SocketAddr, TcpListener), Error> {
    let failed = |source| Error::Listen { at: at.to_string(), source };
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None).map_err(failed)?;
    if at.ip() == Ipv6Addr::UNSPECIFIED {
        socket.set_only_v6(false).map_err(failed)?;
    }
    socket.set_reuse_address(true).map_err(failed)?;
    options.apply(&socket)?;
    socket.bind(&at.into()).map_err(failed)?;
    socket.listen(128).map_err(failed)?;
    socket.set_read_timeout(Some(TICK)).map_err(failed)?;
    let listener: TcpListener = socket.into();
    Ok((listener.local_addr().map_err(failed)?, listener))
}

fn token() -> Result<Token, Error> {
    let mut token = Token::default();
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut token)).map_err(Error::peer)?;
    Ok(token)
}
