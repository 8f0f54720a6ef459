//! The contents of a cell spacer, simulated cell by cell and predicted, over a small grid.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_lab::Settings;
use cellway_lab::reproduce::{Paper, ReproduceOptions, reproduce};
use cellway_scenario::{CongestionControl, Plan, Protocol, Scenario, Variant};
use cellway_theory::{Acknowledgements, Spacer, spacer_of};
use cellway_units::Bytes;

/// In cells. The predictions are in whole cells, so that one cell is the least that can be wrong.
const BOUND: f64 = 1.0;

#[test]
fn theorems_1_to_3_hold_to_a_cell() {
    let only = ["theorem1", "theorem2", "theorem3"].map(str::to_owned);
    let options = ReproduceOptions { only: &only, quick: true, ..ReproduceOptions::default() };
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    let done = reproduce(&[Paper::find("spacing").unwrap()], &options, &mut settings).unwrap();
    let mut compared = 0;
    // Theorem 1 holds for settings inside condition C1; its failure outside is a row of its own.
    let inside = || done.claims().filter(|row| row.id != "theorem1-everywhere");
    for row in inside() {
        let worst = row.simulated.unwrap_or_else(|| panic!("{} compares nothing", row.id));
        assert!((0.0..=BOUND).contains(&worst), "{}: {}", row.id, row.measured_text);
        let text = row.measured_text.split_once('(').unwrap().1.strip_suffix(" settings)").unwrap();
        let points: u64 = text.parse().unwrap();
        assert!(points >= 20, "{}: only {points} settings", row.id);
        compared += if row.id.ends_with("-largest") { points } else { 0 };
    }
    assert_eq!(inside().count(), 7);
    assert!(compared >= 60, "{compared} settings");
}

#[test]
fn the_scenario_of_figure_3_has_the_round_trip_of_the_paper() {
    let text = include_str!("../../../papers/spacing/spacer.toml");
    let mut scenario = Plan::parse(text, "spacer.toml").unwrap().base().clone();
    let input = spacer_of(&scenario).unwrap();
    assert_eq!((input.segment, input.initial, input.threshold, input.window), (32, 2, 41, 41));
    assert_eq!(input.acknowledgements, Acknowledgements::EverySecond);
    assert!((Spacer::new(input).unwrap().round_trip() - 3.6e-3).abs() < 1e-9);
    let Protocol::Tcp(tcp) = &mut scenario.traffic[0].protocol else { panic!("the group uses TCP") };
    tcp.tcp.initial_ssthresh = Some(Bytes(10 * 1476 - 1));
    assert_eq!(spacer_of(&scenario).unwrap().threshold, 10, "the first whole segment at or above it");
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        spacer_of(&changed).unwrap_err().to_string()
    };
    let control = |variant: Variant, control: CongestionControl| {
        let mut changed = scenario.clone();
        let Protocol::Tcp(tcp) = &mut changed.traffic[0].protocol else { panic!("the group uses TCP") };
        (tcp.tcp.variant, tcp.tcp.control) = (variant, Some(control));
        spacer_of(&changed).is_ok()
    };
    assert!(!control(Variant::Reno, CongestionControl::Cubic) && control(Variant::Cubic, CongestionControl::Reno));
    assert!(refused(&|s| s.shapers.clear()).contains("spacer"));
    for lossy in
        [|s: &mut Scenario| s.links[0].lost[0] = vec![3], |s: &mut Scenario| s.links[0].loss = "1 %".parse().unwrap()]
    {
        assert!(refused(&lossy).contains("links lose cells"));
    }
}
