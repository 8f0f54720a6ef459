//! The options of TCP that show delays and delivery: timestamps, selective acknowledgements, the largest segment.

/// The options of a segment that are used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// The sender's clock and the echoed one. RFC 7323, section 3.
    pub(super) timestamps: Option<(u32, u32)>,
    /// Ranges that have arrived beyond the acknowledgement. RFC 2018, section 3.
    pub(super) sack: [Option<(u32, u32)>; 4],
    /// The largest segment that the sender accepts. RFC 9293, section 3.2.
    pub(super) mss: Option<u32>,
}

const NOP: u8 = 1;
const MSS: u8 = 2;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

fn four(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |number, octet| number << 8 | u32::from(*octet))
}

/// Returns the options of a segment whose TCP header is at an offset, as far as they were captured and are well formed.
pub(super) fn options(octets: &[u8], header: usize) -> Options {
    let mut found = Options::default();
    let Some(length) = octets.get(header + 12).map(|octet| usize::from(octet >> 4) * 4) else { return found };
    let end = octets.len().min(header + length);
    let mut rest = octets.get(header + 20..end).unwrap_or_default();
    loop {
        match *rest {
            [] | [0, ..] | [_] => return found,
            [NOP, ref after @ ..] => rest = after,
            [kind, length, ..] => {
                let Some((option, after)) = rest.split_at_checked(usize::from(length)) else { return found };
                let Some(data) = option.get(2..) else { return found };
                match kind {
                    TIMESTAMPS if data.len() == 8 => found.timestamps = Some((four(&data[..4]), four(&data[4..]))),
                    MSS if data.len() == 2 => found.mss = Some(four(data)),
                    SACK => {
                        let blocks = data.chunks_exact(8).map(|block| (four(&block[..4]), four(&block[4..])));
                        found.sack.iter_mut().zip(blocks).for_each(|(to, block)| *to = Some(block));
                    }
                    _ => {}
                }
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_and_blocks_are_found() {
        let mut octets = vec![0; 3 + 20];
        octets[3 + 12] = 15 << 4;
        octets.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 1, 0]);
        octets.extend([1, 1, 5, 18, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40]);
        let found = options(&octets, 3);
        assert_eq!(found.timestamps, Some((7, 256)));
        assert_eq!(found.sack, [Some((10, 20)), Some((30, 40)), None, None]);
        // Cut off anywhere, or with lengths that are wrong.
        let cut: Vec<Options> = (0..octets.len()).map(|end| options(&octets[..end], 3)).collect();
        assert_eq!((cut[22], cut[35].timestamps), (Options::default(), Some((7, 256))));
        octets[3 + 20 + 3] = 1;
        assert_eq!(options(&octets, 3), Options::default());
    }
}
