use cellway_spec::Fraction;
use cellway_units::{Rate, Span, Time};
use proptest::prelude::*;

use super::{AbrSource, InRateCell, Waiting};
use crate::abr::{AbrParameters, RmCell, RmDirection, TAGGED_CELL_RATE};

const DATA: Waiting = Waiting { data: true, backward: false };
const BACKWARD: Waiting = Waiting { data: false, backward: true };
const BOTH: Waiting = Waiting { data: true, backward: true };

/// Returns PCR 42.4 Mbit/s (10 us a cell), ICR 4.24 Mbit/s (100 us), MCR 424 kbit/s (1 ms), Nrm 8.
fn parameters() -> AbrParameters {
    AbrParameters {
        mcr: Rate::from_bps(424_000),
        icr: Rate::from_bps(4_240_000),
        nrm: 8,
        crm: 4,
        ..AbrParameters::new(Rate::from_bps(42_400_000))
    }
}

fn backward(er: u64, ci: bool, ni: bool) -> RmCell {
    let [ccr, mcr, er] = [0, 0, er].map(Rate::from_bps);
    RmCell { direction: RmDirection::Backward, ccr, mcr, er, ci, ni }
}

/// Sends as soon as the source may, `count` times; F, B and D for the cells.
fn sent(source: &mut AbrSource, now: &mut Time, waiting: Waiting, count: usize) -> String {
    let mut letter = || {
        *now = source.earliest(*now);
        match source.send(*now, waiting).unwrap() {
            InRateCell::ForwardRm(_) => 'F',
            InRateCell::BackwardRm => 'B',
            InRateCell::Data => 'D',
        }
    };
    (0..count).map(|_| letter()).collect()
}

/// Sends until a forward RM cell leaves, which is given back.
fn next_forward(source: &mut AbrSource, now: &mut Time) -> RmCell {
    loop {
        *now = source.earliest(*now);
        if let Some(InRateCell::ForwardRm(rm)) = source.send(*now, DATA) {
            return rm;
        }
    }
}

/// TM 4.0 section 5.10.4 rule 2: ACR starts at ICR, and the first cell is a forward RM cell. Rules
/// 7 and 10: it carries ACR, MCR and PCR.
#[test]
fn rule_2_the_first_cell_is_a_forward_rm_cell_at_icr() {
    let mut source = AbrSource::new(parameters());
    assert_eq!(source.send(Time::ZERO, Waiting::default()), None, "nothing waits");
    let [ccr, mcr, er] = [4_240_000, 424_000, 42_400_000].map(Rate::from_bps);
    let first = RmCell { direction: RmDirection::Forward, ccr, mcr, er, ci: false, ni: false };
    assert_eq!(source.send(Time::ZERO, DATA), Some(InRateCell::ForwardRm(first)));
}

/// Rule 1: in-rate cells, RM cells included, leave at ACR.
#[test]
fn rule_1_cells_leave_at_acr() {
    let mut source = AbrSource::new(AbrParameters { crm: 32, ..parameters() });
    let mut now = Time::ZERO;
    sent(&mut source, &mut now, DATA, 101);
    assert_eq!(now, Time::ZERO + Span::from_us(100 * 100));
}

/// Rule 3a: one in Nrm cells is a forward RM cell.
#[test]
fn rule_3a_a_forward_rm_cell_leads_every_nrm_cells() {
    let mut source = AbrSource::new(parameters());
    assert_eq!(sent(&mut source, &mut Time::from_ps(0), DATA, 18), "FDDDDDDDFDDDDDDDFD");
}

/// Rule 3a: after Trm one is sent early, but not before Mrm = 2 other cells.
#[test]
fn rule_3a_a_slow_source_sends_one_after_trm_and_two_cells() {
    // 30 ms a cell: the third cell after a forward RM cell is sent within Trm = 100 ms, the fourth after.
    let rate = Rate::from_bps(14_134);
    let mut source = AbrSource::new(AbrParameters { icr: rate, mcr: rate, ..parameters() });
    assert_eq!(sent(&mut source, &mut Time::from_ps(0), DATA, 9), "FDDDFDDDF");
    // 100 ms a cell: Trm is over after the first, yet two must go.
    let mut source = AbrSource::new(AbrParameters { icr: TAGGED_CELL_RATE, mcr: TAGGED_CELL_RATE, ..parameters() });
    assert_eq!(sent(&mut source, &mut Time::from_ps(0), DATA, 7), "FDDFDDF");
}

/// Rule 3b: one backward RM cell for each forward one precedes data, and more when no data wait.
#[test]
fn rule_3b_backward_rm_cells_go_first_once_and_fill_gaps() {
    let mut source = AbrSource::new(parameters());
    let mut now = Time::ZERO;
    assert_eq!(sent(&mut source, &mut now, BOTH, 9), "FBDDDDDDF");
    assert_eq!(sent(&mut source, &mut now, BACKWARD, 8), "BBBBBBBF");
}

/// Rule 5: a pause longer than ADTF reduces ACR to ICR; one just as long does not.
#[test]
fn rule_5_a_rate_that_was_not_used_falls_to_icr() {
    for (pause, acr) in [(500_000_000_000, 10_000_000), (500_000_000_001, 4_240_000)] {
        let mut source = AbrSource::new(parameters());
        source.send(Time::ZERO, DATA);
        (0..10).for_each(|_| source.receive(Time::ZERO, &backward(10_000_000, false, false)));
        assert_eq!(source.acr(), Rate::from_bps(10_000_000));
        // The pause is between forward RM cells, so the two cells that Trm requires precede its end.
        let mut now = Time::from_ps(1_000_000_000);
        sent(&mut source, &mut now, DATA, 2);
        let rm = source.send(Time::from_ps(pause), DATA);
        let Some(InRateCell::ForwardRm(rm)) = rm else { panic!("{rm:?} after Trm") };
        assert_eq!((rm.ccr, source.acr()), (Rate::from_bps(acr), Rate::from_bps(acr)));
    }
}

/// Rule 5 reduces ACR; it does not raise that of a source below ICR.
#[test]
fn rule_5_does_not_raise_acr() {
    let mut source = AbrSource::new(parameters());
    source.send(Time::ZERO, DATA);
    source.receive(Time::ZERO, &backward(1_000_000, false, false));
    let mut now = Time::ZERO + Span::from_secs(10);
    assert_eq!(next_forward(&mut source, &mut now).ccr, Rate::from_bps(1_000_000));
}

/// Rule 6: after CRM = 4 unanswered forward RM cells each further one reduces ACR by CDF = 1/16.
#[test]
fn rule_6_acr_falls_when_nobody_answers() {
    let mut source = AbrSource::new(parameters());
    let mut now = Time::ZERO;
    let ccr: Vec<_> = (0..6).map(|_| next_forward(&mut source, &mut now).ccr.as_bps()).collect();
    assert_eq!(ccr, [4_240_000, 4_240_000, 4_240_000, 4_240_000, 3_975_000, 3_726_562]);
    // An answer starts the count anew.
    source.receive(now, &backward(42_400_000, false, true));
    let ccr: Vec<_> = (0..5).map(|_| next_forward(&mut source, &mut now).ccr.as_bps()).collect();
    assert_eq!(ccr, [3_726_562, 3_726_562, 3_726_562, 3_726_562, 3_493_651]);
}

/// Rule 6: ... down to MCR, and no further.
#[test]
fn rule_6_without_backward_rm_cells_acr_ends_at_mcr() {
    let mut source = AbrSource::new(parameters());
    let mut now = Time::ZERO;
    let ccr: Vec<_> = (0..60).map(|_| next_forward(&mut source, &mut now).ccr.as_bps()).collect();
    assert!(ccr.is_sorted_by(|a, b| a >= b));
    // (15/16)^36 < 1/10 < (15/16)^35: the 36th cut ends at MCR.
    assert_eq!(ccr.iter().position(|&ccr| ccr == 424_000), Some(3 + 36));
    assert!(ccr[39..].iter().all(|&ccr| ccr == 424_000));
}

/// Rule 6 with CDF = 0 never reduces ACR.
#[test]
fn rule_6_does_nothing_if_cdf_is_zero() {
    let mut source = AbrSource::new(AbrParameters { cdf: Fraction::new(0, 1).unwrap(), ..parameters() });
    let mut now = Time::ZERO;
    assert!((0..40).all(|_| next_forward(&mut source, &mut now).ccr == Rate::from_bps(4_240_000)));
}

/// Rule 8, CI: ACR loses RDF of itself, at least: 4,240,001 / 16 is rounded up.
#[test]
fn rule_8_congestion_lowers_acr_by_rdf() {
    let mut source = AbrSource::new(AbrParameters { icr: Rate::from_bps(4_240_001), ..parameters() });
    source.receive(Time::ZERO, &backward(42_400_000, true, false));
    assert_eq!(source.acr(), Rate::from_bps(3_975_000));
    // With CI, NI makes no difference.
    source.receive(Time::ZERO, &backward(42_400_000, true, true));
    assert_eq!(source.acr(), Rate::from_bps(3_726_562));
}

/// Rule 8, neither CI nor NI: ACR gains RIF × PCR, at most: 42,400,015 / 16 is rounded down.
#[test]
fn rule_8_silence_raises_acr_by_rif_of_pcr() {
    let pcr = Rate::from_bps(42_400_015);
    let mut source = AbrSource::new(AbrParameters { pcr, ..parameters() });
    source.receive(Time::ZERO, &backward(u64::MAX, false, false));
    assert_eq!(source.acr(), Rate::from_bps(4_240_000 + 2_650_000));
    (0..20).for_each(|_| source.receive(Time::ZERO, &backward(u64::MAX, false, false)));
    assert_eq!(source.acr(), pcr, "rule 1: never above PCR");
}

/// Rule 8, NI without CI: ACR is unchanged.
#[test]
fn rule_8_no_increase_keeps_acr() {
    let mut source = AbrSource::new(parameters());
    source.receive(Time::ZERO, &backward(42_400_000, false, true));
    assert_eq!(source.acr(), Rate::from_bps(4_240_000));
}

/// Rule 9: after rule 8 ER is a ceiling, and MCR a floor even under a lower ER.
#[test]
fn rule_9_er_bounds_what_rule_8_gave() {
    let mut source = AbrSource::new(parameters());
    source.receive(Time::ZERO, &backward(5_000_000, false, false));
    assert_eq!(source.acr(), Rate::from_bps(5_000_000));
    source.receive(Time::ZERO, &backward(4_000_000, false, true));
    assert_eq!(source.acr(), Rate::from_bps(4_000_000));
    source.receive(Time::ZERO, &backward(3_900_000, true, false));
    assert_eq!(source.acr(), Rate::from_bps(3_750_000), "CI asks for less than ER allows");
    source.receive(Time::ZERO, &backward(1, false, false));
    assert_eq!(source.acr(), Rate::from_bps(424_000));
}

/// Rule 11 is not implemented: with MCR 0 the source sends at TCR, so that RM cells still flow.
#[test]
fn a_source_without_mcr_keeps_probing_at_tcr() {
    let mut source = AbrSource::new(AbrParameters { mcr: Rate::from_bps(0), ..parameters() });
    source.receive(Time::ZERO, &backward(0, false, false));
    assert_eq!(source.acr(), TAGGED_CELL_RATE);
}

/// A wait under the old ACR is shortened, or extended, in proportion.
#[test]
fn a_new_acr_counts_from_now_on() {
    let mut source = AbrSource::new(parameters());
    source.send(Time::ZERO, DATA);
    let now = Time::from_ps(50_000_000); // half of the 100 us at ICR
    source.receive(now, &backward(2_120_000, false, false)); // 200 us
    assert_eq!(source.earliest(now), Time::from_ps(150_000_000));
}

#[test]
fn a_new_peak_rate_cuts_acr_at_once() {
    let mut source = AbrSource::new(parameters());
    let pcr = Rate::from_bps(200_000); // below MCR too
    source.set_pcr(Time::ZERO, pcr);
    assert_eq!(source.acr(), pcr);
    let Some(InRateCell::ForwardRm(rm)) = source.send(Time::ZERO, DATA) else { panic!("it is the first cell") };
    assert_eq!((rm.ccr, rm.mcr, rm.er), (pcr, pcr, pcr));
    // With the old PCR, MCR is unchanged.
    source.set_pcr(Time::ZERO, Rate::from_bps(42_400_000));
    assert_eq!(source.acr(), Rate::from_bps(424_000));
}

#[derive(Clone, Debug)]
enum Event {
    Send { later: u64, waiting: Waiting },
    Receive { er: u64, ci: bool, ni: bool },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let later = prop_oneof![8 => Just(0), 1 => 0..2_000_000_000_000_u64];
    let event = prop_oneof![
        4 => (later, any::<bool>(), any::<bool>())
            .prop_map(|(later, data, backward)| Event::Send { later, waiting: Waiting { data, backward } }),
        1 => (0..700_000_000_u64, any::<bool>(), any::<bool>()).prop_map(|(er, ci, ni)| Event::Receive { er, ci, ni }),
    ];
    proptest::collection::vec(event, 1..500)
}

proptest! {
    /// Rules 1, 3, 8 and 9, whatever happens: ACR stays between MCR and PCR, a backward RM cell moves it
    /// as far as it may, CCR is ACR, and never do Nrm cells go without a forward RM cell among them.
    #[test]
    fn acr_stays_between_mcr_and_pcr(
        pcr in 10_000..622_000_000_u64,
        mcr in 0.0..1.0_f64,
        icr in 0.0..1.0_f64,
        (rif, rdf, cdf) in (0..16_u32, 0..16_u32, 0..7_u32),
        (nrm, crm) in (2..256_u32, 1..64_u32),
        events in events(),
    ) {
        let part = |share: f64| Rate::from_bps((pcr as f64 * share) as u64);
        let power = |n: u32| Fraction::one_over(1 << n);
        let parameters = AbrParameters {
            mcr: part(mcr), icr: part(icr), rif: power(rif), rdf: power(rdf), cdf: power(cdf), nrm, crm,
            ..AbrParameters::new(Rate::from_bps(pcr))
        };
        prop_assert_eq!(parameters.check(), Ok(()));
        let mut source = AbrSource::new(parameters);
        let (mut now, mut others) = (Time::ZERO, nrm);
        for event in events {
            let before = source.acr();
            match event {
                Event::Send { later, waiting } => {
                    now = source.earliest(now) + Span::from_ps(later);
                    match source.send(now, waiting) {
                        Some(InRateCell::ForwardRm(rm)) => {
                            prop_assert_eq!(rm.ccr, source.acr());
                            prop_assert!(source.acr() <= before.max(parameters.mcr));
                            others = 0;
                        }
                        Some(cell) => {
                            others += 1;
                            prop_assert!(others < nrm);
                            let was_waiting = if cell == InRateCell::Data { waiting.data } else { waiting.backward };
                            prop_assert!(was_waiting);
                            prop_assert_eq!(source.acr(), before);
                        }
                        None => prop_assert_eq!(waiting, Waiting::default()),
                    }
                }
                Event::Receive { er, ci, ni } => {
                    source.receive(now, &backward(er, ci, ni));
                    let bound = Rate::from_bps(er).max(parameters.mcr).max(TAGGED_CELL_RATE);
                    prop_assert!(source.acr() <= bound);
                    prop_assert!(!(ci || ni) || source.acr() <= before);
                    prop_assert!(source.acr().as_bps() <= before.as_bps() + (pcr >> rif));
                }
            }
            prop_assert!(source.acr() >= parameters.mcr && source.acr() <= parameters.pcr);
        }
    }
}
