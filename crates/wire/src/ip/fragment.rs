//! Fragments an IPv4 packet that is larger than the MTU of the next network. RFC 791, section 3.2.

use super::Packet;
use super::checksum::checksum;
use super::packet::IPV4_HEADER;

/// The largest IPv4 header.
const LARGEST_HEADER: usize = 60;
/// The flag "more fragments".
const MORE: u16 = 0x2000;

/// The form in which a packet passes a network of some MTU.
#[derive(Clone, Debug)]
pub enum Fit<'a> {
    /// Unchanged.
    Whole,
    /// In fragments.
    Fragments(Fragments<'a>),
    /// Not at all: IPv6, DF is set, or not even eight octets fit after the header. The router reports the MTU to the
    /// sender ([`super::Trouble::TooBig`]).
    TooBig,
}

/// The fragments of a packet. Each is made on demand, in an allocation of its own size.
#[derive(Clone, Debug)]
pub struct Fragments<'a> {
    packet: Packet<'a>,
    mtu: usize,
    /// The header of all fragments but the first: options without the copied flag are left out.
    later: [u8; LARGEST_HEADER],
    later_len: usize,
    /// Octets of payload that are in fragments already.
    done: usize,
}

/// Returns the form in which `packet` passes a network with an MTU of `mtu` octets.
pub fn fit<'a>(packet: &Packet<'a>, mtu: usize) -> Fit<'a> {
    if packet.octets().len() <= mtu {
        return Fit::Whole;
    }
    if packet.dont_fragment() || mtu < packet.header_len() + 8 {
        return Fit::TooBig;
    }
    let (later, later_len) = header_of_later(&packet.octets()[..packet.header_len()]);
    Fit::Fragments(Fragments { packet: *packet, mtu, later, later_len, done: 0 })
}

/// Returns the fixed part and the options that have the copied flag, padded to full words. RFC 791, section 3.1.
fn header_of_later(header: &[u8]) -> ([u8; LARGEST_HEADER], usize) {
    let mut later = [0; LARGEST_HEADER];
    later[..IPV4_HEADER].copy_from_slice(&header[..IPV4_HEADER]);
    let mut len = IPV4_HEADER;
    let mut options = &header[IPV4_HEADER..];
    while let [kind, rest @ ..] = options {
        match kind {
            0 => break,
            1 => options = rest,
            _ => {
                // Options with invalid lengths end here.
                let Some(&own) = rest.first() else { break };
                let Some((option, after)) = options.split_at_checked(usize::from(own)) else { break };
                if own < 2 {
                    break;
                }
                if kind & 0x80 != 0 {
                    later[len..len + option.len()].copy_from_slice(option);
                    len += option.len();
                }
                options = after;
            }
        }
    }
    // The end-of-option-list octet is 0, as the padding is.
    let len = len.next_multiple_of(4);
    later[0] = 0x40 | (len / 4) as u8;
    (later, len)
}

impl Iterator for Fragments<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let payload = self.packet.payload();
        let left = &payload[self.done..];
        if left.is_empty() {
            return None;
        }
        let header = match self.done {
            0 => &self.packet.octets()[..self.packet.header_len()],
            _ => &self.later[..self.later_len],
        };
        let room = self.mtu - header.len();
        // All but the last have a multiple of eight octets.
        let take = if left.len() <= room { left.len() } else { room & !7 };
        let (before, was_more) = self.packet.fragment().map_or((0, false), |f| (f.offset as usize, f.more));
        let offset = ((before + self.done) / 8) as u16;
        self.done += take;
        let more = was_more || self.done < payload.len();

        let mut fragment = Vec::with_capacity(header.len() + take);
        fragment.extend_from_slice(header);
        fragment.extend_from_slice(&left[..take]);
        let total = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&total.to_be_bytes());
        fragment[6..8].copy_from_slice(&(offset | if more { MORE } else { 0 }).to_be_bytes());
        fragment[10..12].copy_from_slice(&[0, 0]);
        let sum = checksum(&fragment[..header.len()]);
        fragment[10..12].copy_from_slice(&sum.to_be_bytes());
        Some(fragment)
    }
}
