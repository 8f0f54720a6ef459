//! Random traffic against queueing theory, as `cellsim` section 2.3 validated its simulator.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{Discipline, Multiplexing};
use cellway_units::{Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rig::{Rig, Shape};

const CELL_TIME: f64 = 1e-3;

fn rig(conversations: u32) -> Rig {
    Rig::new(&Shape {
        conversations,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        // A packet of one cell enters in 32 ns, 1/31 000 of its service.
        access: Rate::from_bps(10_000_000_000),
        delay: Span::ZERO,
        buffers: [None; 2],
    })
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns the mean and half-width of the 99 % confidence interval; 2.756 is Student's t for 29 degrees of freedom at
/// 0.995.
fn interval(sample: &[f64]) -> (f64, f64) {
    assert_eq!(sample.len(), 30);
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 2.756 * (variance / n).sqrt())
}

/// Returns the mean number of cells waiting at the first line between two instants.
fn mean_waiting(rig: &mut Rig, sends: &[(Time, u32, u32)], from: Time, to: Time) -> f64 {
    let split = sends.partition_point(|&(at, ..)| at < from);
    rig.run(&sends[..split], from);
    let before = rig.net.port_counters(rig.there[0], from).queue_area;
    rig.run(&sends[split..], to);
    let area = rig.net.port_counters(rig.there[0], to).queue_area - before;
    area as f64 / (to - from).as_ps() as f64
}

/// Poisson cells on one line: Pollaczek-Khinchine gives ρ² / 2(1 - ρ) cells waiting.
#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    for rho in [0.3, 0.6, 0.85] {
        let mut rng = ChaCha8Rng::seed_from_u64((rho * 100.0) as u64);
        let samples: Vec<f64> = (0..30)
            .map(|_| {
                let mut t = 0.0;
                let mut sends = Vec::new();
                while t < 42.0 {
                    t -= (1.0 - uniform(&mut rng)).ln() * CELL_TIME / rho;
                    sends.push((Time::ZERO + Span::from_secs_f64(t), 0, 40));
                }
                mean_waiting(&mut rig(1), &sends, Time::ZERO + Span::from_secs(2), Time::ZERO + Span::from_secs(42))
            })
            .collect();
        let (mean, half) = interval(&samples);
        let theory = rho * rho / (2.0 * (1.0 - rho));
        assert!((mean - theory).abs() <= half, "rho {rho}: {mean:.4} +- {half:.4}, theory {theory:.4}");
        assert!(half < 0.1 * theory, "rho {rho}: the interval {half:.4} is too wide to tell anything");
    }
}

/// Returns the mean wait of N sources with one cell each period of D cell times, in random phase: that of N - 1 others.
/// Roberts and Virtamo 1991, equation for the N*D/D/1 queue: P(V > x) = sum over n > x of C(N,n) ((n-x)/D)^n
/// (1-(n-x)/D)^(N-n) (D-N+x)/(D-n+x).
fn mean_wait_of_periodic_sources(others: u32, period: f64) -> f64 {
    let tail = |x: f64| {
        let mut sum = 0.0;
        let mut choose = 1.0;
        for n in 1..=others {
            choose *= f64::from(others - n + 1) / f64::from(n);
            let k = f64::from(n);
            if k > x {
                let p = (k - x) / period;
                sum +=
                    choose * p.powi(n as i32) * (1.0 - p).powi((others - n) as i32) * (period - f64::from(others) + x)
                        / (period - k + x);
            }
        }
        sum
    };
    // P(V > x) has a kink at each whole x: integrate between them (Simpson).
    let steps = 200;
    (0..others)
        .map(|whole| {
            let h = 1.0 / f64::from(steps);
            let at = |i: u32| tail(f64::from(whole) + (f64::from(i) * h).clamp(1e-9, 1.0 - 1e-9));
            (0..steps / 2).map(|i| at(2 * i) + 4.0 * at(2 * i + 1) + at(2 * i + 2)).sum::<f64>() * h / 3.0
        })
        .sum()
}

#[test]
fn periodic_sources_wait_as_in_n_d_d_1() {
    for (sources, period) in [(10u32, 12u64), (20, 22), (40, 50)] {
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(sources));
        let samples: Vec<f64> = (0..30)
            .map(|_| {
                // Each replication is the mean of 40 draws of the phases.
                let draws = 40;
                (0..draws)
                    .map(|_| {
                        let phases: Vec<f64> = (0..sources).map(|_| uniform(&mut rng) * period as f64).collect();
                        let mut sends: Vec<(Time, u32, u32)> = (0..4u64)
                            .flat_map(|k| phases.iter().enumerate().map(move |(c, p)| (k, c, *p)))
                            .map(|(k, c, p)| {
                                let at = (p + (k * period) as f64) * CELL_TIME;
                                (Time::ZERO + Span::from_secs_f64(at), c as u32, 40)
                            })
                            .collect();
                        sends.sort();
                        let at = |k: u64| Time::ZERO + Span::from_ms(k * period);
                        mean_waiting(&mut rig(sources), &sends, at(2), at(4))
                    })
                    .sum::<f64>()
                    / f64::from(draws)
            })
            .collect();
        let (mean, half) = interval(&samples);
        // Little: cells waiting = arrivals per cell time x wait in cell times.
        let theory = f64::from(sources) / period as f64 * mean_wait_of_periodic_sources(sources - 1, period as f64);
        assert!((mean - theory).abs() <= half, "N {sources} D {period}: {mean:.4} +- {half:.4}, theory {theory:.4}");
        assert!(half < 0.1 * theory, "N {sources}: the interval {half:.4} is too wide to tell anything");
    }
}
