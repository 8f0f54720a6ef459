//! The client, which requests tests.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::message::{self, Answer, Ask, Opening};
use crate::transfer::transfer;
use crate::{Error, Outcome, Test};

const CONNECT: Duration = Duration::from_secs(10);
/// A server that is busy with the test of another client answers later.
const ANSWER: Duration = Duration::from_secs(30);

/// Runs one test with the server at `host` and `port`. `stop` is called several times a second; it returns true to
/// cancel the test.
pub fn run(host: &str, port: u16, test: &Test, stop: &mut dyn FnMut() -> bool) -> Result<Outcome, Error> {
    test.check()?;
    let receives = test.reverse;
    let options = test.options(receives);
    let (to, control) = connect(host, port)?;
    let socket = |to: SocketAddr| {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).map_err(Error::peer)?;
        options.apply(&socket)?;
        Ok::<Socket, Error>(socket)
    };
    // Options that this kernel refuses are found before the server is contacted.
    drop(socket(to)?);
    Opening::Control.write(&control).map_err(Error::peer)?;
    message::send(&control, &Ask { test: test.clone() })?;
    let (token, limits) = match message::receive(&control, ANSWER)? {
        Answer::Ready { token, limits } => (token, limits),
        Answer::Refused { reason } => return Err(Error::Refused { reason }),
        Answer::Go => return Err(Error::Protocol { what: "an answer out of turn".to_owned() }),
    };
    let mut data: Vec<TcpStream> = Vec::new();
    for stream in 0..test.streams {
        let socket = socket(to)?;
        socket.connect_timeout(&to.into(), CONNECT).map_err(|source| Error::Connect { to: to.to_string(), source })?;
        Opening::Data { token, stream }.write(&socket).map_err(Error::peer)?;
        data.push(socket.into());
    }
    match message::receive(&control, ANSWER)? {
        Answer::Go => {}
        Answer::Refused { reason } => return Err(Error::Refused { reason }),
        Answer::Ready { .. } => return Err(Error::Protocol { what: "an answer out of turn".to_owned() }),
    }
    transfer(&control, &data, test, receives, limits, stop)
}

/// Connects to the first address of the host that accepts the connection.
fn connect(host: &str, port: u16) -> Result<(SocketAddr, TcpStream), Error> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let unknown = |source| Error::Host { host: host.to_owned(), source };
    let addresses: Vec<SocketAddr> = (name, port).to_socket_addrs().map_err(unknown)?.collect();
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for to in addresses {
        match TcpStream::connect_timeout(&to, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(Error::peer)?;
                stream.set_write_timeout(Some(CONNECT)).map_err(Error::peer)?;
                return Ok((to, stream));
            }
            Err(e) => last = e,
        }
    }
    Err(Error::Connect { to: format!("{host} port {port}"), source: last })
}
