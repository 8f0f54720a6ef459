//! Named random streams: a pure function of (seed, path), the same on every machine.
//!
//! The generator is ChaCha8 (64-bit block counter, 64-bit stream number). The 256-bit key is the
//! first four outputs of SplitMix64 started at the seed, each in little-endian order; the stream
//! number is the 64-bit FNV-1a hash of the path. Adding a path therefore never shifts another.

use std::fmt;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// All random streams of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    key: [u8; 32],
}

/// One stream of random numbers. A copy of it repeats the same numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Streams {
    /// Creates the streams of the run with this seed.
    pub fn new(seed: u64) -> Streams {
        let mut key = [0; 32];
        let mut state = seed;
        for word in key.chunks_exact_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        Streams { key }
    }

    /// Returns the stream named `path`, from its first number: `"ftp-3/17/item-size"`.
    pub fn stream(&self, path: &str) -> Stream {
        let mut generator = ChaCha8Rng::from_seed(self.key);
        generator.set_stream(fnv1a(path));
        Stream { generator }
    }

    /// Returns the stream named `path`, advanced by `drawn` calls of [`Stream::bits`]. For streams that are used too
    /// rarely to keep them in memory.
    pub fn stream_after(&self, path: &str, drawn: u64) -> Stream {
        let Stream { mut generator } = self.stream(path);
        // Each 64-bit draw advances the generator by two words.
        generator.set_word_pos(2 * u128::from(drawn));
        Stream { generator }
    }
}

impl Stream {
    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Returns a number in [0, 1): the upper 53 bits of [`Stream::bits`] over 2^53, so every value is exact.
    pub fn uniform(&mut self) -> f64 {
        cellway_units::uniform(self.bits())
    }

    /// Returns a whole number in `0..n`, each equally likely (a product in 128 bits; the few products that would favour
    /// some numbers are drawn again). Zero for `n = 0`.
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let favoured = n.wrapping_neg() % n;
            while (product as u64) < favoured {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }
}

/// The random streams of one conversation: `"ftp-3/17/item-size"`.
pub(crate) struct Named<'a> {
    streams: &'a Streams,
    slot: &'a str,
    number: u64,
}

impl<'a> Named<'a> {
    pub(crate) fn new(streams: &'a Streams, slot: &'a str, number: u64) -> Named<'a> {
        Named { streams, slot, number }
    }

    pub(crate) fn stream(&self, name: impl fmt::Display) -> Stream {
        self.streams.stream(&format!("{}/{}/{name}", self.slot, self.number))
    }
}

/// The random streams of one conversation that draws them as it proceeds.
#[derive(Clone, Debug)]
pub(crate) struct NamedStreams {
    streams: Streams,
    /// "web-3/0".
    path: String,
}

impl Named<'_> {
    /// Returns these streams to keep.
    pub(crate) fn keep(&self) -> NamedStreams {
        NamedStreams { streams: self.streams.clone(), path: format!("{}/{}", self.slot, self.number) }
    }
}

impl NamedStreams {
    pub(crate) fn stream(&self, name: impl fmt::Display) -> Stream {
        self.streams.stream(&format!("{}/{name}", self.path))
    }
}

/// Advances SplitMix64 (Steele, Lea and Flood 2014) and returns its next output.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the FNV-1a hash, 64 bits (RFC 9923).
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_their_published_vectors() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut state), 3_203_168_211_198_807_973);
    }

    /// First draws, computed by another program from the rules above, so that no upgrade of the generator and no change
    /// of the rules shifts results unnoticed.
    #[test]
    fn first_draws_are_unchanged() {
        let streams = Streams::new(1);
        let mut stream = streams.stream("ftp-1/0/item-size");
        let bits: Vec<u64> = (0..4).map(|_| stream.bits()).collect();
        assert_eq!(bits, [0xdc08_cafe_62a4_091d, 0xb713_31f1_b780_8857, 0xb334_b2de_cfc3_5876, 0xba86_3268_e6b9_e3e0]);
        let uniform: Vec<f64> = (0..3).map(|_| stream.uniform()).collect();
        assert_eq!(uniform, [0.1935491200675047, 0.11002349148902424, 0.9465440186485929]);
        let below: Vec<u64> = (0..6).map(|_| stream.below(1000)).collect();
        assert_eq!(below, [352, 858, 761, 435, 201, 103]);
        assert_eq!(Streams::new(0).stream("").bits(), 0x4965_bc25_f356_089f);
        assert_eq!(Streams::new(u64::MAX).stream("telnet-12/3/interarrival").bits(), 0x018b_4ded_7d70_cec4);
    }

    #[test]
    fn a_stream_continues_at_its_position() {
        let streams = Streams::new(3);
        let mut stream = streams.stream("ftp-1/initial-sequence");
        for drawn in 0..200 {
            assert_eq!(streams.stream_after("ftp-1/initial-sequence", drawn).bits(), stream.bits(), "{drawn}");
        }
    }

    #[test]
    fn one_path_never_shifts_another() {
        let streams = Streams::new(7);
        let alone = streams.stream("ftp-1/0/items").bits();
        let mut other = streams.stream("ftp-2/0/items");
        other.bits();
        assert_eq!(streams.stream("ftp-1/0/items").bits(), alone);
        assert_ne!(streams.stream("ftp-2/0/items").bits(), alone);
        assert_ne!(Streams::new(8).stream("ftp-1/0/items").bits(), alone);
    }

    #[test]
    fn below_is_in_range_and_even() {
        let mut stream = Streams::new(3).stream("below");
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        // 10,000 expected each, standard deviation 95: 5 deviations.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 475), "{counts:?}");
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn uniform_has_the_mean_and_variance_of_the_uniform_distribution() {
        let mut stream = Streams::new(5).stream("uniform");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.uniform()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|u| (u - mean) * (u - mean)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.001, "{variance}");
    }
}
