//! The rows of bulk transfers: their selection, and their evaluation.

use crate::Options;
use crate::bulk::{Direction, Measured, Transfer};
use crate::by::By;
use crate::daemons::Rate;
use crate::path::{Lan, PATHS, Path};
use crate::report::{Cells, Report, Value};

/// The least that any second after the third is to have, as a share of the line.
const LEAST_SECOND: f64 = 0.6;
/// The part of a packet of 1500 octets that is data of hosts.
const PAYLOAD: f64 = 0.955;
/// The most resident memory of a daemon on path B with 8 streams (MB).
const MOST_MB: f64 = 80.0;

/// From this rate on (Mbit/s) local networks are veth devices.
const FAST: u64 = 400;

/// Returns the transfers over one path, in the order of the table.
fn of_path(path: &Path, options: &Options) -> Vec<Transfer> {
    let transfer = |streams, direction, by, coalesced| Transfer {
        path: *path,
        streams,
        direction,
        by,
        coalesced,
        lan: Lan::Emulated,
        seconds: options.seconds,
        window: options.window,
    };
    let [given, auto] = [Rate::Given, Rate::Auto].map(By::Here);
    let mut all = Vec::new();
    let main = if path.is_symmetric() { Direction::Up } else { Direction::Down };
    for by in [given, auto] {
        all.extend([1, 8, 64].map(|streams| transfer(streams, main, by, true)));
    }
    if path.is_symmetric() && path.loss == 0.0 {
        all.extend([given, auto].map(|by| transfer(8, Direction::Both, by, true)));
        all.extend([1, 8].map(|streams| transfer(streams, main, given, false)));
    }
    for by in [By::Cubic, By::Bbr, By::Kcptun] {
        all.extend([1, 8].map(|streams| transfer(streams, main, by, true)));
    }
    // An early answer changes the start only, and the effect of a window of 64 KB does not depend on loss.
    all.extend([By::Early, By::Tls].map(|by| transfer(1, main, by, true)));
    if path.loss == 0.0 {
        all.push(transfer(1, main, By::Small, true));
    }
    // At 400 Mbit/s the emulator is late if it also carries the local networks.
    let veth = |transfer: &Transfer| Transfer { lan: Lan::Veth, ..*transfer };
    if path.mbps[0] >= FAST {
        let own: Vec<_> = all.iter().filter(|row| row.has_cpu_target()).map(veth).collect();
        all.iter_mut().filter(|row| !row.has_cpu_target()).for_each(|row| *row = veth(row));
        all.extend(own);
    }
    all
}

impl Transfer {
    /// Returns true if it has targets: those with QUIC at a given rate have some, over any link.
    fn is_judged(&self) -> bool {
        matches!(self.by, By::Here(Rate::Given) | By::Early)
    }
    /// Returns true if its processor time has a target: with emulated local networks it is that of the daemons alone.
    fn has_cpu_target(&self) -> bool {
        let few = self.streams <= 8 && self.direction != Direction::Both && self.path.loss == 0.0;
        few && self.by == By::Here(Rate::Given) && self.lan == Lan::Emulated
    }
    /// Returns the name of the row.
    fn id(&self) -> String {
        let line = if self.coalesced { "" } else { " single" };
        let direction = if self.direction == Direction::Both { " both" } else { "" };
        let lan = if self.lan == Lan::Veth { " veth" } else { "" };
        format!("bulk {} {}{direction}{line}{lan} {}", self.path.name, self.streams, self.by.name())
    }
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    for path in PATHS {
        for transfer in of_path(&path, options) {
            let id = transfer.id();
            if !options.wants(&id) {
                continue;
            }
            if let Some(missing) = transfer.by.missing() {
                report.say(&format!("{id}: skipped, {missing}"));
                continue;
            }
            let mut rows = Vec::new();
            for seed in 1..=options.repeat.unwrap_or(if transfer.is_judged() { 3 } else { 1 }) {
                match transfer.run(seed) {
                    Ok(measured) => rows.push(tell(report, &transfer, &measured, options)),
                    Err(why) => report.say(&format!("{id}: {why}")),
                }
            }
            report.all("bulk", &rows);
        }
    }
}

fn tell(report: &mut Report, transfer: &Transfer, measured: &Measured, options: &Options) -> Cells {
    let Transfer { path, streams, direction, by, coalesced, lan, seconds, .. } = *transfer;
    let is_pair = matches!(by, By::Here(_) | By::Early | By::Tls);
    let judged = transfer.is_judged();
    let least = |value: Option<f64>, digits, to: f64, applies: bool| {
        Value::judged(value, digits, applies.then_some(to), |value, least| value >= least)
    };
    let most = |value: Option<f64>, digits, to: f64, applies: bool| {
        Value::judged(value, digits, applies.then_some(to), |value, most| value <= most)
    };
    // With both directions at once, the available processor time decides on the fastest path.
    let target = if direction == Direction::Both { 0.9 } else { path.target };
    // The first data arrive a round trip after the receiver's clock starts: in a short transfer the target cannot be met.
    let long = judged && PAYLOAD * (1.0 - path.rtt() / seconds as f64) >= target;
    let [there, back] = [0, 1].map(|way| measured.share(way, path.mbps[way]));
    let seconds_least = direction.ways().iter().filter_map(|&way| measured.least_second(way, path.mbps[way]));
    let jain = direction.ways().iter().filter_map(|&way| measured.jain(way)).reduce(f64::min);
    let costs = measured.costs;
    let cpu = costs.map(|costs| costs.cpu / (measured.bytes() / 1e9));
    let seen = &measured.seen;
    let dropped = ["g1>g2", "g2>g1"].map(|port| seen.get(port, "dropped_packets").unwrap_or(f64::NAN)).iter().sum();
    let cpu_target = match (path.name, coalesced) {
        _ if !transfer.has_cpu_target() => None,
        ("C", true) => Some(5.0),
        ("C", false) => Some(8.0),
        ("A", _) => Some(12.0),
        _ => None,
    };
    let queued =
        seen.waiting(0.99).map(|packets| packets * path.packet() * 1e3).filter(|_| direction != Direction::Down);
    let memory = costs.map(|costs| costs.peak[0].max(costs.peak[1]) / 1e6);
    let cells = report.one_of(
        "bulk",
        seen,
        vec![
            ("path", Value::Word(path.name.to_owned())),
            ("streams", Value::Number(streams as f64, 0)),
            ("to", Value::Word(direction.name().to_owned())),
            ("by", Value::Word(by.name().to_owned())),
            ("line", Value::Word(if coalesced { "coalesced" } else { "single" }.to_owned())),
            ("lan", Value::Word(lan.name().to_owned())),
            ("seconds", Value::Number(seconds as f64, 0)),
            ("share_up", least(there, 3, target, long)),
            ("share_down", least(back, 3, target, long)),
            ("least_s", least(seconds_least.reduce(f64::min), 3, LEAST_SECOND, judged)),
            ("jain", least(jain, 4, 0.99, judged)),
            ("mb_peak", most(memory, 1, MOST_MB, path.name == "B" && streams == 8 && is_pair)),
            ("own_drops", most(costs.map(|costs| costs.own_drops), 0, 0.0, is_pair)),
            ("cpu_s_gb", Value::judged(cpu, 2, cpu_target, |cpu, most| cpu <= most)),
            ("switch_s", Value::maybe(costs.map(|costs| costs.switches / seconds as f64), 0)),
            ("resent", Value::maybe(costs.map(|costs| costs.resent / measured.bytes()), 4)),
            ("dropped", most(Some(dropped), 0, 0.0, judged)),
            ("queue_ms", Value::maybe(queued, 1)),
            ("echo_ms", Value::maybe(measured.echo.map(|[least, p99]| (p99 - least) * 1e3), 1)),
            ("busy", Value::Number(measured.busy, 2)),
            ("emu_cpu", Value::Number(seen.emulator, 2)),
            ("load", Value::Number(measured.load, 2)),
        ],
    );
    if options.verbose {
        for &way in direction.ways() {
            let Some(received) = &measured.received[way] else { continue };
            let mbps: Vec<String> =
                received.seconds.iter().map(|bytes| format!("{:.1}", *bytes as f64 * 8e-6)).collect();
            report.say(&format!("   {} by second (Mbit/s): {}", ["up", "down"][way], mbps.join(" ")));
        }
    }
    cells
}
