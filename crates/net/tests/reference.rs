//! The switch against a second model of its port, written from the published rules and sharing no code with it: the
//! cells that arrive at the switch of a network are replayed to the model, and the same cells must leave at the same
//! instants.
//!
//! Partial and early packet discard: A. Romanow and S. Floyd, *Dynamics of TCP Traffic over ATM Networks*, IEEE JSAC
//! 13(4), 1995. The order of service: `cellsim`, section 8; first in first out as in Romanow and Floyd.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::collections::VecDeque;

use cellway_net::{BufferSpec, Charge, Direction, Discard, Discipline, Multiplexing, Sharing, TapRecord, TapUnit};
use cellway_units::{Bits, Rate, Span, Time};
use rig::{Rig, Shape};

const END: Time = Time::from_ps(u64::MAX - 1);
/// The time of a cell on the line behind the switch. Cells arrive every millisecond.
const SERVICE: Span = Span::from_ms(2);

/// A cell, by the number of its virtual channel, the number of its packet and its index in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    vc: usize,
    packet: u32,
    index: u16,
    last: bool,
}

/// The state of a virtual channel in a switch, which recognises a frame only by the mark of its last cell.
#[derive(Clone, Default)]
struct Vc {
    /// Cells of a packet have arrived, but not its last.
    inside: bool,
    /// A cell of the packet was dropped, and the following cells are to be dropped.
    dropping: bool,
    /// The whole packet is refused by early packet discard.
    refusing: bool,
}

/// An output port, implemented literally.
struct Port {
    discipline: Discipline,
    discard: Discard,
    /// The most cells that may wait, without the one on the line, and the number from which on early packet discard
    /// refuses packets.
    size: usize,
    threshold: usize,
    vcs: Vec<Vc>,
    /// Waiting cells, in the order of arrival.
    waiting: Vec<Cell>,
    /// Channels to serve, for the round robin.
    turns: VecDeque<usize>,
    /// The channel of the cell on the line.
    serving: Option<usize>,
    /// The instant at which the line becomes free.
    free: Time,
    left: Vec<(Time, Cell)>,
}

impl Port {
    fn run(mut self, arrivals: &[(Time, Cell)]) -> Vec<(Time, Cell)> {
        for &(at, cell) in arrivals {
            self.serve_until(at);
            self.arrive(at, cell);
        }
        self.serve_until(END);
        self.left
    }

    /// Starts cells on the line at all instants before `until`; the arrivals of an instant precede it.
    fn serve_until(&mut self, until: Time) {
        while self.free < until && (!self.waiting.is_empty() || self.serving.is_some()) {
            let begin = self.free;
            if let Some(vc) = self.serving.take()
                && self.waiting.iter().any(|cell| cell.vc == vc)
            {
                self.turns.push_back(vc);
            }
            let next = match self.discipline {
                Discipline::Fifo => (!self.waiting.is_empty()).then_some(0),
                Discipline::RoundRobin => {
                    let vc = self.turns.pop_front();
                    vc.map(|vc| self.waiting.iter().position(|cell| cell.vc == vc).unwrap())
                }
            };
            let Some(next) = next else { return };
            let cell = self.waiting.remove(next);
            if self.discipline == Discipline::RoundRobin {
                self.serving = Some(cell.vc);
            }
            self.free = begin + SERVICE;
            self.left.push((self.free, cell));
        }
    }

    fn arrive(&mut self, now: Time, cell: Cell) {
        if self.waiting.is_empty() && self.free < now {
            // An idle line starts at once, and the round robin starts afresh.
            self.free = now;
            self.serving = None;
        }
        if !self.admits(cell) {
            return;
        }
        let known = self.waiting.iter().any(|other| other.vc == cell.vc) || self.serving == Some(cell.vc);
        self.waiting.push(cell);
        if !known {
            self.turns.push_back(cell.vc);
        }
    }

    fn admits(&mut self, cell: Cell) -> bool {
        let (waiting, fits) = (self.waiting.len(), self.waiting.len() < self.size);
        let vc = &mut self.vcs[cell.vc];
        if !vc.inside {
            vc.refusing = self.discard == Discard::Epd && waiting >= self.threshold;
        }
        vc.inside = !cell.last;
        if vc.refusing {
            return false;
        }
        if self.discard == Discard::Cell {
            return fits;
        }
        // The switch keeps dropping cells of this channel up to the end of the packet, whose last cell is kept.
        let admitted = fits && (cell.last || !vc.dropping);
        vc.dropping = !cell.last && (vc.dropping || !admitted);
        admitted
    }
}

fn rig(vcs: u32, discipline: Discipline, discard: Discard, size: usize, threshold: usize) -> Rig {
    let cells = |n: usize| Bits(n as u64 * 424);
    let buffer = BufferSpec {
        size: cells(size),
        whole_port: true,
        sharing: Sharing::Pool,
        charge: Charge::Cell,
        discard,
        threshold: (discard == Discard::Epd).then_some(cells(threshold)),
        clp_threshold: None,
    };
    let mut rig = Rig::new(&Shape {
        conversations: vcs,
        multiplexing: Multiplexing::PerConversation,
        discipline,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(1_000_000_000_000),
        delay: Span::ZERO,
        buffers: [None, Some(buffer)],
    });
    rig.net.set_line_rate(Time::ZERO, rig.there[1], Rate::from_bps(212_000));
    rig
}

/// Returns the cells that arrived at the switch and those that left it.
fn passed(rig: &mut Rig) -> [Vec<(Time, Cell)>; 2] {
    let [to, from] = rig.there;
    let records = rig.net.tapped();
    let of = |port, direction| {
        let cell = |record: &TapRecord<u32>| match &record.unit {
            TapUnit::Cell(cell, packet) => {
                let (vc, packet) = (packet.conversation as usize, packet.body);
                Some((record.at, Cell { vc, packet, index: cell.index(), last: cell.is_last() }))
            }
            TapUnit::Packet(_) => None,
        };
        records.iter().filter(|r| r.port == port && r.direction == direction).filter_map(cell).collect()
    };
    [of(to, Direction::In), of(from, Direction::Out)]
}

#[test]
fn the_switch_does_what_the_published_rules_say_cell_by_cell() {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut dropped = [0; 3];
    for round in 0..200 {
        let vcs = 1 + random(6) as u32;
        let (size, sends) = (1 + random(60) as usize, 20 + random(60));
        let threshold = 1 + random(size as u64) as usize;
        let longest = [4, 15, 60][round % 3];
        let sends: Vec<(Time, u32, u32)> = {
            let mut all: Vec<_> = (0..sends)
                .map(|_| (Time::ZERO + Span::from_ms(random(1500)), random(u64::from(vcs)) as u32, random(longest)))
                .map(|(at, vc, cells)| (at, vc, (cells as u32 + 1) * 48 - 8))
                .collect();
            all.sort();
            all
        };
        for discipline in [Discipline::RoundRobin, Discipline::Fifo] {
            for (k, discard) in [Discard::Cell, Discard::Ppd, Discard::Epd].into_iter().enumerate() {
                let mut rig = rig(vcs, discipline, discard, size, threshold);
                rig.net.tap(rig.switch);
                rig.run(&sends, END);
                let [arrivals, left] = passed(&mut rig);
                let port = Port {
                    discipline,
                    discard,
                    size,
                    threshold,
                    vcs: vec![Vc::default(); vcs as usize],
                    waiting: Vec::new(),
                    turns: VecDeque::new(),
                    serving: None,
                    free: Time::ZERO,
                    left: Vec::new(),
                };
                let expected = port.run(&arrivals);
                dropped[k] += arrivals.len() - left.len();
                let differ = left.iter().zip(&expected).position(|(one, other)| one != other);
                let context = differ.map(|at| (at, left[at], expected[at]));
                assert_eq!(context, None, "round {round}, {discipline:?}, {discard:?}, {size} cells");
                assert_eq!(left.len(), expected.len(), "round {round}, {discipline:?}, {discard:?}, {size} cells");
            }
        }
    }
    assert!(dropped.iter().all(|cells| *cells > 10_000), "{dropped:?}: too few to tell");
}

/// Returns the cells that leave, as (packet, index), and the packets that are delivered, of frames of the given sizes.
fn frames(discard: Discard, size: usize, cells: &[u32]) -> (Vec<(u32, u16)>, Vec<u32>) {
    let mut rig = rig(1, Discipline::Fifo, discard, size, size);
    rig.net.tap(rig.switch);
    let sends: Vec<_> = cells.iter().map(|cells| (Time::ZERO, 0, cells * 48 - 8)).collect();
    rig.run(&sends, END);
    let [_, left] = passed(&mut rig);
    let delivered = rig.delivered.iter().map(|(_, packet)| packet.body).collect();
    (left.into_iter().map(|(_, cell)| (cell.packet, cell.index)).collect(), delivered)
}

// The k-th cell arrives at k ms, and the line starts one at 1, 3, 5 ... ms, after the arrivals of that instant. With
// room for one cell, a cell of an odd ms from the third on finds it taken if the one before was admitted.

#[test]
fn ppd_keeps_the_end_of_a_damaged_frame_so_that_the_next_is_received() {
    // Packet 0 loses cell 2 because the room is taken, and cell 3 as part of a damaged frame; its last cell is kept.
    let (left, delivered) = frames(Discard::Ppd, 1, &[5, 1]);
    assert_eq!(left, [(0, 0), (0, 1), (0, 4), (1, 0)]);
    assert_eq!(delivered, [1]);
    // Without discard cell 3 takes the room that the last cell needs, so packet 1 ends packet 0 in reassembly.
    let (left, delivered) = frames(Discard::Cell, 1, &[5, 1]);
    assert_eq!(left, [(0, 0), (0, 1), (0, 3), (1, 0)]);
    assert_eq!(delivered, [] as [u32; 0]);
}

#[test]
fn a_last_cell_that_finds_no_place_is_lost_and_its_frame_is_over() {
    // Packets 0 and 1 lose only their last cells. A cell after a last one starts a new frame, whether the last one was
    // kept or not: cell 0 of packet 1 is sent, though reassembly takes all cells that leave for one frame.
    let (left, delivered) = frames(Discard::Ppd, 1, &[3, 2, 1]);
    assert_eq!(left, [(0, 0), (0, 1), (1, 0), (2, 0)]);
    assert_eq!(delivered, [] as [u32; 0]);
}
