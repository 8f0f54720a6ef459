//! The input of a fuzz target as numbers, flows and frames.

use std::sync::Arc;

use cellway_gateway::{FlowId, Frame, Lease, Reason, Request, Server};
use cellway_units::Span;

/// The rest of the input; after its end every octet is 0.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl Input<'_> {
    pub(crate) fn octet(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }
    /// Returns a number: mostly a small one, sometimes a large one.
    pub(crate) fn number(&mut self) -> u64 {
        let octet = self.octet();
        match octet >> 6 {
            0 => u64::from(octet),
            1 => u64::from(octet & 0x3f) * 64,
            2 => u64::from(octet & 0x3f) << 8 | u64::from(self.octet()),
            _ => (1 << (octet & 0x3f).min(61)) - 1,
        }
    }
    pub(crate) fn reason(&mut self) -> Reason {
        Reason::ALL[usize::from(self.octet()) % Reason::ALL.len()]
    }
    /// Returns one of a few flows, rarely any other.
    pub(crate) fn flow(&mut self) -> FlowId {
        match self.octet() {
            octet @ 0..=0xf7 => FlowId(u64::from(octet % 24)),
            _ => FlowId(self.number()),
        }
    }
    pub(crate) fn request(&mut self) -> Arc<Request> {
        let flags = self.octet();
        let server = match flags & 3 {
            0 => Server::Name("n".repeat(usize::from(self.octet())).into(), 80),
            _ => Server::Address(([192, 0, 2, flags], 80).into()),
        };
        let client = (flags & 4 != 0).then(|| ([0xfd00, 0, 0, 0, 0, 0, 0, 2], 4000).into());
        Arc::new(Request { client, server, early: flags & 8 != 0 })
    }
    pub(crate) fn frame(&mut self) -> Frame {
        let kind = self.octet();
        let flow = self.flow();
        match kind % 8 {
            0 => {
                let lease = (kind & 0x80 != 0)
                    .then(|| Lease { after: self.octet().into(), within: Span::from_ms(u64::from(self.octet()) * 8) });
                Frame::Open { flow, limit: self.number(), lease, request: self.request() }
            }
            1 => Frame::Accepted { flow, limit: self.number() },
            2 => Frame::Refused { flow, reason: self.reason() },
            3 => Frame::Credit { flow, limit: self.number() },
            4 => Frame::Reset { flow, at: self.number(), reason: self.reason() },
            _ => {
                let (offset, len) = (self.number(), u32::from(self.octet()) * 8);
                let [fin, early, urgent] = [0x80, 0x40, 0x20].map(|bit| kind & bit != 0);
                Frame::Data { flow, offset, len, fin, early, urgent }
            }
        }
    }
}
