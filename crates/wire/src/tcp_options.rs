//! The options of TCP segments, to octets and back. RFC 9293, section 3.2.

use crate::packet::{PacketError, malformed};

/// SACK blocks that fit into the options of a segment alone. RFC 2018, section 3.
const MAX_SACK: usize = 4;
/// Fields of the AccECN option. RFC 9768, section 3.2.3.
const MAX_FIELDS: usize = 3;

/// The kinds of the options.
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACC_ECN_0: u8 = 172;
const ACC_ECN_1: u8 = 174;

/// The options of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpOptions {
    /// Maximum segment size, in octets. RFC 9293, section 3.7.1.
    pub mss: Option<u16>,
    /// Window scale shift. RFC 7323, section 2.
    pub window_scale: Option<u8>,
    /// SACK permitted. RFC 2018, section 2.
    pub sack_permitted: bool,
    /// SACK blocks: the first sequence number of each and the one after its last; at most four. RFC 2018, section 3.
    pub sack: Vec<(u32, u32)>,
    /// The sender's clock and the echoed one (TSval, TSecr). RFC 7323, section 3.
    pub timestamps: Option<(u32, u32)>,
    /// Counts of marked octets. RFC 9768, section 3.2.3.
    pub acc_ecn: Option<AccEcn>,
}

/// The AccECN option. RFC 9768, section 3.2.3.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccEcn {
    /// True if ECT(1) is first and ECT(0) last (kind 174), else the other way round (172). CE is between them.
    pub ect1_first: bool,
    /// Up to three counts of octets, of which the header has the lowest 24 bits.
    pub fields: Vec<u32>,
}

impl TcpOptions {
    /// Returns the octets, without padding at the end; `None` if there are too many blocks or fields.
    pub(crate) fn octets(&self) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        if let Some(mss) = self.mss {
            add(&mut octets, MSS, &mss.to_be_bytes());
        }
        if let Some((value, echo)) = self.timestamps {
            // RFC 7323, appendix A: the timestamps are aligned to four octets, after two octets of padding or another
            // option.
            if self.sack_permitted {
                add(&mut octets, SACK_PERMITTED, &[]);
            } else {
                octets.extend([NOP, NOP]);
            }
            add(&mut octets, TIMESTAMPS, &in_octets(&[(value, echo)]));
        }
        if let Some(shift) = self.window_scale {
            add(&mut octets, WINDOW_SCALE, &[shift]);
        }
        if self.sack_permitted && self.timestamps.is_none() {
            add(&mut octets, SACK_PERMITTED, &[]);
        }
        if self.sack.len() > MAX_SACK {
            return None;
        }
        if !self.sack.is_empty() {
            add(&mut octets, SACK, &in_octets(&self.sack));
        }
        if let Some(AccEcn { ect1_first, fields }) = &self.acc_ecn {
            if fields.len() > MAX_FIELDS {
                return None;
            }
            let fields: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes().into_iter().skip(1)).collect();
            add(&mut octets, if *ect1_first { ACC_ECN_1 } else { ACC_ECN_0 }, &fields);
        }
        Some(octets)
    }

    /// Parses the octets of options.
    ///
    /// # Errors
    /// An option is not whole, has another length than its kind, or is none of these.
    pub(crate) fn parse(mut octets: &[u8]) -> Result<TcpOptions, PacketError> {
        let mut options = TcpOptions::default();
        loop {
            let (kind, length) = match *octets {
                [] | [END, ..] => return Ok(options),
                [NOP, ref rest @ ..] => {
                    octets = rest;
                    continue;
                }
                [kind, length, ..] => (kind, usize::from(length)),
                [kind] => return Err(malformed(format!("TCP option {kind} has no length"))),
            };
            let wrong = || malformed(format!("TCP option {kind} has a length of {length} octets"));
            let (option, rest) = octets.split_at_checked(length).ok_or_else(wrong)?;
            let data = option.get(2..).ok_or_else(wrong)?;
            match (kind, data) {
                (MSS, &[a, b]) => options.mss = Some(u16::from_be_bytes([a, b])),
                (WINDOW_SCALE, &[shift]) => options.window_scale = Some(shift),
                (SACK_PERMITTED, []) => options.sack_permitted = true,
                (SACK, blocks) if matches!(blocks.len(), 8 | 16 | 24 | 32) => options.sack = pairs(blocks).collect(),
                (TIMESTAMPS, stamps) if stamps.len() == 8 => options.timestamps = pairs(stamps).next(),
                (ACC_ECN_0 | ACC_ECN_1, counts) => {
                    // RFC 9768, section 3.2.3: of another length, the whole fields count.
                    let fields =
                        counts.chunks_exact(3).take(MAX_FIELDS).map(|c| u32::from_be_bytes([0, c[0], c[1], c[2]]));
                    options.acc_ecn = Some(AccEcn { ect1_first: kind == ACC_ECN_1, fields: fields.collect() });
                }
                (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => return Err(wrong()),
                _ => return Err(malformed(format!("TCP option {kind} is not supported"))),
            }
            octets = rest;
        }
    }
}

fn add(octets: &mut Vec<u8>, kind: u8, data: &[u8]) {
    // In range: an option of four blocks is the longest.
    octets.extend([kind, 2 + data.len() as u8]);
    octets.extend(data);
}
fn in_octets(pairs: &[(u32, u32)]) -> Vec<u8> {
    pairs.iter().flat_map(|(a, b)| [a.to_be_bytes(), b.to_be_bytes()]).flatten().collect()
}
fn pairs(octets: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let number = |c: &[u8]| c.iter().fold(0, |number, octet| number << 8 | u32::from(*octet));
    octets.chunks_exact(8).map(move |pair| (number(&pair[..4]), number(&pair[4..])))
}
