//! Theorems 1, 2 and 3 against a simulation cell by cell.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod reference;

use cellway_theory::{Acknowledgements, Count, Interval, Spacer, SpacerInput};
use cellway_units::{Rate, Span};
use reference::{Setting, Trace, run};

/// A unit of time is 10 ms here: rates are whole cell/s and ticks whole picoseconds.
fn spacer(s: Setting) -> Spacer {
    let tick_ps = 10_000_000_000 / (s.peak * s.rate);
    assert_eq!(tick_ps * s.peak * s.rate, 10_000_000_000, "{s:?}");
    Spacer::new(SpacerInput {
        segment: s.segment,
        peak: Rate::from_bps(s.peak * 100 * 424),
        rate: Rate::from_bps(s.rate * 100 * 424),
        delay: Span::from_ps((s.delay + s.rate) * tick_ps),
        acknowledgements: if s.covers == 1 { Acknowledgements::EverySegment } else { Acknowledgements::EverySecond },
        initial: s.initial,
        threshold: s.threshold,
        window: s.window,
    })
    .unwrap()
}

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for covers in [1, 2] {
        for (peak, rate) in [(500, 100), (500, 200), (500, 250), (500, 320), (500, 400), (250, 200), (500, 64)] {
            for segment in [1, 5, 16] {
                // Round trips in segments at the spacing rate, in quarters.
                for pipe in [9, 22, 41, 102] {
                    for (initial, threshold, window) in
                        [(2, 2, 12), (2, 7, 7), (2, 8, 19), (2, 13, 40), (2, 41, 41), (3, 16, 17), (4, 23, 31)]
                    {
                        let delay = pipe * segment * peak / 4;
                        let total = window * window + 400;
                        all.push(Setting { segment, peak, rate, delay, covers, initial, threshold, window, total });
                    }
                }
            }
        }
    }
    all
}

/// Returns the last acknowledgement at which the source still has a whole window to send.
fn end_of_sending(s: Setting, trace: &Trace) -> u64 {
    trace.acknowledgements[trace.acknowledgements.len() - (s.window / s.covers) as usize - 2].0
}

fn ticks(s: Setting, seconds: f64) -> f64 {
    seconds * 100.0 * (s.peak * s.rate) as f64
}

fn same_instant(s: Setting, seconds: f64, tick: u64) -> bool {
    (ticks(s, seconds) - tick as f64).abs() < 1e-3 + tick as f64 * 1e-9
}

#[test]
fn the_final_oscillation_is_that_of_theorems_2_and_3() {
    let (mut slower, mut faster, mut inside, mut outside) = (0, 0, 0, 0);
    for s in settings() {
        let theory = spacer(s);
        let trace = run(s);
        let end = end_of_sending(s, &trace);
        let from = ticks(s, theory.avoidance().oscillation_time) as u64 + 1;
        assert!(from < end - end / 4, "{s:?}: settles at {from} of {end}");
        let (low, high) = trace.range(from, end);
        let cells =
            (theory.low_counted(s.window, Count::Cells), theory.peak_counted(theory.high(s.window), Count::Cells));
        assert_eq!((low as f64, high as f64), cells, "{s:?}");
        let fluid = (theory.low(s.window), theory.high(s.window));
        assert!((low as f64 - fluid.0).abs() <= 1.0, "{s:?}: {low} for {fluid:?}");
        let most = 1.0 + s.rate as f64 / s.peak as f64;
        assert!((0.0..most).contains(&(high as f64 - fluid.1)), "{s:?}: {high} for {fluid:?}");
        if 2 * s.rate > s.peak {
            faster += 1
        } else {
            slower += 1
        }
        if theory.slow_start().condition { inside += 1 } else { outside += 1 }
    }
    assert!(faster >= 300 && slower >= 300 && inside >= 300 && outside >= 300, "{faster} {slower} {inside} {outside}");
}

#[test]
fn slow_start_agrees_interval_by_interval() {
    let (mut maxima, mut cut, mut settled) = (0, 0, 0);
    for s in settings() {
        let theory = spacer(s);
        let start = theory.slow_start();
        let trace = run(s);
        for interval in &start.intervals {
            let (from, to) = (ticks(s, interval.start), ticks(s, interval.start + interval.length));
            if interval.number >= s.covers {
                let found = trace.acknowledgements.iter().any(|(at, _)| same_instant(s, interval.start, *at));
                assert!(found, "{s:?}: no acknowledgement at the start of {interval:?}");
            }
            let (_, high) = trace.range(from.round() as u64, to.round() as u64);
            let expected = theory.peak_counted(interval.maximum, Count::Cells);
            if interval.maximum < interval.length * (s.peak - s.rate) as f64 * 100.0 - 1e-6 {
                assert_eq!(high as f64, expected, "{s:?} {interval:?}");
                maxima += 1;
            } else {
                // Truncated at the end of the interval, possibly during the arrival of a cell.
                assert!((high as f64 - interval.maximum).abs() <= 2.0, "{s:?} {interval:?}: {high}");
                cut += 1;
            }
        }
        if theory.threshold() > s.initial {
            let reached = trace.windows.iter().find(|(_, w)| *w == theory.threshold()).unwrap().0;
            assert!(
                same_instant(s, start.threshold_time, reached),
                "{s:?}: {} at {reached}",
                ticks(s, start.threshold_time)
            );
        }
        if start.condition {
            settled += 1;
            // From t_b on, and not before, each acknowledgement finds the source waiting for it.
            let grows = trace.windows.iter().find(|(_, w)| *w > theory.threshold());
            let end = grows.map_or(end_of_sending(s, &trace), |(at, _)| *at);
            let last = start.last();
            let next = last.start + last.length;
            let grown = trace
                .windows
                .iter()
                .rfind(|(at, w)| *w == theory.threshold() && same_instant(s, start.threshold_time, *at));
            let busy = trace.acknowledgements.iter().rfind(|(at, idle)| !idle && *at < end);
            let after = grown.map(|g| g.0).max(busy.map(|b| b.0)).unwrap_or(0);
            let first = trace
                .acknowledgements
                .iter()
                .find(|(at, _)| *at > after && *at as f64 > ticks(s, next) - 0.5)
                .unwrap()
                .0;
            assert!(
                same_instant(s, start.oscillation_time, first),
                "{s:?}: {} {first}",
                ticks(s, start.oscillation_time)
            );
        }
    }
    assert!(maxima > 3000 && cut > 10 && settled > 300, "{maxima} {cut} {settled}");
}

#[test]
fn congestion_avoidance_ends_as_computed_and_the_buffer_suffices() {
    for s in settings() {
        let theory = spacer(s);
        let trace = run(s);
        let avoidance = theory.avoidance();
        if s.window > s.threshold.max(s.initial) {
            let reached = trace.windows.iter().find(|(_, w)| *w == s.window).unwrap().0;
            assert!(
                same_instant(s, avoidance.window_time, reached),
                "{s:?}: {} at {reached}",
                ticks(s, avoidance.window_time)
            );
        }
        let most = trace.content.iter().map(|(_, n)| *n).max().unwrap();
        assert_eq!(most as f64, theory.peak_counted(theory.buffer(), Count::Cells), "{s:?}");
    }
}

/// Returns t_b as equations (4) to (6) print it, in s.
fn printed_oscillation_time(s: Setting, theory: &Spacer, last: Interval) -> f64 {
    let (h, c, sigma) = (s.peak as f64 * 100.0, s.rate as f64 * 100.0, s.segment as f64);
    let (b, grown, delta) = (theory.threshold() as f64, (s.initial << last.number) as f64, theory.round_trip());
    let behind = c * h / (sigma * (h - c)) * (grown * sigma / h - delta).max(0.0);
    let k = ((b - grown) * (2.0 * c - h) / (h - c) + 1.0 + behind).max(0.0);
    (last.number + 1) as f64 * delta + ((b - grown).max(0.0) + k) * sigma / c
}

#[test]
fn the_printed_time_is_late_and_the_printed_interval_of_theorem_3_a_segment_off() {
    let (mut late, mut by_much) = (0, 0);
    for s in settings().into_iter().filter(|s| s.covers == 1) {
        let theory = spacer(s);
        let start = theory.slow_start();
        let printed = printed_oscillation_time(s, &theory, start.last());
        let segments = (printed - start.oscillation_time) * s.rate as f64 * 100.0 / s.segment as f64;
        assert!(segments > -1e-6, "{s:?}: {segments}");
        late += usize::from(segments > 1e-6);
        by_much += usize::from(segments > 1.0 + 1e-6);
    }
    assert!(late > 100 && by_much > 20, "{late} {by_much}");
    // Equation (22) takes the length of interval n0, which is Δ, not Δ', in every second case or so.
    let mut off = 0;
    for s in settings().into_iter().filter(|s| s.covers == 2 && s.threshold == s.window && s.segment == 16) {
        let theory = spacer(s);
        let start = theory.slow_start();
        let last = start.last();
        if last.left == 1 && !last.empties {
            let printed = s.window as f64 * 16.0 - last.length * s.rate as f64 * 100.0;
            let trace = run(s);
            let end = end_of_sending(s, &trace);
            let (low, _) = trace.range(ticks(s, theory.avoidance().oscillation_time) as u64 + 1, end);
            assert!((printed - low as f64 - 16.0).abs() <= 1.0, "{s:?}: {printed} {low}");
            off += 1;
        }
    }
    assert!(off >= 10, "{off}");
}
