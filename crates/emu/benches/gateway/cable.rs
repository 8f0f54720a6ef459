//! A pair of daemons joined by a cable without delay: the limit that the processor sets.

use std::io;
use std::net::Ipv4Addr;
use std::process::{Child, Command};

use cellway_emu::sys::Namespace;

use crate::Options;
use crate::bulk::{Direction, Transfer};
use crate::by::By;
use crate::daemons::Rate;
use crate::net::Net;
use crate::path::{Lan, Path, Seen};
use crate::report::{Report, Value};

/// Far above the rate that a pair carries on one computer.
const PATH: Path = Path { name: "cable", mbps: [10_000, 10_000], rtt: 0, loss: 0.0, target: 0.0, download: None };
/// The least goodput in one direction (Gbit/s).
const LEAST_GBPS: f64 = 3.0;

/// The machines of a trial, joined by veth devices with an MTU of 1500 bytes.
struct Cable {
    machines: Vec<(&'static str, Ipv4Addr, Namespace)>,
}

impl Cable {
    fn new() -> Result<Cable, cellway_emu::sys::SysError> {
        let address = |network, host| Ipv4Addr::new(10, 8, network, host);
        let own = [("client", address(1, 2)), ("g1", address(0, 1)), ("g2", address(0, 2)), ("server", address(2, 2))];
        let mut machines = Vec::new();
        for (name, address) in own {
            machines.push((name, address, Namespace::new(name)?));
        }
        let cables =
            [(1, "lan", 0, "eth0", 1, [1, 2]), (1, "line", 2, "line", 0, [1, 2]), (2, "lan", 3, "eth0", 2, [1, 2])];
        for (a, device, b, other, network, hosts) in cables {
            let [(_, _, a), (_, _, b)] = [&machines[a], &machines[b]];
            let thread = b.run(|| rustix::thread::gettid().as_raw_nonzero());
            a.configure(&format!("link add {device} type veth peer name {other} netns {thread}"))?;
            for (namespace, device, host) in [(a, device, hosts[0]), (b, other, hosts[1])] {
                let address = address(network, host);
                namespace
                    .configure(&format!("link set dev {device} mtu 1500 up\naddress add {address}/24 dev {device}"))?;
            }
        }
        for (machine, via) in [(0, address(1, 1)), (1, address(0, 2)), (2, address(0, 1)), (3, address(2, 1))] {
            machines[machine].2.configure(&format!("route add default via {via}"))?;
        }
        Ok(Cable { machines })
    }

    fn machine(&self, name: &str) -> &(&'static str, Ipv4Addr, Namespace) {
        self.machines.iter().find(|(known, ..)| *known == name).expect("the bench names these machines only")
    }
}

impl Net for Cable {
    fn address(&self, machine: &str) -> Ipv4Addr {
        self.machine(machine).1
    }

    fn spawn(&self, machine: &str, mut command: Command) -> io::Result<Child> {
        self.machine(machine).2.run(move || command.spawn())
    }
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    for (streams, by) in [(1, By::Here(Rate::Given)), (8, By::Here(Rate::Given)), (8, By::Here(Rate::Auto))] {
        let id = format!("cable {streams} {}", by.name());
        if !options.wants(&id) {
            continue;
        }
        let seconds = options.seconds.min(10);
        let (direction, path) = (Direction::Up, PATH);
        let transfer =
            Transfer { path, streams, direction, by, coalesced: true, lan: Lan::Veth, seconds, window: None };
        let mut rows = Vec::new();
        for _ in 1..=options.repeat.unwrap_or(3) {
            let cable = Cable::new().map_err(|e| e.to_string());
            let measured = match cable.and_then(|cable| transfer.within(&cable)) {
                Ok(measured) => measured,
                Err(why) => {
                    report.say(&format!("{id}: {why}"));
                    continue;
                }
            };
            let gbps = |share: Option<f64>| share.map(|share| share * PATH.mbps[0] as f64 / 1e3);
            let least = |value, to: Option<f64>| Value::judged(value, 2, to, |value, least| value >= least);
            let costs = measured.costs;
            let given = by == By::Here(Rate::Given);
            let cells = vec![
                ("streams", Value::Number(streams as f64, 0)),
                ("by", Value::Word(by.name().to_owned())),
                ("seconds", Value::Number(seconds as f64, 0)),
                ("gbit_s", least(gbps(measured.share(0, PATH.mbps[0])), given.then_some(LEAST_GBPS))),
                ("least_s", least(gbps(measured.least_second(0, PATH.mbps[0])), None)),
                ("cpu_s_gb", Value::maybe(costs.map(|costs| costs.cpu / (measured.bytes() / 1e9)), 2)),
                ("own_drops", Value::maybe(costs.map(|costs| costs.own_drops), 0)),
                ("resent", Value::maybe(costs.map(|costs| costs.resent / measured.bytes()), 4)),
                ("mb_peak", Value::maybe(costs.map(|costs| costs.peak[0].max(costs.peak[1]) / 1e6), 1)),
                ("busy", Value::Number(measured.busy, 2)),
                ("load", Value::Number(measured.load, 2)),
            ];
            let mut seen = Seen::default();
            // No emulator takes part that could be late.
            seen.valid = true;
            rows.push(report.one_of("cable", &seen, cells));
        }
        report.all("cable", &rows);
    }
}
