//! Packets as octets. Data frames point into what was read, so that bytes are copied once.

use std::ops::Range;
use std::sync::Arc;

use cellway_units::Span;
use thiserror::Error;

use crate::packet::{Ack, FlowId, Frame, NUMBER_OCTETS, PS_PER_US, TpPacket};
use crate::reason::Reason;
use crate::request::Request;
use crate::varint;

const OPEN: u8 = 1;
const ACCEPTED: u8 = 2;
const REFUSED: u8 = 3;
const CREDIT: u8 = 4;
const RESET: u8 = 5;
const ACK: u8 = 6;
/// Data; the lowest bit ends the flow, the next one says that the `Open` may not have come.
const DATA: u8 = 8;
const FIN: u8 = 1;
const EARLY: u8 = 2;

/// What came is not a packet of a gateway.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// Less than a packet number and a frame.
    #[error("a packet of {0} octets; it must have a number of {NUMBER_OCTETS} octets and a frame")]
    Short(usize),
    /// A type that is not known.
    #[error("a frame of type {0}; it must be from 1 to 6 or from 8 to 11")]
    Type(u8),
    /// A frame is cut short, or says what it cannot mean.
    #[error("a frame of type {0} that is cut short or holds what it must not")]
    Frame(u8),
}

/// A packet that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The packet.
    pub packet: TpPacket,
    /// Where in what was read the bytes of its data frame are; empty if it has none.
    pub payload: Range<usize>,
}

impl TpPacket {
    /// Appends the packet to `out`. `payload` appends the bytes of the data frame: so many of the
    /// flow from that place on, and exactly those.
    pub fn encode(&self, out: &mut Vec<u8>, mut payload: impl FnMut(FlowId, u64, u32, &mut Vec<u8>)) {
        out.extend((self.number as u32).to_be_bytes());
        for frame in &self.frames {
            match frame {
                Frame::Open { flow, limit, request } => {
                    put(OPEN, [flow.0, *limit], out);
                    request.encode(out);
                }
                Frame::Accepted { flow, limit } => put(ACCEPTED, [flow.0, *limit], out),
                Frame::Refused { flow, reason } => {
                    put(REFUSED, [flow.0], out);
                    out.push(*reason as u8);
                }
                Frame::Credit { flow, limit } => put(CREDIT, [flow.0, *limit], out),
                Frame::Reset { flow, at, reason } => {
                    put(RESET, [flow.0, *at], out);
                    out.push(*reason as u8);
                }
                Frame::Ack(ack) => put_ack(ack, out),
                Frame::Data { flow, offset, len, fin, early } => {
                    let marks = if *fin { FIN } else { 0 } | if *early { EARLY } else { 0 };
                    put(DATA | marks, [flow.0, *offset], out);
                    let before = out.len();
                    payload(*flow, *offset, *len, out);
                    debug_assert_eq!(out.len() - before, *len as usize, "bytes of {flow:?} at {offset}");
                }
            }
        }
    }

    /// Reads a packet. `expected` is the number that would be the next in order
    /// ([`Gateway::expected`](crate::Gateway::expected)), from which its own is found.
    pub fn decode(input: &[u8], expected: u64) -> Result<Decoded, CodecError> {
        let mut decoded = Decoded::default();
        decoded.read(input, expected)?;
        Ok(decoded)
    }
}

impl Decoded {
    /// As [`TpPacket::decode`], in place of the packet before, whose memory is used again.
    pub fn read(&mut self, input: &[u8], expected: u64) -> Result<(), CodecError> {
        let frames = &mut self.packet.frames;
        frames.clear();
        self.payload = 0..0;
        let short = CodecError::Short(input.len());
        let (number, mut rest) = input.split_first_chunk().ok_or(short)?;
        self.packet.number = full_number(u32::from_be_bytes(*number), expected);
        if rest.is_empty() {
            return Err(short);
        }
        while let Some((&kind, after)) = rest.split_first() {
            rest = after;
            let frame = match kind {
                OPEN..=ACK => take_control(kind, &mut rest),
                DATA..16 if kind & !(DATA | FIN | EARLY) == 0 => take_data(kind, rest).inspect(|frame| {
                    if let Frame::Data { len, .. } = frame {
                        self.payload = input.len() - *len as usize..input.len();
                    }
                    rest = &[];
                }),
                _ => return Err(CodecError::Type(kind)),
            };
            frames.push(frame.ok_or(CodecError::Frame(kind))?);
        }
        Ok(())
    }
}

/// The number that ends in `low` and is closest to `expected`. RFC 9000, appendix A.3.
fn full_number(low: u32, expected: u64) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let candidate = expected & !(WINDOW - 1) | u64::from(low);
    if candidate + WINDOW / 2 <= expected {
        candidate + WINDOW
    } else if candidate > expected + WINDOW / 2 && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}

fn put<const N: usize>(kind: u8, numbers: [u64; N], out: &mut Vec<u8>) {
    out.push(kind);
    numbers.into_iter().for_each(|number| varint::put(number, out));
}
fn put_ack(ack: &Ack, out: &mut Vec<u8>) {
    let Some(&(first, newest)) = ack.ranges.first() else { return };
    let more = ack.ranges.len() as u64 - 1;
    put(ACK, [newest, ack.delay.as_ps() / PS_PER_US, more, newest - first], out);
    for pair in ack.ranges.windows(2) {
        varint::put(pair[0].0 - pair[1].1 - 2, out);
        varint::put(pair[1].1 - pair[1].0, out);
    }
}

fn take_control(kind: u8, input: &mut &[u8]) -> Option<Frame> {
    if kind == ACK {
        return take_ack(input).map(Frame::Ack);
    }
    let flow = FlowId(varint::take(input)?);
    Some(match kind {
        OPEN => {
            let limit = varint::take(input)?;
            Frame::Open { flow, limit, request: Arc::new(Request::decode(input)?) }
        }
        ACCEPTED => Frame::Accepted { flow, limit: varint::take(input)? },
        REFUSED => Frame::Refused { flow, reason: take_reason(input)? },
        CREDIT => Frame::Credit { flow, limit: varint::take(input)? },
        RESET => Frame::Reset { flow, at: varint::take(input)?, reason: take_reason(input)? },
        _ => return None,
    })
}
fn take_data(kind: u8, mut input: &[u8]) -> Option<Frame> {
    let flow = FlowId(varint::take(&mut input)?);
    let offset = varint::take(&mut input)?;
    let len = u32::try_from(input.len()).ok()?;
    Some(Frame::Data { flow, offset, len, fin: kind & FIN != 0, early: kind & EARLY != 0 })
}
fn take_reason(input: &mut &[u8]) -> Option<Reason> {
    let (&octet, rest) = input.split_first()?;
    *input = rest;
    Reason::from_octet(octet)
}
fn take_ack(input: &mut &[u8]) -> Option<Ack> {
    let [newest, delay, more, len] = [(); 4].map(|()| varint::take(input));
    let (newest, mut more) = (newest?, more?);
    let mut first = newest.checked_sub(len?)?;
    let delay = Span::from_ps(delay?.checked_mul(PS_PER_US)?);
    let mut ranges = vec![(first, newest)];
    while more > 0 {
        let last = first.checked_sub(varint::take(input)?)?.checked_sub(2)?;
        first = last.checked_sub(varint::take(input)?)?;
        ranges.push((first, last));
        more -= 1;
    }
    Some(Ack { ranges, delay })
}
