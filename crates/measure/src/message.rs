//! The protocol. A connection begins with eight octets that name it, then one octet for its kind: control, followed by
//! messages, each a length of four octets (most significant first) and that much JSON; or data, followed by the token
//! of the test, the number of the stream in four octets, and the data.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::stream::{Received, Sent};
use crate::{Error, Test};

/// Name and version of the protocol.
const MAGIC: [u8; 8] = *b"CELLWAY1";
/// The longest request, and the longest report.
const ASK_MAX: u32 = 64 << 10;
const REPORT_MAX: u32 = 16 << 20;

/// Identifies the test to which a data connection belongs.
pub(crate) type Token = [u8; 16];

/// The first octets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Control,
    Data { token: Token, stream: u32 },
}

impl Opening {
    pub(crate) fn write(self, mut to: impl Write) -> io::Result<()> {
        let mut octets = MAGIC.to_vec();
        match self {
            Opening::Control => octets.push(b'C'),
            Opening::Data { token, stream } => {
                octets.push(b'D');
                octets.extend(token);
                octets.extend(stream.to_be_bytes());
            }
        }
        to.write_all(&octets)
    }

    /// Reads them; `None` for another protocol.
    pub(crate) fn read(mut from: impl Read) -> io::Result<Option<Opening>> {
        let mut start = [0; MAGIC.len() + 1];
        from.read_exact(&mut start)?;
        if start[..MAGIC.len()] != MAGIC {
            return Ok(None);
        }
        match start[MAGIC.len()] {
            b'C' => Ok(Some(Opening::Control)),
            b'D' => {
                let (mut token, mut stream) = (Token::default(), [0; 4]);
                from.read_exact(&mut token)?;
                from.read_exact(&mut stream)?;
                Ok(Some(Opening::Data { token, stream: u32::from_be_bytes(stream) }))
            }
            _ => Ok(None),
        }
    }
}

/// The request of the client, its first message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) test: Test,
}

/// The answer of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The server waits for the data connections.
    Ready {
        token: Token,
        limits: crate::Limits,
    },
    /// All of them are open: begin.
    Go,
    Refused {
        reason: String,
    },
}

/// The last message of each side.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    Sent(Vec<Sent>),
    Received(Vec<Received>),
    Failed { reason: String },
}

/// Reads from a connection until a deadline, however slowly the octets arrive.
pub(crate) struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Until<'_> {
    pub(crate) fn new(stream: &TcpStream, within: Duration) -> Until<'_> {
        Until { stream, end: Instant::now() + within }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream
            .read(buffer)
            .map_err(|e| if e.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { e })
    }
}

/// A message and its longest length.
pub(crate) trait Message: Serialize + DeserializeOwned {
    const MAX: u32;
}
impl Message for Ask {
    const MAX: u32 = ASK_MAX;
}
impl Message for Answer {
    const MAX: u32 = ASK_MAX;
}
impl Message for Report {
    const MAX: u32 = REPORT_MAX;
}

pub(crate) fn send<M: Message>(mut to: &TcpStream, message: &M) -> Result<(), Error> {
    let text = serde_json::to_vec(message).map_err(|e| Error::Protocol { what: e.to_string() })?;
    let length = u32::try_from(text.len()).ok().filter(|&n| n <= M::MAX);
    let length = length.ok_or_else(|| Error::Protocol { what: format!("a message of {} B", text.len()) })?;
    let octets = [&length.to_be_bytes()[..], &text].concat();
    to.write_all(&octets).map_err(Error::peer)
}

/// Reads a complete message, which must arrive `within` a time.
pub(crate) fn receive<M: Message>(from: &TcpStream, within: Duration) -> Result<M, Error> {
    let mut from = Until::new(from, within);
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(Error::peer)?;
    let length = u32::from_be_bytes(length);
    if length > M::MAX {
        return Err(Error::Protocol { what: format!("a message of {length} B; at most {} B", M::MAX) });
    }
    let mut text = Vec::new();
    // Grows with the received octets, not with the announced length.
    from.take(length.into()).read_to_end(&mut text).map_err(Error::peer)?;
    serde_json::from_slice(&text).map_err(|e| Error::Protocol { what: e.to_string() })
}
