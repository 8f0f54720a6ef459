//! What share of the line transfers get, start-up included.

use cellway_record::stats::jain;

use crate::path::{Command, Middle, PATHS, Path, Seen, Trial, emulate};
use crate::report::{Report, Value};
use crate::{Options, me};

/// Who carries the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The kernel with a window of 64 KB.
    Small,
    /// The kernel with buffers of four times bandwidth times delay.
    Cubic,
    Bbr,
    Kcptun,
    Late,
    Early,
    /// Late, in TLS over TCP.
    Tls,
}

impl By {
    const ALL: [By; 7] = [By::Small, By::Cubic, By::Bbr, By::Kcptun, By::Late, By::Early, By::Tls];

    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Small => "kernel-64KB",
            By::Cubic => "cubic",
            By::Bbr => "bbr",
            By::Kcptun => "kcptun",
            By::Late => "here-late",
            By::Early => "here-early",
            By::Tls => "here-tls",
        }
    }
    fn is_here(self) -> bool {
        matches!(self, By::Late | By::Early | By::Tls)
    }
    fn middle(self) -> Middle {
        let transport = if self == By::Tls { "tls" } else { "quic" };
        if self.is_here() { Middle::Gateways { early: self == By::Early, transport } } else { Middle::Routers }
    }
    /// Why it cannot be measured on this machine.
    fn missing(self) -> Option<&'static str> {
        let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let has = |program| cellway_emu::sys::find_program(program).is_some();
        match self {
            By::Bbr if !controls.is_ok_and(|all| all.split_whitespace().any(|one| one == "bbr")) => {
                Some("the kernel has no bbr")
            }
            By::Kcptun if !(has("kcptun-client") && has("kcptun-server")) => Some("kcptun is not installed"),
            _ => None,
        }
    }
}

/// When the transfer begins (s): what runs beside it is there by then.
const START: f64 = 1.5;

pub(crate) fn run(options: &Options, report: &mut Report) {
    if cellway_emu::sys::find_program("iperf3").is_none() {
        report.say("skipped: iperf3 is missing: no transfers");
        return;
    }
    for path in PATHS {
        for streams in [1, 8] {
            let mut shares = Vec::new();
            for by in By::ALL {
                let id = format!("bulk {} {streams} {}", path.name, by.name());
                // A window of 64 KB is what it is on a line that loses, too. An answer that comes early changes the start,
                // and what carries the packets changes them for all connections.
                let told_already = match by {
                    By::Small => path.loss > 0.0,
                    By::Early | By::Tls => streams > 1,
                    By::Cubic | By::Bbr | By::Kcptun | By::Late => false,
                };
                if !options.wants(&id) || told_already {
                    continue;
                }
                if let Some(missing) = by.missing() {
                    report.say(&format!("{id}: skipped, {missing}"));
                    continue;
                }
                for seed in 1..=options.repeat {
                    match one(&path, streams, by, options, seed) {
                        Ok(seen) => {
                            shares.extend(told(report, &path, streams, by, options.seconds, &seen).map(|s| (by, s)))
                        }
                        Err(why) => report.say(&format!("{id}: {why}")),
                    }
                }
            }
            ratios(report, &path, streams, &shares);
        }
    }
}

fn one(path: &Path, streams: usize, by: By, options: &Options, seed: u64) -> Result<Seen, String> {
    let (seconds, window) = (options.seconds, options.window);
    let tuned = 4 * path.bdp();
    let buffers = match by {
        By::Cubic | By::Bbr => format!(
            "echo 4096 {tuned} {tuned} > /proc/sys/net/ipv4/tcp_rmem; echo 4096 {tuned} {tuned} > /proc/sys/net/ipv4/tcp_wmem; "
        ),
        _ => String::new(),
    };
    let (server, port) = if by == By::Kcptun { ("127.0.0.1", 12948) } else { ("$CELLWAY_HOST_server", 5201) };
    let mut client = format!("{buffers}exec iperf3 -J -i 0 -c {server} -p {port} -t {seconds} -P {streams}");
    client += match by {
        By::Small => " -w 64K",
        By::Bbr => " -C bbr",
        By::Cubic => " -C cubic",
        By::Kcptun | By::Late | By::Early | By::Tls => "",
    };
    let mut iperf = Command::new("iperf", "client", START, &["sh", "-c", &client])
        .json("rate", "end.sum_received.bits_per_second")
        .json("seconds", "end.sum_received.seconds");
    for stream in 0..streams {
        iperf = iperf.json(&format!("stream_{stream}"), &format!("end.streams.{stream}.receiver.bytes"));
    }
    // The transfer has been agreed on and fills the line.
    let loaded = format!("{}", START + 5.0 * path.rtt());
    let mut commands = vec![
        Command::new("served", "server", 0.0, &["sh", "-c", &format!("{buffers}exec iperf3 -s -1")]),
        Command::new("echo", "server", 0.0, &first(&[&me(), "--program", "echo"])),
        Command::new("probe", "client", 0.1, &first(&[&me(), "--program", "probe", "$CELLWAY_HOST_server", &loaded]))
            .pattern("least", r"least ([\d.]+)")
            .pattern("p99", r"p99 ([\d.]+)"),
        iperf,
    ];
    if by == By::Kcptun {
        commands.extend(kcptun(path));
    }
    let most = seconds as f64 + START + 30.0 * path.rtt() + 3.0;
    emulate(Trial {
        path: *path,
        middle: by.middle(),
        window,
        seed,
        commands,
        until: Some("iperf"),
        most,
        beside: None,
    })
}

/// A program that measures delays is not to wait for a processor, where it may say so.
fn first<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["nice", "-n", "-20"], words].concat()
}

/// Tuned as its users do for a line of a known rate: windows of what is on the line, no redundancy, no compression,
/// encrypted.
fn kcptun(path: &Path) -> [Command; 2] {
    let window = (path.bdp() * 11 / 10 / 1444).to_string();
    let buffer = (4 * path.bdp()).max(4 << 20).to_string();
    let of = |name, host, program: &'static str, ends: [&str; 4]| {
        let exe = me();
        let mut words = vec![exe.as_str(), "--program", "timed", program];
        words.extend(ends);
        words.extend(["--mode", "fast3", "--mtu", "1472", "--ds", "0", "--ps", "0", "--crypt", "aes-128", "--nocomp"]);
        words.extend(["--sndwnd", &window, "--rcvwnd", &window, "--sockbuf", &buffer]);
        words.extend(["--smuxver", "2", "--smuxbuf", &buffer, "--streambuf", &buffer, "--quiet"]);
        Command::new(name, host, 0.2, &words).pattern("cpu", r"cpu ([\d.]+)")
    };
    [
        of("kcptun-far", "server", "kcptun-server", ["-l", ":29900", "-t", "127.0.0.1:5201"]),
        of("kcptun-near", "client", "kcptun-client", ["-l", "127.0.0.1:12948", "-r", "$CELLWAY_HOST_server:29900"]),
    ]
}

/// A line of the table; the share of the line.
fn told(report: &mut Report, path: &Path, streams: usize, by: By, seconds: u64, seen: &Seen) -> Option<f64> {
    let share = seen.get("iperf", "rate").map(|rate| rate / (path.mbps as f64 * 1e6));
    let each: Vec<f64> = (0..streams).filter_map(|n| seen.get("iperf", &format!("stream_{n}"))).collect();
    let bytes: f64 = each.iter().sum();
    let both = |[a, b]: [&str; 2], metric| Some(seen.get(a, metric)? + seen.get(b, metric)?);
    let cpu = match by {
        By::Late | By::Early | By::Tls => both(["g1", "g2"], "gateway_cpu"),
        By::Kcptun => both(["kcptun-near", "kcptun-far"], "cpu"),
        By::Small | By::Cubic | By::Bbr => None,
    };
    let jain = (streams > 1).then(|| jain(&each)).flatten();
    let dropped = both(["g1>g2", "g2>g1"], "dropped_packets");
    let queued = seen.waiting(0.99).map(|packets| packets * path.packet() * 1e3);
    let added = Some((seen.get("probe", "p99")? - seen.get("probe", "least")?) * 1e3);
    let per_gb = cpu.filter(|_| bytes > 0.0).map(|cpu| cpu / (bytes / 1e9));
    let here = by.is_here();
    // The targets are those of QUIC.
    let judged = matches!(by, By::Late | By::Early);
    let resent = seen.get("g1", "gateway_resent").filter(|_| here).map(|resent| resent / bytes);
    report.row(
        "bulk",
        seen,
        vec![
            ("path", Value::Word(path.name.to_owned())),
            ("streams", Value::Number(streams as f64, 0)),
            ("by", Value::Word(by.name().to_owned())),
            ("seconds", Value::Number(seconds as f64, 0)),
            ("share", Value::judged(share, 3, judged.then_some(path.target), |share, least| share >= least)),
            ("jain", Value::judged(jain, 4, here.then_some(0.99), |jain, least| jain >= least)),
            ("dropped", Value::judged(dropped, 0, judged.then_some(0.0), |dropped, most| dropped <= most)),
            ("queue_p99_ms", Value::judged(queued, 2, judged.then_some(10.0), |ms, most| ms < most)),
            ("echo_p99_ms", Value::judged(added, 2, judged.then_some(10.0), |ms, most| ms < most)),
            (
                "cpu_s_per_gb",
                Value::judged(per_gb, 2, (judged && path.name == "C").then_some(10.0), |cpu, most| cpu <= most),
            ),
            ("resent", Value::maybe(resent, 4)),
        ],
    );
    share
}

/// What the gateway gives against each of the others.
fn ratios(report: &mut Report, path: &Path, streams: usize, shares: &[(By, f64)]) {
    let mean = |which: &dyn Fn(By) -> bool| {
        let of: Vec<f64> = shares.iter().filter(|(by, _)| which(*by)).map(|(_, share)| *share).collect();
        (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
    };
    let Some(here) = mean(&|by| by == By::Late).or(mean(&|by| by == By::Early)) else { return };
    let kernels =
        [By::Cubic, By::Bbr].into_iter().filter_map(|kernel| Some((kernel.name(), mean(&|by| by == kernel)?)));
    let best = kernels.max_by(|a, b| a.1.total_cmp(&b.1));
    let mut told = Vec::new();
    if let Some(small) = mean(&|by| by == By::Small) {
        told.push(format!("kernel with 64 KB {:.1}", here / small));
    }
    if let Some((name, best)) = best {
        told.push(format!("best kernel ({name}) {:.2}", here / best));
    }
    if let Some(kcptun) = mean(&|by| by == By::Kcptun) {
        told.push(format!("kcptun {:.2}", here / kcptun));
    }
    if !told.is_empty() {
        report.say(&format!("   {} {streams}: here / {}", path.name, told.join(", here / ")));
    }
}
