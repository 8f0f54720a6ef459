use std::mem::size_of;

use cellway_units::Rate;

use super::*;

/// A cell on a link takes four words, and flags add nothing.
#[test]
fn a_unit_is_four_words_and_a_run_eight() {
    assert_eq!(size_of::<Unit>(), 16);
    assert_eq!(size_of::<Option<Unit>>(), 16);
    assert_eq!(size_of::<Run>(), 32);
    assert_eq!(size_of::<(Time, PacketRef)>(), 16);
}

/// A line and its link, with a plain list of instants and cells for comparison.
struct Both {
    line: Line,
    link: Link,
    plain: VecDeque<(Time, Cell)>,
    /// The largest number of entries that the link has had.
    most_runs: usize,
    now: Time,
}

const DELAY: Span = Span::from_us(300);

impl Both {
    fn new(rate: Rate) -> Both {
        let (plain, link) = (VecDeque::new(), Link::new(DELAY, Framing::Atm));
        Both { line: Line::new(rate), link, plain, most_runs: 0, now: Time::ZERO }
    }

    /// Sends a cell after a pause; the arrivals until it has left must equal those of the list.
    fn send(&mut self, pause: Span, cell: Cell) {
        let leaves = self.line.send_cell(self.now + pause);
        self.arrive(leaves);
        self.now = leaves;
        let alone = self.plain.is_empty();
        self.plain.push_back((leaves + DELAY, cell));
        let pending = self.link.push(leaves, Unit::Cell(cell), &self.line);
        assert_eq!(pending, alone.then_some(leaves + DELAY));
        let UnderWay::Cells(cells) = &self.link.under_way else { panic!("a link of cells") };
        self.most_runs = self.most_runs.max(cells.runs.len());
    }

    fn arrive(&mut self, until: Time) {
        while let Some(&(at, cell)) = self.plain.front().filter(|&&(at, _)| at <= until) {
            let two = self.plain.get(1).is_some_and(|&(second, _)| second == at);
            let alone = self.link.pop_alone(at, &self.line);
            assert!(alone.is_none() || !two, "two cells at {at}");
            let (unit, next) = alone.unwrap_or_else(|| self.link.pop(&self.line));
            self.plain.pop_front();
            assert!(matches!(unit, Unit::Cell(found) if found == cell), "{unit:?} at {at}, not {cell:?}");
            assert_eq!(next, self.plain.front().map(|&(at, _)| at));
        }
    }
}

fn cell(frame: u32, index: u16) -> Cell {
    Cell { slot: 0, frame: PacketRef(frame), index, count: 30, flags: Flags::PLAIN }
}

/// Gaps, pauses, marks, other queues, and changes of the rate in the middle of frames: the arrivals are those of the
/// list. The numbers come from a linear congruential generator.
#[test]
fn runs_arrive_as_single_cells_would() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut both = Both::new(Rate::from_bps(149_760_000));
    for frame in 0..3000 {
        for index in 0..30 {
            let mut cell = cell(frame, index);
            match random(40) {
                0 => continue,
                1 => cell.flags.mark(),
                2 => cell.slot = 1,
                3 => {
                    // In the middle of a cell, or at its end.
                    let rate = Rate::from_bps(7_000_003 * (1 + random(30)));
                    both.link.keep_spacing(&both.line);
                    both.line.set_cell_rate(rate);
                }
                _ => {}
            }
            let pause = if random(30) == 0 { Span::from_ps(random(3)) } else { Span::ZERO };
            both.send(pause, cell);
        }
    }
    both.arrive(both.now + DELAY);
    assert!(both.plain.is_empty());
}

/// A link that holds 106 cells of frames of 30 has one entry for each frame, at rates whose cell times are not whole
/// picoseconds.
#[test]
fn a_frame_on_a_link_is_one_entry() {
    for bps in [149_760_000, 150_000_001, 149_999_993] {
        let mut both = Both::new(Rate::from_bps(bps));
        (0..100).for_each(|frame| (0..30).for_each(|index| both.send(Span::ZERO, cell(frame, index))));
        assert!(both.plain.len() > 90, "{} cells under way", both.plain.len());
        assert!(both.most_runs <= 5, "{} entries", both.most_runs);
    }
}
