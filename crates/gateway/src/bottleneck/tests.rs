use cellway_units::{Rate, Span, Time};

use super::line::{Line, PACKET, Source, at};

const M: u64 = 1_000_000;
fn mbps(n: u64) -> Rate {
    Rate::from_bps(n * M)
}

fn trace(name: &str, line: &mut Line, until: u64, step: u64) {
    println!("--- {name}");
    let mut before = vec![0; line.senders.len()];
    for t in (step..=until).step_by(step as usize) {
        line.run(at(t));
        let from = t - step;
        let mut waits: Vec<_> = line.waits.iter().rev().take_while(|w| w.0 >= at(from)).map(|w| w.1).collect();
        waits.sort();
        let q = |p: usize| waits.get((waits.len().max(1) - 1) * p / 100).map_or(0.0, |w| w.as_millis_f64());
        print!("{:5.1} s: queue {:6.1} {:6.1} {:6.1} |", t as f64 / 1e3, q(0), q(50), q(99));
        for (s, b) in line.senders.iter().zip(&mut before) {
            let m = &s.model;
            print!(
                " {:6.2} M est {:6.2} {:?} lost {};",
                (s.received - *b) as f64 / step as f64 / 1e3,
                m.bandwidth() as f64 / 1e6,
                m.phase,
                s.lost
            );
            *b = s.received;
        }
        println!();
    }
}

#[test]
fn explore() {
    for (rate, rtt) in [(30, 175), (100, 600), (400, 100)] {
        for loss in [0, 10_000] {
            let mut line = Line::new(mbps(rate), Span::from_ms(rtt), 1000, loss);
            line.add(mbps(1000), Source::Endless, Time::ZERO);
            let all = line.share(0, 10_000, mbps(rate)) / 3.0;
            let late = line.share(10_000, 30_000, mbps(rate));
            let w = |p| line.wait(p, 10_000).as_millis_f64();
            println!(
                "{rate} M {rtt} ms loss {loss}: first 10 s {:.3} all {:.4} late {:.4} waits p50 {:.1} p90 {:.1} p99 {:.1} max {:.1} ms lost {} of {}",
                all * 3.0,
                all + late * 2.0 / 3.0,
                late,
                w(500),
                w(900),
                w(990),
                w(1000),
                line.senders[0].lost,
                line.senders[0].sent
            );
        }
    }
    for queue in [100, 300, 4000] {
        let mut line = Line::new(mbps(100), Span::from_ms(100), queue, 0);
        line.add(mbps(1000), Source::Endless, Time::ZERO);
        let late = line.share(10_000, 30_000, mbps(100));
        println!(
            "queue {queue}: {late} p99 {:.1} lost {} of {}",
            line.wait(990, 10_000).as_millis_f64(),
            line.senders[0].lost,
            line.senders[0].sent
        );
    }
    for loss in [0, 1_000, 10_000] {
        for (rtt, queue) in [(20, 1000), (100, 300), (100, 1000), (100, 4000), (300, 1000)] {
            let mut line = Line::new(mbps(40), Span::from_ms(rtt), queue, loss);
            line.add(mbps(1000), Source::Endless, Time::ZERO);
            line.add(mbps(1000), Source::Endless, at(10_000));
            line.run(at(50_000));
            let r: Vec<_> = line.senders.iter().map(|s| s.received).collect();
            line.run(at(70_000));
            let r: Vec<_> = line.senders.iter().zip(r).map(|(s, r)| (s.received - r) as f64 / 20e6).collect();
            println!(
                "share loss {loss} rtt {rtt} queue {queue}: {r:.1?} p50 {:.1} p99 {:.1} lost {}",
                line.wait(500, 20_000).as_millis_f64(),
                line.wait(990, 20_000).as_millis_f64(),
                line.senders[0].lost + line.senders[1].lost
            );
        }
    }
    if false {
        let mut line = Line::new(mbps(40), Span::from_ms(100), 1000, 0);
        line.add(mbps(1000), Source::Endless, Time::ZERO);
        line.add(mbps(1000), Source::Endless, at(10_000));
        trace("two", &mut line, 70_000, 2_000);
    }
    for (rate, rtt) in [(40, 100), (100, 600)] {
        let mut line = Line::new(mbps(rate), Span::from_ms(rtt), 1000, 0);
        line.add(mbps(1000), Source::Endless, Time::ZERO);
        line.change(at(15_000), mbps(rate / 2));
        line.change(at(30_000), mbps(rate));
        trace("halves and doubles", &mut line, 45_000, 1_000);
    }
}
