//! A transfer through gateways that competes with a TCP flow of the kernel with CUBIC on the same link.
//!
//! The ends of that flow are the machines of the gateways: its packets cross the line, but no gateway.

use std::thread;
use std::time::Duration;

use crate::by::By;
use crate::daemons::{Daemons, Rate};
use crate::net::{LISTENING, Net, Running};
use crate::path::{Lan, PATHS, Path, Trial, emulate};
use crate::report::{Report, Value};
use crate::streams::{Received, SINK};
use crate::{Options, me};

/// The time from the start of the first flow to that of the second, and from that to the first second that counts (s).
const LATER: u64 = 10;
const SETTLE: u64 = 20;
/// The least share of the link for either flow.
const LEAST: f64 = 0.35;

pub(crate) fn run(options: &Options, report: &mut Report) {
    for path in PATHS.iter().filter(|path| path.is_symmetric() && path.loss == 0.0) {
        for first in ["gateway", "cubic"] {
            let id = format!("competing {} auto {first} first", path.name);
            if !options.wants(&id) {
                continue;
            }
            if let Some(missing) = By::Cubic.missing() {
                report.say(&format!("{id}: skipped, {missing}"));
                continue;
            }
            for seed in 1..=options.repeat.unwrap_or(1) {
                if let Err(why) = measure(path, first, seed, options, report) {
                    report.say(&format!("{id}: {why}"));
                }
            }
        }
    }
}

fn measure(path: &Path, first: &str, seed: u64, options: &Options, report: &mut Report) -> Result<(), String> {
    let seconds = LATER + SETTLE + options.seconds;
    let trial = Trial {
        path: *path,
        seed,
        coalesced: true,
        lan: Lan::Emulated,
        most: seconds as f64 + 40.0 + 30.0 * path.rtt(),
    };
    let (seen, [gateway, cubic]) = emulate(&trial, |net| within(net, path, first == "gateway", seconds))?;
    let line = path.mbps[0] as f64 * 1e6 / 8.0;
    let shares = [&gateway, &cubic].map(|received| {
        let last = received.seconds.iter().rev().take(options.seconds as usize);
        last.sum::<u64>() as f64 / options.seconds as f64 / line
    });
    let judged = |share| Value::judged(Some(share), 3, Some(LEAST), |share, least| share >= least);
    let dropped = seen.get("g1>g2", "dropped_packets");
    let cells = vec![
        ("path", Value::Word(path.name.to_owned())),
        ("by", Value::Word("auto".to_owned())),
        ("first", Value::Word(first.to_owned())),
        ("from_s", Value::Number((LATER + SETTLE) as f64, 0)),
        ("to_s", Value::Number(seconds as f64, 0)),
        ("gateway", judged(shares[0])),
        ("cubic", judged(shares[1])),
        ("dropped", Value::maybe(dropped, 0)),
        ("queue_ms", Value::maybe(seen.waiting(0.5).map(|packets| packets * path.packet() * 1e3), 1)),
    ];
    report.row("competing", &seen, cells);
    if options.verbose {
        for (name, received) in [("gateway", &gateway), ("cubic", &cubic)] {
            let mbps: Vec<String> =
                received.seconds.iter().map(|bytes| format!("{:.1}", *bytes as f64 * 8e-6)).collect();
            report.say(&format!("   {name} by second (Mbit/s): {}", mbps.join(" ")));
        }
    }
    Ok(())
}

/// Runs both transfers, which end together. Returns the bytes received from the gateway and from the competing flow.
fn within(net: &dyn Net, path: &Path, gateway_first: bool, seconds: u64) -> Result<[Received; 2], String> {
    let by = By::Here(Rate::Auto);
    let pair = by.pair(path, None).ok_or("no configuration of a pair")?;
    let _daemons = Daemons::start(net, &pair)?;
    let start = |machine: &str, role: &str, server: &str, seconds: u64, competing: bool| {
        let settings = if competing { By::Cubic.settings(path) } else { String::new() };
        let command = format!("{settings}exec {} --program stream {role} {server} {SINK} {seconds} 1 cubic", me());
        Running::start(net, machine, &["sh", "-c", &command])
    };
    let mut running: [Option<[Running; 2]>; 2] = [None, None];
    let order = if gateway_first { [0, 1] } else { [1, 0] };
    for (later, flow) in order.into_iter().enumerate() {
        let competing = flow == 1;
        let (sender, receiver) = if competing { ("g1", "g2") } else { ("client", "server") };
        if later == 1 {
            thread::sleep(Duration::from_secs(LATER));
        }
        let seconds = seconds - later as u64 * LATER;
        let receiving = start(receiver, "receive", "-", seconds, competing)?;
        thread::sleep(LISTENING);
        let sending = start(sender, "send", &net.address(receiver).to_string(), seconds, competing)?;
        running[flow] = Some([receiving, sending]);
    }
    let mut outputs = Vec::new();
    // Senders end with their receivers, and are to run until both have ended.
    let mut senders = Vec::new();
    for [receiving, sending] in running.into_iter().flatten() {
        senders.push(sending);
        let text = receiving.output()?;
        outputs.push(serde_json::from_str(&text).map_err(|e| format!("a receiver printed {text:?}: {e}"))?);
    }
    outputs.try_into().map_err(|_| "a transfer is missing".to_owned())
}
