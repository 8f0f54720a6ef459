use cellway_units::{CELL_BITS, Cells, Rate, Span, Time};
use proptest::prelude::*;

use super::{DualGcra, Gcra, burst_tolerance};
use crate::line::Line;

const OC3C: Rate = Rate::from_bps(149_760_000);

/// Returns `numerator`/`denominator` times `n` cell times at `rate`, rounded up.
fn cell_times(rate: Rate, numerator: u64, denominator: u64) -> Span {
    let ps = u128::from(CELL_BITS.0) * 1_000_000_000_000 * u128::from(numerator);
    Span::from_ps(ps.div_ceil(u128::from(rate.as_bps()) * u128::from(denominator)) as u64)
}

/// Starts of back-to-back cells on a line of `rate`.
fn back_to_back(rate: Rate, cells: usize) -> Vec<Time> {
    let mut line = Line::new(rate);
    let mut now = Time::ZERO;
    (0..cells)
        .map(|_| {
            let leaves = line.send_cell(now);
            std::mem::replace(&mut now, leaves)
        })
        .collect()
}

/// Check values: with T = 4.5 cell times and τ = 0.5, 1.5, 3.5 and 7 of them 1, 1, 2 and 3 cells pass back to back: N =
/// 1 + floor(τ / (T − δ)).
#[test]
fn as_many_cells_back_to_back_as_the_tolerance_allows() {
    let rate = Rate::from_bps(OC3C.as_bps() * 2 / 9);
    for (numerator, denominator, expected) in [(1, 2, 1), (3, 2, 1), (7, 2, 2), (7, 1, 3)] {
        let mut gcra = Gcra::new(rate, cell_times(OC3C, numerator, denominator));
        let conforming = back_to_back(OC3C, 10).into_iter().take_while(|&at| gcra.conforms(at)).count();
        assert_eq!(conforming, expected, "tolerance of {numerator}/{denominator} cell times");
    }
}

#[test]
fn a_cell_at_tat_less_l_conforms_and_one_a_picosecond_before_does_not() {
    let (rate, limit) = (Rate::from_bps(424_000_000), Span::from_ns(300)); // T = 1 us
    let mut gcra = Gcra::new(rate, limit);
    assert!(gcra.conforms(Time::ZERO));
    let bound = Time::from_ps(700_000);
    assert_eq!(gcra.earliest(Time::ZERO), bound);
    assert!(!gcra.conforms(Time::from_ps(699_999)));
    assert!(gcra.conforms(bound));
    // The early cell does not move TAT backward: it is now 2 us, not 1.7 us.
    assert_eq!(gcra.earliest(bound), Time::from_ps(1_700_000));
}

#[test]
fn a_cell_that_does_not_conform_leaves_no_trace() {
    let mut gcra = Gcra::new(Rate::from_bps(424_000_000), Span::ZERO);
    assert!(gcra.conforms(Time::ZERO));
    for ps in (1..1_000_000).step_by(1_000) {
        assert!(!gcra.conforms(Time::from_ps(ps)));
    }
    assert!(gcra.conforms(Time::from_ps(1_000_000)));
}

#[test]
fn a_late_cell_gains_no_credit() {
    let mut gcra = Gcra::new(Rate::from_bps(424_000_000), Span::ZERO);
    assert!(gcra.conforms(Time::from_ps(10_500_000)));
    assert_eq!(gcra.earliest(Time::from_ps(10_500_000)), Time::from_ps(11_500_000));
}

#[test]
fn a_late_cell_forgets_the_fraction_of_a_picosecond() {
    let rate = Rate::from_bps(7_000_003);
    let (cell, remainder) = rate.time_for(CELL_BITS, 0);
    assert!(remainder > rate.as_bps() / 2, "two fractions would make a picosecond");
    let mut gcra = Gcra::new(rate, Span::ZERO);
    for second in 1..10 {
        let late = Time::ZERO + Span::from_secs(second);
        gcra.take(late);
        assert_eq!(gcra.earliest(late), late + cell);
    }
}

#[test]
fn a_shaper_is_exactly_on_rate_and_passes_a_policer_without_tolerance() {
    for bps in [1_500_000, 15_264_000, 33_920_000, 77_880_000, 149_760_000, 7_000_003] {
        let rate = Rate::from_bps(bps);
        let (mut shaper, mut policer) = (Gcra::new(rate, Span::ZERO), Gcra::new(rate, Span::ZERO));
        let mut now = Time::ZERO;
        for _ in 0..100_000 {
            now = shaper.earliest(now);
            shaper.take(now);
            assert!(policer.conforms(now), "at {now}");
        }
        let (exact, _) = rate.time_for(Cells(99_999).bits(), 0);
        assert_eq!(now, Time::ZERO + exact, "at {bps} bit/s");
    }
}

#[test]
fn a_line_at_the_peak_rate_conforms_without_tolerance() {
    let mut gcra = Gcra::new(OC3C, Span::ZERO);
    assert!(back_to_back(OC3C, 100_000).into_iter().all(|at| gcra.conforms(at)));
}

/// BT = (MBS − 1)(1/SCR − 1/PCR): 200 cells at 20 and 10 Mbit/s take 199 × (42.4 − 21.2) us.
#[test]
fn the_burst_tolerance_is_that_of_the_formula() {
    let (pcr, scr) = (Rate::from_bps(20_000_000), Rate::from_bps(10_000_000));
    assert_eq!(burst_tolerance(pcr, scr, Cells(200)), Span::from_ns(199 * 21_200));
    assert_eq!(burst_tolerance(pcr, scr, Cells(1)), Span::ZERO);
    assert_eq!(burst_tolerance(scr, pcr, Cells(200)), Span::ZERO);
}

#[test]
fn exactly_mbs_cells_pass_at_the_peak_rate() {
    let odd = (0..200).map(|i| (33_333_333 + 17 * i, 7_000_003 + i, 32));
    for (pcr, scr, mbs) in [(20_000_000, 10_000_000, 200), (33_333_333, 33_000_001, 5)].into_iter().chain(odd) {
        let (pcr, scr) = (Rate::from_bps(pcr), Rate::from_bps(scr));
        let mut dual = DualGcra::peak(pcr, Span::ZERO).and_sustained(scr, Cells(mbs), Span::ZERO);
        let passed = back_to_back(pcr, 1_000).into_iter().take_while(|&at| dual.conforms(at)).count();
        assert_eq!(passed as u64, mbs, "{pcr}, {scr}");
    }
}

#[test]
fn a_dual_shaper_sends_a_burst_at_pcr_and_then_goes_on_at_scr() {
    let (pcr, scr) = (Rate::from_bps(42_400_000), Rate::from_bps(4_240_000)); // 10 us and 100 us
    let mut dual = DualGcra::peak(pcr, Span::ZERO).and_sustained(scr, Cells(4), Span::ZERO);
    let mut now = Time::ZERO;
    let mut gaps = Vec::new();
    for _ in 0..8 {
        let at = dual.earliest(now);
        gaps.push((at - now).as_ps() / 1_000_000);
        dual.take(at);
        now = at;
    }
    // TAT of the sustained bucket runs 90 us further ahead with each cell at PCR, until BT is used up.
    assert_eq!(gaps, [0, 10, 10, 10, 100, 100, 100, 100]);
}

#[test]
fn a_cell_refused_by_one_bucket_does_not_count_in_the_other() {
    let (pcr, scr) = (Rate::from_bps(42_400_000), Rate::from_bps(4_240_000));
    let mut dual = DualGcra::peak(pcr, Span::ZERO).and_sustained(scr, Cells(1), Span::ZERO);
    assert!(dual.conforms(Time::ZERO));
    // 95 us: fine by PCR, too early by SCR. Had it counted at PCR, 100 us would be refused.
    assert!(!dual.conforms(Time::from_ps(95_000_000)));
    assert!(dual.conforms(Time::from_ps(100_000_000)));
}

#[test]
fn a_new_rate_keeps_what_is_owed_as_data() {
    let mut gcra = Gcra::new(Rate::from_bps(4_240_000), Span::ZERO); // 100 us
    gcra.take(Time::ZERO);
    let half = Time::from_ps(50_000_000);
    gcra.set_rate(half, Rate::from_bps(42_400_000)); // 10 us: half a cell is 5 us
    assert_eq!(gcra.earliest(half), Time::from_ps(55_000_000));
    gcra.set_rate(half, Rate::from_bps(4_240_000));
    assert_eq!(gcra.earliest(half), Time::from_ps(100_000_000));
}

#[test]
fn a_new_rate_leaves_no_more_debt_than_conforming_cells_could() {
    let mut gcra = Gcra::new(Rate::from_bps(42_400_000), Span::from_us(20)); // 10 us
    (0..3).for_each(|_| assert!(gcra.conforms(Time::ZERO))); // TAT = 30 us
    gcra.set_rate(Time::ZERO, Rate::from_bps(4_240_000)); // as data 300 us, but L + T = 120 us
    assert_eq!(gcra.earliest(Time::ZERO), Time::from_ps(100_000_000));
}

#[test]
fn the_burst_stays_mbs_when_the_peak_rate_changes() {
    let mut dual = DualGcra::peak(Rate::from_bps(20_000_000), Span::ZERO).and_sustained(
        Rate::from_bps(10_000_000),
        Cells(50),
        Span::ZERO,
    );
    let pcr = Rate::from_bps(100_000_000);
    dual.set_peak_rate(Time::ZERO, pcr);
    assert_eq!(dual.peak_rate(), pcr);
    assert_eq!(back_to_back(pcr, 1_000).into_iter().take_while(|&at| dual.conforms(at)).count(), 50);
}

proptest! {
    /// Any k + 1 conforming cells span at least k T − L, less the one tick of the clock; and `earliest` is the first
    /// instant that conforms.
    #[test]
    fn no_interval_holds_more_than_the_rate_and_the_tolerance(
        bps in 1_000_000..600_000_000_u64,
        limit in 0..100_000_000_u64,
        gaps in proptest::collection::vec(0..3_000_000_u64, 1..300),
    ) {
        let (rate, limit) = (Rate::from_bps(bps), Span::from_ps(limit));
        let mut gcra = Gcra::new(rate, limit);
        let mut now = Time::ZERO;
        let mut taken = Vec::new();
        for gap in gaps {
            now += Span::from_ps(gap);
            let earliest = gcra.earliest(now);
            prop_assert!(gcra.would_conform(earliest));
            prop_assert!(earliest == now || !gcra.would_conform(Time::from_ps(earliest.as_ps() - 1)));
            if gcra.conforms(now) {
                taken.push(now);
            }
        }
        for (k, &at) in taken.iter().enumerate() {
            for (cells, &first) in (1..).zip(taken[..k].iter().rev()) {
                let (span, _) = rate.time_for(Cells(cells).bits(), 0);
                prop_assert!((at - first) + limit >= span, "{} cells in {}", cells + 1, at - first);
            }
        }
    }
}
