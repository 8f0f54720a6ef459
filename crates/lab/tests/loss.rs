//! What theory says of lossy links, against runs over them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::{Override, Overview, Plan, Settings, plan_from_text, predict, simulate};

/// A line on which the window binds without loss, and loss with it.
const LINE: &str = r#"version = 1
name = "lossy"
run = { duration = "1000 s", warmup = "100 s", seeds = 4 }
buffer = { size = "1 MiB", per = "port", count = "packet" }
tcp = { variant = "sack", mss = "1460 B", window = "1 MiB", window-scaling = true, timer-granularity = "10 ms", rto-min = "200 ms" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "100 Mbit/s", delay = "20 ms", framing = "packet", loss = "0.1%" }]
traffic = [{ name = "bulk", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
observe = { series = false }
"#;

fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    plan_from_text(text, "t.toml", &set).unwrap_or_else(|e| panic!("{e}"))
}

/// Goodput of the group as predicted, what binds it, and as simulated.
fn both(set: &[(&str, &str)]) -> (f64, &'static str, f64) {
    let plan = plan(LINE, set);
    let points = predict::scenario(&plan).unwrap();
    let group = &points[0].groups[0];
    let limit = group.legs[group.binding].prediction.binding().limit.name();
    let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || false };
    let simulated = simulate(&plan, Path::new("."), None, &mut settings).unwrap();
    let overview = Overview::of(&simulated.results).unwrap();
    let goodput = overview.points[0].1.iter().find(|cell| cell.subject == "bulk" && cell.metric == "goodput_total");
    (group.goodput, limit, goodput.unwrap().mean)
}

#[test]
fn goodput_under_loss_is_what_the_formulas_say() {
    for set in [
        &[][..],
        &[("tcp.delayed-ack", "200 ms")],
        &[("link.a-b.loss", "0.02%")],
        &[("link.a-b.loss", "0.5%")],
        &[("link.a-b.loss", "2%")],
        &[("link.a-b.framing", "\"atm\""), ("link.a-b.loss", "0.003%")],
    ] {
        let (predicted, limit, simulated) = both(set);
        eprintln!("{set:?}: {limit} {predicted:.0} {simulated:.0} {:.3}", simulated / predicted);
    }
    panic!();
}
