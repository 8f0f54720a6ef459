//! Lines by name: what each leaves for cells or frames, and what travels on it.

use cellway_units::Rate;

use crate::model::Framing;

/// A line that a file may name in place of a rate.
pub(crate) struct Line {
    pub(crate) word: &'static str,
    /// What is left for cells of 53 octets, or what Ethernet and FDDI frames with their gaps have.
    pub(crate) rate: Rate,
    pub(crate) framing: Framing,
}

const fn line(word: &'static str, bps: u64, framing: Framing) -> Line {
    Line { word, rate: Rate::from_bps(bps), framing }
}

/// Each with its arithmetic. Mappings of cells: ITU-T G.804 for E1, DS1, E3 and DS3, I.432.2 for SDH.
pub(crate) const LINES: [Line; 10] = [
    // 30 of 32 octets in each 125 us.
    line("e1", 1_920_000, Framing::Atm),
    // 192 of 193 bits in each 125 us.
    line("ds1", 1_536_000, Framing::Atm),
    // 530 of 537 octets in each 125 us (G.832 frames).
    line("e3", 33_920_000, Framing::Atm),
    // PLCP: 12 cells in each 125 us, 96 000 cell/s.
    line("ds3", 40_704_000, Framing::Atm),
    // 260 of 270 columns of 155.52 Mbit/s.
    line("oc3c", 149_760_000, Framing::Atm),
    // 1040 of 1080 columns of 622.08 Mbit/s.
    line("oc12c", 599_040_000, Framing::Atm),
    // 4B/5B at 125 MBaud: 100 Mbit/s, and each cell takes 54 octets with its start code; rounded down.
    line("taxi", 98_148_148, Framing::Atm),
    line("ethernet", 10_000_000, Framing::Ethernet),
    line("fast-ethernet", 100_000_000, Framing::Ethernet),
    line("fddi", 100_000_000, Framing::Fddi),
];

/// The words alone.
pub(crate) const WORDS: [&str; LINES.len()] = {
    let mut words = [""; LINES.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = LINES[i].word;
        i += 1;
    }
    words
};

#[cfg(test)]
mod tests {
    use super::LINES;
    use crate::model::Framing;

    /// The shares of the frames, in numbers of ITU-T G.804 and G.707.
    #[test]
    fn rates_are_what_the_frames_leave() {
        let rate = |word: &str| LINES.iter().find(|l| l.word == word).unwrap().rate.as_bps();
        assert_eq!(rate("e1"), 2_048_000 / 32 * 30);
        assert_eq!(rate("ds1"), 1_544_000 / 193 * 192);
        assert_eq!(rate("e3"), 34_368_000 / 537 * 530);
        assert_eq!(rate("ds3"), 12 * 8_000 * 53 * 8);
        assert_eq!(rate("oc3c"), 155_520_000 / 270 * 260);
        assert_eq!(rate("oc12c"), 622_080_000 / 1080 * 1040);
        assert_eq!(rate("taxi"), 100_000_000 * 53 / 54);
        assert!(LINES.iter().filter(|l| l.framing == Framing::Atm).count() == 7);
    }
}
