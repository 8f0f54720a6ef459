use cellway_spec::Fraction;
use cellway_units::{Rate, Span, Time};

use super::{CurrentRate, Erica, EricaSpec};
use crate::abr::{RmCell, RmDirection};

/// One cell an interval of 1 ms is 424 kbit/s; the line takes 100 cells an interval.
const CELL: u64 = 424_000;
const LINE: Rate = Rate::from_bps(100 * CELL);

fn erica(target: Fraction) -> Erica {
    Erica::new(EricaSpec { target, interval: Span::from_ms(1), tolerance: Fraction::one_over(10) }, LINE)
}

fn whole() -> Fraction {
    Fraction::one_over(1)
}

/// Rates are in cells an interval.
fn rm(direction: RmDirection, ccr: u64, mcr: u64) -> RmCell {
    let [ccr, mcr, er] = [ccr * CELL, mcr * CELL, u64::MAX].map(Rate::from_bps);
    RmCell { direction, ccr, mcr, er, ci: false, ni: false }
}

/// Sends `cells` cells of connection `slot` at `ccr`, with `mcr`, in interval `number`.
fn sends(erica: &mut Erica, number: u64, slot: usize, cells: u64, ccr: u64, mcr: u64) {
    let start = Time::ZERO + Span::from_ms(number);
    erica.forward(start, slot, &rm(RmDirection::Forward, ccr, mcr));
    (1..cells).for_each(|i| erica.cell(start + Span::from_us(i), slot));
}

/// Returns ER (bit/s) for connection `slot` in interval `number`.
fn er(erica: &mut Erica, number: u64, slot: usize) -> u64 {
    let mut rm = rm(RmDirection::Backward, 0, 0);
    erica.backward(Time::ZERO + Span::from_ms(number), slot, &mut rm);
    rm.er.as_bps()
}

#[test]
fn before_anything_is_known_er_is_the_target() {
    let mut erica = erica(Fraction::new(9, 10).unwrap());
    assert_eq!(er(&mut erica, 0, 0), 90 * CELL);
}

/// z = 150 / 100: CCR / z is 80 for the fast one, 20 for the slow one, and the fair share is 50.
#[test]
fn in_overload_er_is_the_larger_of_fair_share_and_vc_share() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 120, 120, 0);
    sends(&mut erica, 0, 1, 30, 30, 0);
    assert_eq!(er(&mut erica, 1, 0), 80 * CELL);
    assert_eq!(er(&mut erica, 1, 1), 50 * CELL);
}

/// The max-min extension. At z = 75 / 100 the fast one gets 60 / z = 80. The slow one may have the largest rate of the
/// last interval, but must first reach its fair share of 50.
#[test]
fn in_underload_all_rise_to_the_largest_er_of_the_last_interval() {
    let mut erica = erica(whole());
    for number in 0..2 {
        sends(&mut erica, number, 0, 60, 60, 0);
        sends(&mut erica, number, 1, 15, 15, 0);
        assert_eq!(er(&mut erica, number + 1, 0), 80 * CELL);
        assert_eq!(er(&mut erica, number + 1, 1), 50 * CELL);
    }
    sends(&mut erica, 2, 0, 40, 40, 0);
    sends(&mut erica, 2, 1, 50, 50, 0);
    assert_eq!(er(&mut erica, 3, 1), 80 * CELL, "more than 50 / z = 55.6");
}

/// z = 105 / 100 is within δ = 1/10: no rate is reduced below the largest ER of the last interval.
#[test]
fn within_the_tolerance_rates_are_not_cut() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 60, 60, 0);
    sends(&mut erica, 0, 1, 40, 40, 0);
    assert_eq!(er(&mut erica, 1, 0), 60 * CELL);
    sends(&mut erica, 1, 0, 60, 60, 0);
    sends(&mut erica, 1, 1, 45, 45, 0);
    assert_eq!(er(&mut erica, 2, 0), 60 * CELL);
    sends(&mut erica, 2, 0, 60, 60, 0);
    sends(&mut erica, 2, 1, 60, 60, 0);
    assert_eq!(er(&mut erica, 3, 0), 50 * CELL, "z = 1.2");
}

/// CCR is 120 for a quarter of the interval and 80 for the rest: 90 on average. With a second
/// connection z = 150 / 100, and 90 / z = 60.
#[test]
fn ccr_is_the_mean_over_the_interval_in_which_z_was_measured() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 89, 120, 0);
    erica.forward(Time::ZERO + Span::from_us(250), 0, &rm(RmDirection::Forward, 80, 0));
    sends(&mut erica, 0, 1, 60, 60, 0);
    // The value of the next interval belongs to the next z.
    erica.forward(Time::ZERO + Span::from_ms(1), 0, &rm(RmDirection::Forward, 7, 0));
    assert_eq!(er(&mut erica, 1, 0), 60 * CELL);
}

#[test]
fn the_mean_is_of_the_last_interval_alone() {
    let (mut ccr, interval) = (CurrentRate::default(), Span::from_ms(1));
    let at = |us| Time::ZERO + Span::from_us(us);
    ccr.set(at(500), at(0), interval, 1_000);
    ccr.account(at(1_000), interval);
    assert_eq!(ccr.mean, 500, "it started in the middle");
    ccr.set(at(1_750), at(1_000), interval, 200);
    ccr.account(at(2_000), interval);
    assert_eq!(ccr.mean, 800, "3/4 of 1000 and 1/4 of 200");
    ccr.set(at(2_750), at(2_000), interval, 400);
    ccr.account(at(9_000), interval);
    assert_eq!(ccr.mean, 400, "no news in the last interval");
}

#[test]
fn er_stays_the_same_all_through_an_interval() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 120, 120, 0);
    sends(&mut erica, 0, 1, 30, 30, 0);
    assert_eq!(er(&mut erica, 1, 0), 80 * CELL);
    sends(&mut erica, 1, 0, 1, 60, 0);
    assert_eq!(er(&mut erica, 1, 0), 80 * CELL, "a new CCR counts in the next interval");
}

#[test]
fn er_is_never_raised() {
    let mut erica = erica(whole());
    let mut low = RmCell { er: Rate::from_bps(7), ..rm(RmDirection::Backward, 0, 0) };
    erica.backward(Time::ZERO, 0, &mut low);
    assert_eq!(low.er, Rate::from_bps(7));
}

/// 20 of the 100 cells belong to a higher priority; of the other 80 90 % are allocated.
#[test]
fn what_higher_priorities_send_is_not_handed_out() {
    let mut erica = erica(Fraction::new(9, 10).unwrap());
    (0..20).for_each(|_| erica.higher_priority(Time::ZERO));
    sends(&mut erica, 0, 0, 200, 200, 0);
    assert_eq!(er(&mut erica, 1, 0), 72 * CELL);
}

/// MCRs of 40 and 10 leave 50 of 100. Above them 60 and 15 arrive: z = 75 / 50. The first gets 40 + 60 / z = 80, the
/// second 10 + max(25, 10) = 35.
#[test]
fn each_gets_its_mcr_and_a_share_of_the_rest() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 100, 100, 40);
    sends(&mut erica, 0, 1, 25, 25, 10);
    // MCR is known from the first forward RM cell on.
    assert_eq!(er(&mut erica, 1, 0), 80 * CELL);
    assert_eq!(er(&mut erica, 1, 1), 35 * CELL);
}

/// MCRs beyond the capacity leave nothing to share, and each connection gets its MCR.
#[test]
fn mcr_is_given_even_if_there_is_no_room() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 70, 70, 70);
    sends(&mut erica, 0, 1, 60, 60, 60);
    assert_eq!(er(&mut erica, 1, 0), 70 * CELL);
    assert_eq!(er(&mut erica, 1, 1), 60 * CELL);
}

/// After an idle time the last interval, which was empty, counts: the line is free for new connections.
#[test]
fn a_silent_connection_is_forgotten() {
    let mut erica = erica(whole());
    for number in 0..2 {
        sends(&mut erica, number, 0, 120, 120, 0);
        sends(&mut erica, number, 1, 120, 120, 0);
    }
    let mut after_a_pause = erica.clone();
    assert_eq!(er(&mut erica, 2, 0), 50 * CELL);
    assert_eq!(er(&mut after_a_pause, 3, 0), 100 * CELL);
}

#[test]
fn a_slower_line_shows_at_the_end_of_the_interval() {
    let mut erica = erica(whole());
    sends(&mut erica, 0, 0, 100, 100, 0);
    erica.set_line_rate(Time::ZERO + Span::from_us(500), Rate::from_bps(10 * CELL));
    assert_eq!(er(&mut erica, 1, 0), 10 * CELL);
}
