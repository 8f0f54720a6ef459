//! The record layer over TLS.
//!
//! A record is two octets of length, in network order, and as many octets of a packet; the first record is the hello.
//! Length 0 is a keep-alive. Length 65535 is the sender's reason to end: two octets of length again, one of [`Ending`],
//! and text.

use bytes::{Buf, Bytes, BytesMut};

use super::hello;
use super::link::{Ending, Loss};

/// Most octets of a packet: with its length it fits one record of TLS (RFC 8446, section 5.1).
pub(crate) const PAYLOAD: usize = (1 << 14) - 2;
const LAST_WORDS: usize = 0xffff;

/// The content of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Hello(Bytes),
    Packet(Bytes),
}

/// Octets that have arrived and are not yet processed.
#[derive(Debug, Default)]
pub(crate) struct Records {
    input: BytesMut,
    heard_hello: bool,
}

impl Records {
    /// Returns a buffer for `octets` more.
    pub(crate) fn room(&mut self, octets: usize) -> &mut [u8] {
        let before = self.input.len();
        self.input.resize(before + octets, 0);
        &mut self.input[before..]
    }

    /// Returns the next complete record.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, Loss> {
        while let Some(length) = length_at(&self.input, 0) {
            if length == LAST_WORDS {
                let Some(length) = length_at(&self.input, 2) else { break };
                let Some(words) = self.input.get(4..4 + length) else { break };
                let (code, text) = words.split_first().unwrap_or((&0, &[]));
                return Err(Loss::reported(Ending::from(u64::from(*code)), &String::from_utf8_lossy(text)));
            }
            if length > PAYLOAD {
                return Err(Loss::other("its records are longer than any packet"));
            }
            if self.input.len() < 2 + length {
                break;
            }
            self.input.advance(2);
            let record = self.input.split_to(length).freeze();
            if record.is_empty() {
                continue;
            }
            if self.heard_hello {
                return Ok(Some(Record::Packet(record)));
            }
            if record.len() > hello::MOST {
                return Err(Loss::other("its hello is malformed"));
            }
            self.heard_hello = true;
            return Ok(Some(Record::Hello(record)));
        }
        Ok(None)
    }
}

fn length_at(input: &[u8], at: usize) -> Option<usize> {
    let octets = input.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes([octets[0], octets[1]])))
}
