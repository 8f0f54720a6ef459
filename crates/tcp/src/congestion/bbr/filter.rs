//! The filter of the bandwidth, a maximum over rounds, and random waits.

/// BBR.max_bw_filter: the largest rates of the previous cycle of ProbeBW and of the present one (bit/s). Sections
/// "BBR.max_bw Max Filter" and "Tracking Time for the BBR.max_bw Max Filter".
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBandwidth {
    cycles: [u64; 2],
}

impl MaxBandwidth {
    /// Returns BBR.max_bw (bit/s).
    pub(super) fn get(&self) -> u64 {
        self.cycles[0].max(self.cycles[1])
    }
    /// UpdateMaxBw(), for a sample that counts.
    pub(super) fn update(&mut self, rate: u64) {
        self.cycles[1] = self.cycles[1].max(rate);
    }
    /// AdvanceMaxBwFilter(). A cycle without a sample does not end: there would be no estimate.
    pub(super) fn advance(&mut self) {
        if self.cycles[1] > 0 {
            self.cycles = [self.cycles[1], 0];
        }
    }
}

/// The longest window of a [`RoundMax`], in rounds.
const LONGEST: usize = 10;

/// The maximum of a quantity over the last rounds, exactly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundMax {
    /// The maximum of each of the last rounds, by their number.
    rounds: [u64; LONGEST + 1],
    round: u64,
    max: u64,
}

impl RoundMax {
    /// Takes `value` in round `round`, and returns the maximum of this round and the `window` before it, at most 10.
    pub(super) fn update(&mut self, round: u64, window: u64, value: u64) -> u64 {
        let slots = self.rounds.len() as u64;
        if round != self.round {
            // Rounds without a value.
            for skipped in (self.round + 1..=round).rev().take(self.rounds.len()) {
                self.rounds[(skipped % slots) as usize] = 0;
            }
            self.round = round;
            // Older ones do not return if a later window is longer.
            for age in (window + 1..slots).filter(|age| *age <= round) {
                self.rounds[((round - age) % slots) as usize] = 0;
            }
            let ages = (0..=window).take_while(|age| *age <= round);
            self.max = ages.map(|age| self.rounds[((round - age) % slots) as usize]).max().unwrap_or(0);
        }
        let slot = &mut self.rounds[(round % slots) as usize];
        *slot = (*slot).max(value);
        self.max = self.max.max(value);
        self.max
    }
}

/// Random numbers for the waits between probes (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits(u64);

impl Waits {
    pub(super) fn new(seed: u64) -> Waits {
        Waits(seed)
    }
    /// Returns a number of all 64 bits.
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// Returns a number below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        super::narrow((u128::from(self.draw()) * u128::from(n)) >> 64)
    }
}
