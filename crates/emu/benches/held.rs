//! The limits of an emulation on this computer: the highest rate with 99 % of all packets less than 1 ms late, the
//! processor time for each gigabyte, and the accuracy of rate and delay.
//!
//! Needs namespaces and TUN devices, as root or in a user namespace; else it prints what is missing. Other work on the
//! computer influences the numbers.
#![allow(missing_docs, clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod held {
    use std::net::UdpSocket;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use cellway_emu::sys::{Reentry, Support, SysError, reenter, support};
    use cellway_emu::{Control, Emulated, Hosts};
    use cellway_scenario::Plan;
    use cellway_units::Span;

    /// The duration of the trial of each rate, in seconds, of which the first does not count.
    const SECONDS: u32 = 6;
    /// The share of the line that counts as full.
    const FULL: f64 = 0.97;

    /// Returns two hosts, each with transfers to the other, over `hops` links of `rate`.
    fn scenario(rate: u64, framing: &str, hops: usize, seconds: u32) -> String {
        let (kind, mtu) = if framing == "atm" { ("switch", 9180) } else { ("router", 1500) };
        let mut text = format!(
            "version = 1\nname = \"held\"\n[run]\nduration = \"{seconds} s\"\nwarmup = \"2 s\"\nrtt = \"4 ms\"\n\
             [run.emulate]\nlateness-limit = \"1 ms\"\n\
             [buffer]\nsize = \"{} B\"\nper = \"port\"\ncount = \"packet\"\n\
             [tcp]\nprofile = \"linux-6\"\nmss = \"{} B\"\nwindow = \"8 MiB\"\nsend-buffer = \"8 MiB\"\n\
             window-scaling = true\n[observe]\nseries = false\n",
            rate / 8 / 20,
            mtu - 52,
        );
        let mut nodes = vec!["r0".to_owned()];
        nodes.extend((1..hops).map(|hop| format!("s{hop}")));
        nodes.push("r1".to_owned());
        for host in ["a", "b"] {
            text += &format!("[[node]]\nname = \"{host}\"\nkind = \"host\"\n");
        }
        for node in &nodes {
            let kind = if node.starts_with('r') { "router" } else { kind };
            text += &format!("[[node]]\nname = \"{node}\"\nkind = \"{kind}\"\n");
        }
        for (host, router) in [("a", "r0"), ("b", "r1")] {
            text += &format!(
                "[[link]]\nbetween = [\"{host}\", \"{router}\"]\nrate = \"100 Gbit/s\"\ndelay = \"0 s\"\n\
                 framing = \"packet\"\nmtu = \"{mtu} B\"\n"
            );
        }
        for pair in nodes.windows(2) {
            text += &format!(
                "[[link]]\nbetween = [\"{}\", \"{}\"]\nrate = \"{rate} bit/s\"\ndelay = \"{} us\"\n\
                 framing = \"{framing}\"\nmtu = \"{mtu} B\"\n",
                pair[0],
                pair[1],
                2000 / hops
            );
        }
        for (name, from, to) in [("there", "a", "b"), ("back", "b", "a")] {
            text += &format!("[[traffic]]\nname = \"{name}\"\napp = \"bulk\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
        }
        text
    }

    fn run(text: &str) -> Emulated {
        let plan = Plan::parse_with(text, "bench", &[], None).unwrap();
        let workloads: Vec<_> =
            plan.base().traffic.iter().map(|traffic| cellway_testbed::workload(traffic, None).unwrap()).collect();
        cellway_emu::emulate(plan.base(), &workloads, 1, Control::default()).unwrap()
    }

    fn figure(run: &Emulated, subject: &str, metric: &str) -> f64 {
        let rows = &run.record.summary;
        rows.iter().find(|row| &*row.subject == subject && row.metric == metric).map_or(f64::NAN, |row| row.value)
    }

    /// The heading of the columns that [`late`] formats.
    const LATE: &str = "late: least     p50     p99   p99.9 us";

    /// Formats the lateness of the packets of a run, in microseconds.
    fn late(run: &Emulated) -> String {
        let us = |span: Span| span.as_secs_f64() * 1e6;
        let late = &run.lateness;
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| us(late.quantile(quantile)));
        format!("{:>11.1} {p50:>7.0} {p99:>7.0} {p999:>7.0}   ", us(late.min()))
    }

    /// What a run with transfers in both directions held.
    struct Trial {
        run: Emulated,
        /// The shares of the first line that were used in its direction and in the other.
        full: [f64; 2],
        /// Processor time in that of the run.
        cores: f64,
        /// Processor seconds for each gigabyte that reached an application.
        seconds_per_gb: f64,
        /// True if the lines were full and few packets late.
        is_held: bool,
    }

    impl Trial {
        fn run(framing: &str, rate: u64, engine: &str) -> Trial {
            let hops = hops(framing);
            let engine = format!("[run]\nengine = \"{engine}\"\n");
            let run = run(&scenario(rate, framing, hops, SECONDS).replacen("[run]\n", &engine, 1));
            let (second, last) =
                if hops > 1 { ("s1".to_owned(), format!("s{}", hops - 1)) } else { ("r1".into(), "r0".into()) };
            let full = [format!("r0>{second}"), format!("r1>{last}")].map(|port| figure(&run, &port, "utilisation"));
            let bits: f64 = ["there-1", "back-1"].iter().map(|slot| figure(&run, slot, "goodput")).sum();
            let cores = figure(&run, "emulation", "cpu") / f64::from(SECONDS);
            let is_held = full.iter().all(|&share| share > FULL) && run.is_valid();
            Trial { run, full, cores, seconds_per_gb: cores / (bits / 8e9), is_held }
        }
    }

    /// Returns the number of links between the routers.
    fn hops(framing: &str) -> usize {
        if framing == "atm" { 3 } else { 1 }
    }

    /// Raises the rate while the line is full in both directions and no packet is late.
    fn highest(name: &str, framing: &str, rates: &[u64]) {
        println!("{name}: both directions full, {} hops", hops(framing));
        println!("{:>14} {:>8} {:>8} {LATE} {:>10} {:>6}", "rate", "there", "back", "CPU s/GB", "held");
        let mut best = None;
        for &rate in rates {
            let Trial { run, full: [there, back], seconds_per_gb, is_held, .. } = Trial::run(framing, rate, "windows");
            println!(
                "{:>7.2} Mbit/s {:>7.1}% {:>7.1}% {} {seconds_per_gb:>10.2} {:>6}",
                rate as f64 / 1e6,
                there * 100.0,
                back * 100.0,
                late(&run),
                if is_held { "yes" } else { "no" }
            );
            if !is_held && best.is_some() {
                break;
            }
            if is_held {
                best = Some(rate);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        match best {
            Some(rate) => println!("highest rate held: {} Mbit/s\n", rate as f64 / 1e6),
            None => println!("none was held: is the machine idle?\n"),
        }
    }

    /// Prints the figures of one rate as JSON.
    fn once(framing: &str, rate: u64, engine: &str) {
        let Trial { run, full: [there, back], cores, seconds_per_gb, is_held } = Trial::run(framing, rate, engine);
        let late = run.lateness.quantile(0.99).as_secs_f64() * 1e6;
        println!(
            r#"{{"there": {there:.4}, "back": {back:.4}, "p99_us": {late:.1}, "cores": {cores:.4}, "s_per_gb": {seconds_per_gb:.3}, "held": {is_held}}}"#
        );
    }

    /// Measures a transfer that fills a line: the rate at the receiver against the capacity left for payload.
    fn accuracy_of_rate() {
        println!("accuracy of the rate: one transfer that fills a line, 12 s");
        for (name, rate, framing, payload) in
            [("8 Mbit/s cells", 8_000_000, "atm", 9128), ("100 Mbit/s packets", 100_000_000, "packet", 1448)]
        {
            let text = scenario(rate, framing, 1, 12);
            // One direction only.
            let text = text.split("[[traffic]]\nname = \"back\"").next().unwrap().to_owned();
            let result = run(&text);
            let packet = payload + 52;
            let on_line = if framing == "atm" { (packet + 8u64).div_ceil(48) * 53 } else { packet };
            let expected = rate as f64 * payload as f64 / on_line as f64;
            let error = figure(&result, "there-1", "goodput") / expected - 1.0;
            let full = figure(&result, "r0>r1", "utilisation");
            println!("  {name}: line {:.2} % full, goodput {:+.3} % of what it leaves", full * 100.0, error * 100.0);
            println!("    {LATE}\n    {}", late(&result));
        }
    }

    /// Echoes over UDP on an idle path, against its delay.
    fn accuracy_of_delay() {
        println!("accuracy of the delay: round trips of UDP echoes on an idle path, beyond that of the path (us)");
        println!(
            "{:>8} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "path", "echoes", "least", "p50", "p99", "p99.9", "largest"
        );
        for (name, rtt, echoes) in [("1 ms", 1000, 2000), ("175 ms", 175_000, 120)] {
            let (errors, run) = echoes_beyond(rtt, echoes);
            let at = |share: f64| errors[((errors.len() - 1) as f64 * share).ceil() as usize];
            let [least, p50, p99, p999, largest] = [0.0, 0.5, 0.99, 0.999, 1.0].map(at);
            let count = errors.len();
            println!("{name:>8} {count:>7} {least:>8.1} {p50:>8.1} {p99:>8.1} {p999:>8.1} {largest:>8.1}");
            println!("    {LATE}\n    {}", late(&run));
        }
    }

    /// Returns the sorted times by which echoes exceeded `rtt` and the transmission times, in microseconds, and the
    /// run.
    fn echoes_beyond(rtt: u32, echoes: u32) -> (Vec<f64>, Emulated) {
        let seconds = (echoes * (rtt + 5000)).div_ceil(1_000_000) + 3;
        let text = scenario(100_000_000, "packet", 1, seconds).split("[[traffic]]").next().unwrap().to_owned();
        let text = text.replace("delay = \"2000 us\"", &format!("delay = \"{} us\"", rtt / 2))
            + "[[run.command]]\nhost = \"a\"\nrun = [\"true\"]\n";
        let plan = Plan::parse_with(&text, "bench", &[], None).unwrap();
        let (tell, told) = mpsc::channel();
        let beside = move |hosts: &Hosts| {
            std::thread::sleep(Duration::from_millis(300));
            let [a, b] = ["a", "b"].map(|host| {
                let address = hosts.address(host).unwrap();
                hosts.run(host, move || UdpSocket::bind((address, 7007)).unwrap()).unwrap()
            });
            a.connect(b.local_addr().unwrap()).unwrap();
            a.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            b.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            let echo = std::thread::spawn(move || {
                let mut buffer = [0; 64];
                while let Ok((octets, from)) = b.recv_from(&mut buffer) {
                    b.send_to(&buffer[..octets], from).unwrap();
                }
            });
            for _ in 0..echoes {
                let began = Instant::now();
                a.send(&[0; 20]).unwrap();
                a.recv(&mut [0; 64]).unwrap();
                tell.send(began.elapsed().as_secs_f64() * 1e6).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            echo.join().unwrap();
        };
        let control = Control { beside: Some(Box::new(beside)), ..Control::default() };
        let run = cellway_emu::emulate(plan.base(), &[], 1, control).unwrap();
        // 48 octets twice over a line of 100 Mbit/s.
        let expected = f64::from(rtt) + 2.0 * 48.0 * 8.0 / 100.0;
        let mut errors: Vec<f64> = told.try_iter().map(|us| us - expected).collect();
        errors.sort_by(f64::total_cmp);
        (errors, run)
    }

    pub(super) fn main() {
        match support() {
            Support::Missing(missing) => {
                println!("skipped: {}", SysError::Unsupported(missing));
                return;
            }
            Support::UserNamespace | Support::Direct => {}
        }
        if let Reentry::Ended(status) = reenter().unwrap() {
            std::process::exit(status.into());
        }
        // `cargo bench -p cellway-emu --bench held -- packet 1000000000`: one rate of one framing; with `json` before it,
        // and maybe an engine behind it, the figures as JSON, for `tools/engine_bench`.
        let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
        if let [framing, rate] = &asked[..] {
            return highest(framing, framing, &[rate.parse().unwrap()]);
        }
        if let [json, framing, rate, engine @ ..] = &asked[..]
            && json == "json"
        {
            return once(framing, rate.parse().unwrap(), engine.first().map_or("windows", String::as_str));
        }
        // `cargo bench -p cellway-emu --bench held -- accuracy`: rate and delay alone.
        if asked == ["accuracy"] {
            accuracy_of_rate();
            return accuracy_of_delay();
        }
        let cells = [40_704_000, 149_760_000, 299_520_000, 449_280_000, 599_040_000, 898_560_000, 1_198_080_000];
        let packets = [500, 1000, 1500, 2000, 3000, 4000, 5000].map(|mbit| mbit * 1_000_000);
        highest("cells (ATM, MTU 9180)", "atm", &cells);
        highest("packets (MTU 1500)", "packet", &packets);
        accuracy_of_rate();
        accuracy_of_delay();
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    held::main();
    #[cfg(not(target_os = "linux"))]
    println!("skipped: emulation needs Linux");
}
