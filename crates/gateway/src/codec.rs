//! Packets as octets. Data frames refer to the input buffer, so that bytes are copied once.

use std::ops::Range;
use std::sync::Arc;

use bytes::BufMut;
use cellway_units::{Rate, Span, Time};
use thiserror::Error;

use crate::lease::Lease;
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
const RETURN: u8 = 7;
/// Data; the lowest bit ends the flow, the next one is set if the `Open` may not have arrived, the highest one if the
/// last byte is urgent.
const DATA: u8 = 8;
const FIN: u8 = 1;
const EARLY: u8 = 2;
const URGENT: u8 = 16;
const RECALL: u8 = 12;
const RATE: u8 = 13;
/// An `Open` with a lease.
const LEASED: u8 = 14;
/// An `Ack` with the time of sending.
const TIMED_ACK: u8 = 15;

/// Input that is not a packet of a gateway.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// Less than a packet number and a frame.
    #[error("a packet of {0} octets; it must have a number of {NUMBER_OCTETS} octets and a frame")]
    Short(usize),
    /// A frame of an unknown type.
    #[error("a frame of type {0}; it must be from 1 to 14 or from 24 to 27")]
    Type(u8),
    /// A truncated frame, or one with an invalid value.
    #[error("a frame of type {0} that is cut short or holds what it must not")]
    Frame(u8),
}

/// A decoded packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The packet.
    pub packet: TpPacket,
    /// The position of the bytes of its data frame in the input; empty if it has none.
    pub payload: Range<usize>,
}

impl TpPacket {
    /// Appends the packet to `out`. `payload` appends exactly the bytes of the data frame: its arguments are the flow,
    /// the offset and the length.
    pub fn encode<B: BufMut>(&self, out: &mut B, mut payload: impl FnMut(FlowId, u64, u32, &mut B)) {
        out.put_u32(self.number as u32);
        for frame in &self.frames {
            match frame {
                Frame::Open { flow, limit, lease, request } => {
                    match lease {
                        None => put(OPEN, [flow.0, *limit], out),
                        Some(Lease { after, within }) => {
                            put(LEASED, [flow.0, *limit, *after, within.as_ps() / PS_PER_US], out);
                        }
                    }
                    request.encode(out);
                }
                Frame::Accepted { flow, limit } => put(ACCEPTED, [flow.0, *limit], out),
                Frame::Refused { flow, reason } => {
                    put(REFUSED, [flow.0], out);
                    out.put_u8(*reason as u8);
                }
                Frame::Credit { flow, limit } => put(CREDIT, [flow.0, *limit], out),
                Frame::Reset { flow, at, reason } => {
                    put(RESET, [flow.0, *at], out);
                    out.put_u8(*reason as u8);
                }
                Frame::Ack(ack) => put_ack(ack, out),
                Frame::Return { flow, total, at } => put(RETURN, [flow.0, *total, *at], out),
                Frame::Recall => out.put_u8(RECALL),
                Frame::Rate { rate } => put(RATE, [rate.as_bps().min(varint::MAX)], out),
                Frame::Data { flow, offset, len, fin, early, urgent } => {
                    let mark = |set: &bool, bit| if *set { bit } else { 0 };
                    let marks = mark(fin, FIN) | mark(early, EARLY) | mark(urgent, URGENT);
                    put(DATA | marks, [flow.0, *offset], out);
                    let before = out.remaining_mut();
                    payload(*flow, *offset, *len, out);
                    debug_assert_eq!(before - out.remaining_mut(), *len as usize, "bytes of {flow:?} at {offset}");
                }
            }
        }
    }

    /// Decodes a packet. `expected` is the number that would be the next in order
    /// ([`Gateway::expected`](crate::Gateway::expected)), from which the full number is recovered.
    pub fn decode(input: &[u8], expected: u64) -> Result<Decoded, CodecError> {
        let mut decoded = Decoded::default();
        decoded.read(input, expected)?;
        Ok(decoded)
    }
}

impl Decoded {
    /// Decodes a packet like [`TpPacket::decode`] into `self`, and reuses its memory.
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
                RECALL => Some(Frame::Recall),
                RATE => varint::take(&mut rest).map(|bps| Frame::Rate { rate: Rate::from_bps(bps) }),
                ACK | TIMED_ACK => take_ack(kind == TIMED_ACK, &mut rest).map(Frame::Ack),
                OPEN..=RETURN | LEASED => take_control(kind, &mut rest),
                _ if kind & !(FIN | EARLY | URGENT) == DATA => take_data(kind, rest).inspect(|frame| {
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

/// Returns the number that ends in `low` and is closest to `expected`. RFC 9000, appendix A.3.
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

fn put<const N: usize>(kind: u8, numbers: [u64; N], out: &mut impl BufMut) {
    out.put_u8(kind);
    numbers.into_iter().for_each(|number| varint::put(number, out));
}
fn put_ack(ack: &Ack, out: &mut impl BufMut) {
    let Some(&(first, newest)) = ack.ranges.first() else { return };
    let more = ack.ranges.len() as u64 - 1;
    let delay = ack.delay.as_ps() / PS_PER_US;
    match ack.sent {
        None => put(ACK, [newest, delay, more, newest - first], out),
        Some(sent) => put(TIMED_ACK, [newest, delay, sent.as_ps() / PS_PER_US, more, newest - first], out),
    }
    for pair in ack.ranges.windows(2) {
        varint::put(pair[0].0 - pair[1].1 - 2, out);
        varint::put(pair[1].1 - pair[1].0, out);
    }
}

fn take_control(kind: u8, input: &mut &[u8]) -> Option<Frame> {
    let flow = FlowId(varint::take(input)?);
    Some(match kind {
        OPEN => {
            let limit = varint::take(input)?;
            Frame::Open { flow, limit, lease: None, request: Arc::new(Request::decode(input)?) }
        }
        LEASED => {
            let [limit, after, within] = [(); 3].map(|()| varint::take(input));
            let within = Span::from_ps(within?.checked_mul(PS_PER_US)?);
            let lease = Some(Lease { after: after?, within });
            Frame::Open { flow, limit: limit?, lease, request: Arc::new(Request::decode(input)?) }
        }
        ACCEPTED => Frame::Accepted { flow, limit: varint::take(input)? },
        REFUSED => Frame::Refused { flow, reason: take_reason(input)? },
        CREDIT => Frame::Credit { flow, limit: varint::take(input)? },
        RETURN => Frame::Return { flow, total: varint::take(input)?, at: varint::take(input)? },
        RESET => Frame::Reset { flow, at: varint::take(input)?, reason: take_reason(input)? },
        _ => return None,
    })
}
fn take_data(kind: u8, mut input: &[u8]) -> Option<Frame> {
    let flow = FlowId(varint::take(&mut input)?);
    let offset = varint::take(&mut input)?;
    let len = u32::try_from(input.len()).ok()?;
    let marked = |bit| kind & bit != 0;
    Some(Frame::Data { flow, offset, len, fin: marked(FIN), early: marked(EARLY), urgent: marked(URGENT) })
}
fn take_reason(input: &mut &[u8]) -> Option<Reason> {
    let (&octet, rest) = input.split_first()?;
    *input = rest;
    Reason::from_octet(octet)
}
fn take_ack(timed: bool, input: &mut &[u8]) -> Option<Ack> {
    let [newest, delay] = [(); 2].map(|()| varint::take(input));
    let newest = newest?;
    let delay = Span::from_ps(delay?.checked_mul(PS_PER_US)?);
    let sent = if timed { Some(Time::from_ps(varint::take(input)?.checked_mul(PS_PER_US)?)) } else { None };
    let mut more = varint::take(input)?;
    let mut first = newest.checked_sub(varint::take(input)?)?;
    let mut ranges = vec![(first, newest)];
    while more > 0 {
        let last = first.checked_sub(varint::take(input)?)?.checked_sub(2)?;
        first = last.checked_sub(varint::take(input)?)?;
        ranges.push((first, last));
        more -= 1;
    }
    Some(Ack { ranges, delay, sent })
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::request::{MAX_NAME, Server};

    fn number() -> impl Strategy<Value = u64> {
        (0..=varint::MAX, 0u32..62).prop_map(|(value, shift)| value >> shift)
    }
    fn reason() -> impl Strategy<Value = Reason> {
        (0..Reason::ALL.len()).prop_map(|i| Reason::ALL[i])
    }
    fn address() -> impl Strategy<Value = SocketAddr> {
        prop_oneof![any::<([u8; 4], u16)>().prop_map(Into::into), any::<([u8; 16], u16)>().prop_map(Into::into)]
    }
    fn request() -> impl Strategy<Value = Request> {
        let name = prop_oneof!["[a-z.]{0,20}", Just("n".repeat(MAX_NAME))];
        let name = (name, any::<u16>()).prop_map(|(name, port)| Server::Name(name.into(), port));
        let server = prop_oneof![address().prop_map(Server::Address), name];
        (prop::option::of(address()), server, any::<bool>()).prop_map(|(client, server, early)| Request {
            client,
            server,
            early,
        })
    }
    fn lease() -> impl Strategy<Value = Lease> {
        (number(), 0..=u64::MAX / PS_PER_US).prop_map(|(after, us)| Lease { after, within: Span::from_us(us) })
    }
    fn ack() -> impl Strategy<Value = Frame> {
        let runs = prop::collection::vec((0u64..400, 0u64..400), 1..33);
        (number(), runs, 0u64..100_000, proptest::option::of(0u64..1 << 43)).prop_map(|(newest, runs, delay, sent)| {
            let mut ranges = Vec::new();
            let mut last = newest.max(40_000);
            for (length, gap) in runs {
                ranges.push((last - length, last));
                last -= length + gap + 2;
            }
            Frame::Ack(Ack { ranges, delay: Span::from_us(delay), sent: sent.map(|us| Time::ZERO + Span::from_us(us)) })
        })
    }
    fn control() -> impl Strategy<Value = Frame> {
        let flow = || number().prop_map(FlowId);
        prop_oneof![
            (flow(), number(), prop::option::of(lease()), request()).prop_map(|(flow, limit, lease, request)| {
                Frame::Open { flow, limit, lease, request: Arc::new(request) }
            }),
            (flow(), number()).prop_map(|(flow, limit)| Frame::Accepted { flow, limit }),
            (flow(), reason()).prop_map(|(flow, reason)| Frame::Refused { flow, reason }),
            (flow(), number()).prop_map(|(flow, limit)| Frame::Credit { flow, limit }),
            (flow(), number(), number()).prop_map(|(flow, total, at)| Frame::Return { flow, total, at }),
            Just(Frame::Recall),
            (0..=varint::MAX).prop_map(|bps| Frame::Rate { rate: Rate::from_bps(bps) }),
            (flow(), number(), reason()).prop_map(|(flow, at, reason)| Frame::Reset { flow, at, reason }),
            ack(),
        ]
    }
    prop_compose! {
        fn data()(
            flow in number(),
            offset in number(),
            len in 0u32..3000,
            [fin, early, urgent] in any::<[bool; 3]>(),
        ) -> Frame {
            Frame::Data { flow: FlowId(flow), offset, len, fin, early, urgent }
        }
    }
    prop_compose! {
        fn packet()(
            number in number(),
            mut frames in prop::collection::vec(control(), 0..5),
            last in prop_oneof![control(), data()],
        ) -> TpPacket {
            frames.push(last);
            TpPacket { number, frames }
        }
    }
    /// Returns bytes of a flow that differ with the offset.
    fn bytes(offset: u64, len: u32) -> impl Iterator<Item = u8> {
        (offset..offset + u64::from(len)).map(|place| (place % 251) as u8)
    }

    #[test]
    fn a_packet_octet_by_octet() {
        let request = Request {
            client: Some("192.0.2.1:4660".parse().unwrap()),
            server: Server::Name("ab".into(), 80),
            early: true,
        };
        let lease = Some(Lease { after: 5, within: Span::from_us(65) });
        let open = Frame::Open { flow: FlowId(2), limit: 16_384, lease, request: Arc::new(request) };
        let ack = Frame::Ack(Ack {
            ranges: vec![(7, 9), (3, 4)],
            delay: Span::from_us(64),
            sent: Some(Time::from_ps(9 * PS_PER_US)),
        });
        let data = Frame::Data { flow: FlowId(2), offset: 0, len: 3, fin: true, early: true, urgent: true };
        let packet = TpPacket { number: 0x1_0000_0102, frames: vec![ack, open, data] };
        let mut out = Vec::new();
        packet.encode(&mut out, |_, _, _, out| out.extend(b"GET"));
        let octets: [&[u8]; 4] = [
            &[0, 0, 1, 2],
            &[15, 9, 0x40, 64, 9, 1, 2, 1, 1],
            &[14, 2, 0x80, 0, 0x40, 0, 5, 0x40, 65, 0x17, 192, 0, 2, 1, 0x12, 0x34, 2, b'a', b'b', 0, 80],
            &[27, 2, 0, b'G', b'E', b'T'],
        ];
        assert_eq!(out, octets.concat());
        assert_eq!(TpPacket::decode(&out, 0x1_0000_0000), Ok(Decoded { packet, payload: 37..40 }));
    }

    #[test]
    fn input_that_is_no_packet_is_refused() {
        let decode = |input: &[u8]| TpPacket::decode(input, 0).map(|decoded| decoded.packet.frames).unwrap_err();
        assert_eq!(decode(&[0, 0, 0]), CodecError::Short(3));
        assert_eq!(decode(&[0, 0, 0, 0]), CodecError::Short(4));
        assert_eq!(decode(&[0, 0, 0, 0, 0]), CodecError::Type(0));
        for kind in [16, 28, 40] {
            assert_eq!(decode(&[0, 0, 0, 0, kind, 0, 0]), CodecError::Type(kind));
        }
        for frame in [
            &[OPEN, 1, 1, 0x20, 0][..],
            &[OPEN, 1, 1, 0],
            &[LEASED, 1, 1, 1],
            &[LEASED, 1, 1, 1, 1, 0x20, 0],
            &[OPEN, 1, 1, NAME_LESS, 1, 0xff, 0, 80],
            &[REFUSED, 1, 0],
            &[RESET, 1, 1, 14],
            &[CREDIT, 1],
            &[RETURN, 1, 1],
            &[RATE, 0x40],
            &[ACK, 3, 0, 0, 4],
            &[ACK, 9, 0, 1, 0, 8, 0],
            &[TIMED_ACK, 3, 0, 0, 4],
            &[DATA, 0x40],
        ] {
            assert_eq!(decode(&[&[0; 4], frame].concat()), CodecError::Frame(frame[0]), "{frame:?}");
        }
    }
    /// Flags of a request without a client and with a name.
    const NAME_LESS: u8 = 3;

    #[test]
    fn numbers_are_recovered_from_the_expected_ones() {
        // RFC 9000, appendix A.3, has such an example.
        assert_eq!(full_number(0x9b32_0000, 0x1_a82f_30eb), 0x1_9b32_0000);
        assert_eq!((full_number(5, 0), full_number(u32::MAX, 0)), (5, u64::from(u32::MAX)));
        assert_eq!(full_number(3, 0xffff_fff0), 0x1_0000_0003);
        assert_eq!(full_number(0xffff_fff0, 0x1_0000_0003), 0xffff_fff0);
    }

    proptest! {
        #[test]
        fn encoded_values_are_decoded(packet in packet(), behind in -100_000i64..100_000) {
            let mut out = Vec::new();
            packet.encode(&mut out, |_, offset, len, out| out.extend(bytes(offset, len)));
            prop_assert_eq!(out.len() as u32, packet.octets());
            let mut at = out.len() as u32;
            for frame in packet.frames.iter().rev() {
                at -= frame.octets();
            }
            prop_assert_eq!(at, NUMBER_OCTETS);
            let decoded = TpPacket::decode(&out, packet.number.saturating_add_signed(behind)).unwrap();
            if let Some(&Frame::Data { offset, len, .. }) = packet.frames.last() {
                prop_assert!(bytes(offset, len).eq(out[decoded.payload.clone()].iter().copied()));
            } else {
                prop_assert!(decoded.payload.is_empty());
            }
            prop_assert_eq!(decoded.packet, packet);
        }

        #[test]
        fn octets_of_any_kind_are_read_or_refused(input in prop::collection::vec(any::<u8>(), 0..200), expected in number()) {
            if let Ok(Decoded { packet, payload }) = TpPacket::decode(&input, expected) {
                // A decoded packet can be encoded, in no more octets, and is then the same.
                let mut out = Vec::new();
                packet.encode(&mut out, |_, _, _, out| out.extend(&input[payload.clone()]));
                prop_assert!(out.len() <= input.len());
                prop_assert_eq!(TpPacket::decode(&out, expected).map(|again| again.packet), Ok(packet));
            }
        }

        #[test]
        fn a_damaged_packet_is_read_or_refused(packet in packet(), at in any::<prop::sample::Index>(), octet in any::<u8>(), cut in any::<bool>()) {
            let mut out = Vec::new();
            packet.encode(&mut out, |_, _, len, out| out.resize(out.len() + len as usize, 0));
            let at = at.index(out.len());
            if cut { out.truncate(at) } else { out[at] = octet }
            let _ = TpPacket::decode(&out, packet.number);
        }
    }
}
