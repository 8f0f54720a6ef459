//! Properties of random networks with shapers, policers, frame discard, classes and control loops.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{
    AbrParameters, AbrSwitchSpec, BufferSpec, Charge, Class, Direction, Discard, Discipline, Fraction, Multiplexing,
    PolicerAction, PolicerSpec, PortCounters, ShaperSpec, Sharing, TapUnit, cells_for,
};
use cellway_units::{Bits, CELL_BITS, Cells, Rate, Span, Time};
use proptest::prelude::*;
use rig::{Rig, Shape};

const CONVERSATIONS: u32 = 4;
const END: Time = Time::from_ps(u64::MAX - 1);

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Cbr), Just(Class::Vbr), Just(Class::Abr), Just(Class::Ubr)]
}

fn rate() -> impl Strategy<Value = Rate> {
    (20_000u64..500_000).prop_map(Rate::from_bps)
}

fn shaper() -> impl Strategy<Value = ShaperSpec> {
    (rate(), prop::option::of((rate(), 1u64..40)))
        .prop_map(|(peak, sustained)| ShaperSpec { peak, sustained: sustained.map(|(scr, mbs)| (scr.min(peak), mbs)) })
}

fn policer() -> impl Strategy<Value = PolicerSpec> {
    let action = prop_oneof![Just(PolicerAction::Discard), Just(PolicerAction::Tag)];
    (shaper(), 0u64..20_000, action).prop_map(|(ShaperSpec { peak, sustained }, us, action)| {
        let cdvt = Span::from_us(us);
        PolicerSpec { peak, cdvt, sustained: sustained.map(|(scr, mbs)| (scr, cdvt, mbs)), action }
    })
}

fn buffer() -> impl Strategy<Value = Option<BufferSpec>> {
    let sharing = prop_oneof![Just(Sharing::Pool), Just(Sharing::Channel), Just(Sharing::Conversation)];
    let charge = prop_oneof![Just(Charge::Cell), Just(Charge::Packet)];
    let discard = prop_oneof![Just(Discard::Frame), Just(Discard::Cell), Just(Discard::Ppd), Just(Discard::Epd)];
    let threshold = || prop::option::of((0u64..100).prop_map(|cells| Bits(cells * 424)));
    prop::option::of((1u64..100, any::<bool>(), sharing, charge, discard, threshold(), threshold()).prop_map(
        |(cells, whole_port, sharing, charge, discard, threshold, clp_threshold)| {
            let size = Bits(cells * 424);
            BufferSpec { size, whole_port, sharing, charge, discard, threshold, clp_threshold }
        },
    ))
}

/// A network with something everywhere.
#[derive(Clone, Debug)]
struct Plan {
    discipline: Discipline,
    classes: Vec<Class>,
    buffers: [Option<BufferSpec>; 2],
    /// By conversation, at each of the two ports.
    shapers: Vec<[Option<ShaperSpec>; 2]>,
    policers: Vec<[Option<PolicerSpec>; 2]>,
    /// The conversations with a control loop, and the port at which all of them begin.
    loops: Vec<bool>,
    begin: usize,
    erica: bool,
    /// The changed rates of the second line and the shapers.
    rates: [Rate; 2],
    octets: u32,
    /// Instants in ms and conversations.
    sends: Vec<(u64, u32)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let each = CONVERSATIONS as usize;
    let pair = || [prop::option::of(shaper()), prop::option::of(shaper())];
    let policers = || [prop::option::of(policer()), prop::option::of(policer())];
    let discipline = prop::sample::select(vec![Discipline::RoundRobin, Discipline::Fifo]);
    let elements = (
        discipline,
        prop::collection::vec(class(), each),
        [buffer(), buffer()],
        prop::collection::vec(pair(), each),
        prop::collection::vec(policers(), each),
        prop::collection::vec(any::<bool>(), each),
        0usize..2,
    );
    let sends = prop::collection::vec((0u64..2000, 0..CONVERSATIONS), 1..40);
    (elements, any::<bool>(), [rate(), rate()], 1u32..1500, sends).prop_map(
        |(elements, erica, rates, octets, mut sends)| {
            sends.sort();
            let (discipline, classes, buffers, shapers, policers, loops, begin) = elements;
            Plan { discipline, classes, buffers, shapers, policers, loops, begin, erica, rates, octets, sends }
        },
    )
}

impl Plan {
    fn build(&self) -> Rig {
        let shape = Shape {
            conversations: CONVERSATIONS,
            multiplexing: Multiplexing::PerConversation,
            discipline: self.discipline,
            core: Rate::from_bps(500_000),
            access: Rate::from_bps(10_000_000),
            delay: Span::from_us(777),
            buffers: self.buffers,
        };
        let mut rig = Rig::of_classes(&shape, &self.classes);
        if self.erica {
            let target = Fraction::new(9, 10).unwrap();
            rig.net.set_abr_switch(AbrSwitchSpec::Erica { target, interval: Span::from_ms(20) });
        } else {
            rig.net.set_abr_switch(AbrSwitchSpec::Efci { threshold: Cells(8) });
        }
        for conversation in 0..CONVERSATIONS {
            let (i, channel) = (conversation as usize, rig.channel(conversation));
            let reverse = rig.net.channels(conversation, 1)[0].0;
            for p in 0..2 {
                if let Some(spec) = self.shapers[i][p] {
                    rig.net.shape(rig.there[p], channel, spec);
                }
                if let Some(spec) = self.policers[i][p] {
                    rig.net.police(rig.there[p], channel, spec);
                }
            }
            if self.loops[i] {
                let parameters = AbrParameters { nrm: 8, ..AbrParameters::new(Rate::from_bps(500_000)) };
                rig.net.abr(rig.there[self.begin], channel, reverse, rig.there[1], parameters).unwrap();
            }
        }
        rig
    }

    /// Returns the network after the end of the run.
    fn run(&self) -> Rig {
        let mut rig = self.build();
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        let sends: Vec<_> = self.sends.iter().map(|&(at, c)| (ms(at), c, self.octets)).collect();
        let split = sends.partition_point(|s| s.0 <= ms(1000));
        rig.run(&sends[..split], ms(1000));
        rig.net.set_line_rate(ms(1000), rig.there[1], self.rates[0]);
        for conversation in 0..CONVERSATIONS {
            let channel = rig.channel(conversation);
            rig.net.set_shaper_rate(ms(1000), rig.there[0], channel, self.rates[1]);
        }
        rig.run(&sends[split..], END);
        rig
    }
}

fn counters(rig: &Rig) -> [PortCounters; 2] {
    rig.there.map(|port| rig.net.port_counters(port, END))
}

proptest! {
    /// Each cell is sent, refused or discarded, and counted once; none remains.
    #[test]
    fn all_that_comes_goes_or_is_counted(plan in plan()) {
        let rig = plan.run();
        let [first, second] = counters(&rig);
        let count = u64::from(cells_for(plan.octets));
        let sent = plan.sends.len() as u64;
        let refused = |c: &PortCounters| c.dropped_cells + c.policed_discarded;
        // RM cells are made at the port at which the loops begin, after its policers and its buffer.
        prop_assert_eq!(first.cells - first.rm_cells + first.dropped_frames * count + refused(&first), sent * count);
        let made = if plan.begin == 1 { second.rm_cells } else { 0 };
        prop_assert_eq!(first.cells + made, second.cells + refused(&second));
        prop_assert!(first.clp_discarded <= first.dropped_cells && second.clp_discarded <= second.dropped_cells);
        for port in rig.there {
            prop_assert_eq!((rig.net.waiting(port), rig.net.buffered(port)), (0, 0));
        }
        prop_assert_eq!(rig.net.rm_cells_held(), 0);
        let lost = sent - rig.delivered.len() as u64 - first.dropped_frames;
        prop_assert!(rig.net.losses(rig.far).total() <= lost && rig.net.packets_held() as u64 <= lost);
        let damaged = refused(&first) + refused(&second) > 0;
        prop_assert!(damaged || lost == 0, "{lost} frames lost without a cell lost");
    }

    #[test]
    fn the_same_plan_runs_the_same_way(plan in plan()) {
        let [one, other] = [plan.run(), plan.run()];
        prop_assert_eq!(counters(&one), counters(&other));
        prop_assert_eq!(one.delivered, other.delivered);
        prop_assert_eq!(one.net.events(Time::MAX), other.net.events(Time::MAX));
    }

    /// For any other traffic on the line, two cells of a shaped channel are never closer than its spacing: up to the
    /// picosecond to which the line rounds each, and one for the fraction of the spacing.
    #[test]
    fn a_spacer_keeps_its_distance(plan in plan()) {
        let mut plan = plan;
        plan.rates[1] = Rate::from_bps(500_000);
        let mut rig = plan.build();
        rig.net.tap(rig.near);
        let sends: Vec<_> =
            plan.sends.iter().map(|&(at, c)| (Time::ZERO + Span::from_ms(at), c, plan.octets)).collect();
        rig.run(&sends, END);
        let left = rig.left(rig.there[0]);
        for conversation in 0..CONVERSATIONS {
            let Some(spec) = plan.shapers[conversation as usize][0] else { continue };
            let (spacing, _) = spec.peak.time_for(CELL_BITS, 0);
            let own: Vec<Time> = left.iter().filter(|l| l.1 == conversation).map(|l| l.0).collect();
            for pair in own.windows(2) {
                prop_assert!(pair[1] - pair[0] + Span::from_ps(2) >= spacing, "{} after {}", pair[1], pair[0]);
            }
        }
    }

    /// A policer with no tolerance passes all cells of a shaper with the same rates, after one line that others also
    /// use.
    #[test]
    fn a_shaped_stream_conforms_to_its_contract(mut plan in plan(), spec in shaper()) {
        let sustained = spec.sustained.map(|(scr, mbs)| (scr, Span::ZERO, mbs));
        let action = PolicerAction::Discard;
        plan.buffers = [None; 2];
        plan.shapers[0] = [Some(spec), None];
        plan.policers = vec![[None; 2]; CONVERSATIONS as usize];
        plan.policers[0][1] = Some(PolicerSpec { peak: spec.peak, cdvt: Span::ZERO, sustained, action });
        plan.loops[0] = false;
        let mut rig = plan.build();
        let sends: Vec<_> =
            plan.sends.iter().map(|&(at, c)| (Time::ZERO + Span::from_ms(at), c, plan.octets)).collect();
        rig.run(&sends, END);
        prop_assert_eq!(counters(&rig)[1].policed_discarded, 0);
        prop_assert_eq!(rig.delivered.len(), sends.len());
    }

    /// Without shapers and sources, whatever the classes: the instants at which cells leave are those of one
    /// queue with one server.
    #[test]
    fn the_server_of_all_classes_conserves_work(mut plan in plan()) {
        plan.buffers = [None; 2];
        plan.shapers = vec![[None; 2]; CONVERSATIONS as usize];
        plan.loops = vec![false; CONVERSATIONS as usize];
        plan.policers.iter_mut().flatten().flatten().for_each(|p| p.action = PolicerAction::Tag);
        let mut rig = plan.build();
        // Cells come each 0.848 ms at the most, and take 2 ms.
        rig.net.set_line_rate(Time::ZERO, rig.there[1], Rate::from_bps(212_000));
        rig.net.tap(rig.switch);
        let sends: Vec<_> =
            plan.sends.iter().map(|&(at, c)| (Time::ZERO + Span::from_ms(at), c, plan.octets)).collect();
        rig.run(&sends, END);
        let [mut came, mut left] = [Vec::new(), Vec::new()];
        for record in rig.net.tapped() {
            match (record.direction, record.port, record.unit) {
                (Direction::In, port, TapUnit::Cell(..)) if port == rig.there[0] => came.push(record.at),
                (Direction::Out, port, TapUnit::Cell(..)) if port == rig.there[1] => left.push(record.at),
                _ => {}
            }
        }
        let mut free = Time::ZERO;
        let by_hand: Vec<Time> = came.iter().map(|&at| { free = at.max(free) + Span::from_ms(2); free }).collect();
        prop_assert_eq!(left, by_hand);
    }
}
