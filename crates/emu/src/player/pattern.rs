//! The pattern of the payload: octets that depend on their position in the stream, at no cost to the writer.

/// The period of the pattern (octets): a prime, so that shifts by powers of two and by segments are detected.
const PERIOD: usize = 251;
/// The most that is written or read at a time, in octets.
pub(super) const CHUNK: usize = 256 << 10;

/// A part of the pattern from which any piece can be copied.
#[derive(Debug)]
pub(super) struct Pattern(Box<[u8]>);

impl Pattern {
    pub(super) fn new() -> Pattern {
        Pattern((0..CHUNK + PERIOD).map(|i| (i % PERIOD) as u8).collect())
    }

    /// Octets `offset..offset + len` of the stream number `stream`; at most [`CHUNK`] of them.
    pub(super) fn piece(&self, stream: u64, offset: u64, len: u64) -> &[u8] {
        let period = PERIOD as u64;
        // Streams that are mixed up differ in their first octet.
        let start = ((stream % period * 83 + offset % period) % period) as usize;
        &self.0[start..start + len.min(CHUNK as u64) as usize]
    }

    /// Returns the offset of the first octet in `found`, which begins at `offset` of `stream`, that differs from the
    /// written one.
    pub(super) fn mismatch(&self, stream: u64, offset: u64, found: &[u8]) -> Option<u64> {
        let written = self.piece(stream, offset, found.len() as u64);
        let at = found.iter().zip(written).position(|(a, b)| a != b)?;
        Some(offset + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_place_shows() {
        let pattern = Pattern::new();
        let piece = pattern.piece(7, 1000, 100).to_vec();
        assert_eq!(pattern.mismatch(7, 1000, &piece), None);
        assert_eq!(pattern.mismatch(7, 1001, &piece), Some(1001));
        assert_eq!(pattern.mismatch(8, 1000, &piece), Some(1000));
        let mut bent = piece;
        bent[40] ^= 1;
        assert_eq!(pattern.mismatch(7, 1000, &bent), Some(1040));
        assert_eq!(pattern.piece(3, u64::MAX, u64::MAX).len(), CHUNK);
    }
}
