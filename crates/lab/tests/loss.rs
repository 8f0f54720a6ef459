//! The formulas for lossy links, against runs over them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::{Override, Overview, Plan, Settings, plan_from_text, predict, simulate};

/// A line on which the window binds without loss, and loss with it.
const LINE: &str = r#"version = 1
name = "lossy"
run = { duration = "220 s", warmup = "20 s", seeds = 4 }
buffer = { size = "1 MiB", per = "port", count = "packet" }
tcp = { profile = "classic", variant = "sack", mss = "1460 B", window = "1 MiB", window-scaling = true, timer-granularity = "10 ms", rto-min = "200 ms" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "100 Mbit/s", delay = "20 ms", framing = "packet", loss = "0.1%" }]
traffic = [{ name = "bulk", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
observe = { series = false }
"#;

fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    plan_from_text(text, "t.toml", &set).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the predicted goodput of the group, its limit, and the simulated goodput.
fn both(set: &[(&str, &str)]) -> (f64, &'static str, f64) {
    let plan = plan(LINE, set);
    let points = predict::scenario(&plan, Path::new(".")).unwrap();
    let group = &points[0].groups[0];
    let limit = group.legs[group.binding].prediction.binding().limit.name();
    let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || false, store: None };
    let simulated = simulate(&plan, Path::new("."), None, &mut settings).unwrap();
    let overview = Overview::of(&simulated.results).unwrap();
    let goodput = overview.points[0].1.iter().find(|cell| cell.subject == "bulk" && cell.metric == "goodput_total");
    (group.goodput, limit, goodput.unwrap().mean)
}

/// The formulas are for Reno; SACK, which repairs several losses in one round trip, gets a few per cent more of it.
#[test]
fn goodput_under_loss_agrees_with_the_formulas() {
    for (set, most) in [
        (&[][..], 1.08),
        (&[("tcp.delayed-ack", "200 ms")], 1.08),
        (&[("link.a-b.loss", "2%")], 1.15),
        // A full packet is 32 cells.
        (&[("link.a-b.framing", "\"atm\""), ("link.a-b.loss", "0.01%")], 1.08),
    ] {
        let (predicted, limit, simulated) = both(set);
        let ratio = simulated / predicted;
        assert_eq!(limit, "loss");
        assert!(
            (0.97..most).contains(&ratio),
            "{set:?}: predicted {predicted:.0}, simulated {simulated:.0}: {ratio:.3}"
        );
    }
}

/// CUBIC with a round trip of 40 ms, where it grows as Reno does, and of 200 ms, where it grows with time. Its window varies
/// slowly: at 200 ms four runs of 1,000 s differ by a fifth, so that the mean of these is known to 15 %.
#[test]
fn goodput_of_cubic_under_loss_agrees_with_its_formula() {
    let cubic = ("tcp.control", "\"cubic\"");
    let window = [("tcp.window", "\"16 MiB\""), ("tcp.send-buffer", "\"16 MiB\"")];
    let long =
        [cubic, ("link.a-b.delay", "\"100 ms\""), ("link.a-b.loss", "\"0.02%\""), ("run.duration", "\"1000 s\"")];
    for (set, bounds) in [(vec![cubic], 1.0..1.2), ([&long[..], &window].concat(), 0.85..1.15)] {
        let (predicted, limit, simulated) = both(&set);
        let ratio = simulated / predicted;
        assert_eq!(limit, "loss");
        assert!(bounds.contains(&ratio), "{set:?}: predicted {predicted:.0}, simulated {simulated:.0}: {ratio:.3}");
    }
}

/// A buffer of 5 packets before a line at a tenth of the rate of the source: windows are larger than it holds back to back,
/// which TCP exceeds by far, and no prediction is exceeded.
#[test]
fn goodput_with_a_small_buffer_is_below_the_prediction() {
    for window in ["16 KiB", "64 KiB", "1 MiB"] {
        let set = [("link.a-b.loss", "0%"), ("buffer.size", "\"7500 B\""), ("link.a-b.delay", "2 ms")];
        let (predicted, _, simulated) = both(&[&set[..], &[("tcp.window", window)]].concat());
        // Five segments of 1460 B in a round trip of 4 ms.
        let burst = 5.0 * 1460.0 * 8.0 / 4e-3;
        assert!(simulated > 1.2 * burst, "{window}: {simulated:.0}");
        assert!(simulated < predicted * 1.001, "{window}: predicted {predicted:.0}, simulated {simulated:.0}");
    }
}

const COMMAND: &str = "
[[run.command]]
host = \"bulk-1\"
run = [\"true\"]
";

/// Returns the file with `run` as a section, so that commands can follow.
fn sections() -> String {
    let (head, rest) = LINE.split_once("run = {").unwrap();
    let (_, rest) = rest.split_once("}\n").unwrap();
    format!("{head}{rest}\n[run]\nduration = \"2 s\"\n")
}

#[test]
fn a_simulation_reports_that_it_does_not_run_commands() {
    let run = |text: &str| {
        let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || false, store: None };
        simulate(&plan(text, &[]), Path::new("."), None, &mut settings)
    };
    let plain = run(&sections()).unwrap().warnings;
    let warned = run(&format!("{}{COMMAND}", sections())).unwrap().warnings;
    let more: Vec<&String> = warned.iter().filter(|warning| !plain.contains(warning)).collect();
    assert_eq!(more, ["the program of [[run.command]] did not run: only an emulation starts programs"]);
}

#[test]
fn without_traffic_there_is_nothing_to_simulate() {
    let text = sections();
    let (head, rest) = text.split_once("traffic = ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let hosts = head.replacen("\"router\"", "\"host\"", 1);
    let text = format!("{hosts}{rest}{}", COMMAND.replace("bulk-1", "a"));
    let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || false, store: None };
    let Err(error) = simulate(&plan(&text, &[("run.rtt", "40 ms")]), Path::new("."), None, &mut settings) else {
        panic!("not refused")
    };
    assert!(error.is_input() && error.is_scenario());
    let message = error.to_string();
    assert!(message.contains("no traffic to simulate") && message.contains("[[traffic]]"), "{message}");
}
