//! The delivery rate of a sender, and estimates of its path from it.
//!
//! [`Delivery`] takes one [`Sample`] of the delivery rate from each acknowledgement, from the [`Stamp`] of each packet
//! in flight (draft-cheng-iccrg-delivery-rate-estimation; draft-ietf-ccwg-bbr, section "Delivery Rate Samples").
//! [`Bottleneck`] estimates the bandwidth and the round-trip time of the path from the samples, and from these the
//! pacing rate and the limit of data in flight. Both are state machines: the time is an argument.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bottleneck;
mod sample;

pub use bottleneck::Bottleneck;
pub use sample::{Delivery, Sample, Stamp, bits_of, rate_of, times};

use cellway_units::Span;

/// The least that a timer waits beyond a round trip. RFC 9002, section 6.1.2.
pub const GRANULARITY: Span = Span::from_ms(1);
