//! The states of BBR and their gains. The table of section "Updating Control Parameters".

/// A state of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BbrState {
    /// Doubles the rate each round trip until the pipe is full.
    Startup,
    /// Drains the queue that Startup has built.
    Drain,
    /// ProbeBW_DOWN: sends less than the path carries.
    Down,
    /// ProbeBW_CRUISE: sends at the rate of the path.
    Cruise,
    /// ProbeBW_REFILL: fills the pipe for a round trip.
    Refill,
    /// ProbeBW_UP: sends more than the path carries.
    Up,
    /// Keeps little in flight to measure the round trip.
    ProbeRtt,
}

impl BbrState {
    /// All states.
    pub const ALL: [BbrState; 7] = [
        BbrState::Startup,
        BbrState::Drain,
        BbrState::Down,
        BbrState::Cruise,
        BbrState::Refill,
        BbrState::Up,
        BbrState::ProbeRtt,
    ];

    /// Returns the name of the state in the draft.
    pub const fn name(self) -> &'static str {
        match self {
            BbrState::Startup => "Startup",
            BbrState::Drain => "Drain",
            BbrState::Down => "ProbeBW_DOWN",
            BbrState::Cruise => "ProbeBW_CRUISE",
            BbrState::Refill => "ProbeBW_REFILL",
            BbrState::Up => "ProbeBW_UP",
            BbrState::ProbeRtt => "ProbeRTT",
        }
    }
    /// Returns BBR.pacing_gain (hundredths).
    pub const fn pacing_gain(self) -> u64 {
        match self {
            BbrState::Startup => 277,
            BbrState::Drain => 50,
            BbrState::Down => 90,
            BbrState::Cruise | BbrState::Refill | BbrState::ProbeRtt => 100,
            BbrState::Up => 125,
        }
    }
    /// Returns BBR.cwnd_gain (hundredths).
    pub const fn window_gain(self) -> u64 {
        match self {
            BbrState::Up => super::WINDOW_GAIN_UP,
            BbrState::ProbeRtt => super::WINDOW_GAIN_PROBE_RTT,
            BbrState::Startup | BbrState::Drain | BbrState::Down | BbrState::Cruise | BbrState::Refill => {
                super::WINDOW_GAIN
            }
        }
    }
    /// IsInAProbeBWState().
    pub const fn is_probing_bandwidth(self) -> bool {
        matches!(self, BbrState::Down | BbrState::Cruise | BbrState::Refill | BbrState::Up)
    }
    /// IsProbingBW(): sends faster than before on purpose, so losses do not lower the short-term bounds.
    pub const fn is_accelerating(self) -> bool {
        matches!(self, BbrState::Startup | BbrState::Refill | BbrState::Up)
    }
}
