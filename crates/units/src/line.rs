//! Lines by name, and the rate of each for cells or frames.

use std::str::FromStr;

use crate::{CELL_BITS, CELL_OCTETS, Rate};

/// A line with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// E1, 2.048 Mbit/s: 30 of 32 time slots (ITU-T G.804).
    E1,
    /// DS-1, 1.544 Mbit/s: 192 of 193 bits (ITU-T G.804).
    Ds1,
    /// E3, 34.368 Mbit/s: 530 of 537 octets of a G.832 frame, 8000 frames/s (ITU-T G.804).
    E3,
    /// DS-3 with the PLCP: 12 cells in 125 µs, 96 000 cell/s (ANSI T1.107a, ITU-T G.804).
    Ds3,
    /// OC-3c, 155.52 Mbit/s: 260 of 270 columns (ITU-T G.707, I.432.2).
    Oc3c,
    /// OC-12c, 622.08 Mbit/s: 1040 of 1080 columns (ITU-T G.707, I.432.2).
    Oc12c,
    /// TAXI, 100 Mbit/s: 54 octets a cell, one of them the code that begins it (ATM Forum UNI 3.1, section 2.3).
    Taxi,
    /// Ethernet, 10 Mbit/s.
    Ethernet,
    /// Fast Ethernet, 100 Mbit/s.
    FastEthernet,
    /// FDDI, 100 Mbit/s.
    Fddi,
}

impl Line {
    /// All lines.
    pub const ALL: [Line; 10] = [
        Line::E1,
        Line::Ds1,
        Line::E3,
        Line::Ds3,
        Line::Oc3c,
        Line::Oc12c,
        Line::Taxi,
        Line::Ethernet,
        Line::FastEthernet,
        Line::Fddi,
    ];

    /// The names of all lines, in the same order.
    pub const NAMES: [&'static str; Line::ALL.len()] = {
        let mut names = [""; Line::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = Line::ALL[i].name();
            i += 1;
        }
        names
    };

    /// Returns the rate that is left for cells of 53 octets, or for frames with their framing; in bit/s, rounded down.
    pub const fn rate(self) -> Rate {
        Rate::from_bps(match self {
            Line::E1 => 2_048_000 * 30 / 32,
            Line::Ds1 => 1_544_000 * 192 / 193,
            Line::E3 => 530 * 8 * 8000,
            Line::Ds3 => 12 * CELL_BITS.0 * 8000,
            Line::Oc3c => 155_520_000 * 260 / 270,
            Line::Oc12c => 622_080_000 * 1040 / 1080,
            Line::Taxi => 100_000_000 * CELL_OCTETS / (CELL_OCTETS + 1),
            Line::Ethernet => 10_000_000,
            Line::FastEthernet | Line::Fddi => 100_000_000,
        })
    }
    /// Returns the name as text.
    pub const fn name(self) -> &'static str {
        match self {
            Line::E1 => "e1",
            Line::Ds1 => "ds1",
            Line::E3 => "e3",
            Line::Ds3 => "ds3",
            Line::Oc3c => "oc3c",
            Line::Oc12c => "oc12c",
            Line::Taxi => "taxi",
            Line::Ethernet => "ethernet",
            Line::FastEthernet => "fast-ethernet",
            Line::Fddi => "fddi",
        }
    }
}

impl FromStr for Line {
    type Err = ();
    fn from_str(text: &str) -> Result<Line, ()> {
        Line::ALL.into_iter().find(|line| line.name() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    /// Check values in bit/s, as published tables have them.
    #[test]
    fn rates_are_what_the_tables_print() {
        let rates = Line::ALL.map(|line| line.rate().as_bps());
        assert_eq!(
            rates,
            [
                1_920_000,
                1_536_000,
                33_920_000,
                40_704_000,
                149_760_000,
                599_040_000,
                98_148_148,
                10_000_000,
                100_000_000,
                100_000_000
            ]
        );
    }

    #[test]
    fn every_name_is_read_back() {
        for (line, name) in Line::ALL.into_iter().zip(Line::NAMES) {
            assert_eq!(name.parse(), Ok(line));
        }
        assert_eq!("t3".parse::<Line>(), Err(()));
    }
}
