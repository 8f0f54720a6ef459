//! The performance of a pair of gateways for the hosts behind it, against its targets: `make bench-gateway`.
//!
//! Real hosts, kernels and programs, the real daemons, and between them the emulated link. The same run measures the
//! kernel's TCP alone, and kcptun if it is installed. Needs namespaces and TUN devices, as root or in a user namespace,
//! iperf3 and nftables; else it prints what is missing. Other work on the computer influences the numbers.
#![allow(missing_docs)]

#[cfg(target_os = "linux")]
mod bulk;
#[cfg(target_os = "linux")]
mod by;
#[cfg(target_os = "linux")]
mod cable;
#[cfg(target_os = "linux")]
mod competing;
#[cfg(target_os = "linux")]
mod daemons;
#[cfg(target_os = "linux")]
mod lan;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod many;
#[cfg(target_os = "linux")]
mod net;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod small;
#[cfg(target_os = "linux")]
mod streams;

/// The options of the command line.
#[cfg(target_os = "linux")]
struct Options {
    /// Parts of names of rows; all if empty.
    only: Vec<String>,
    /// The duration of transfers (s).
    seconds: u64,
    /// The number of measurements of each transfer; if absent, three for a transfer with a target and one for others.
    repeat: Option<u64>,
    /// `limits.window` of the gateways in bandwidth-delay products; their default if absent.
    window: Option<f64>,
    quick: bool,
    /// Prints the goodput of each second.
    verbose: bool,
}

#[cfg(target_os = "linux")]
const HELP: &str = "\
usage: make bench-gateway ARGS='--only WORDS --seconds N --repeat N --window X --quick --verbose'
  --only WORDS   rows whose names contain one of WORDS, with commas between them: `bulk C 8 given`,
                 `bulk C 8 both veth auto`, `bulk C 1 single given`, `http A`, `competing A auto cubic first`,
                 `cable 8 given`, `connections`, `idle`
  --seconds N    length of a transfer (30)
  --repeat N     how often each transfer is measured (3 where it has a target, else 1)
  --window X     window of the gateways in bandwidth-delay products (default: what they take by themselves)
  --verbose      the goodput of each second, too
  --quick        6 s, fewer requests, a tenth of the idle connections";

#[cfg(target_os = "linux")]
impl Options {
    fn read(words: &[String]) -> Result<Options, String> {
        let mut options =
            Options { only: Vec::new(), seconds: 30, repeat: None, window: None, quick: false, verbose: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word}: its value is missing\n{HELP}"));
            let number = |value: &String| match value.parse() {
                Ok(number @ 1..) => Ok(number),
                _ => Err(format!("{value:?} is not a number from 1\n{HELP}")),
            };
            match word.as_str() {
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--seconds" => options.seconds = number(value()?)?,
                "--repeat" => options.repeat = Some(number(value()?)?),
                "--window" => {
                    let value = value()?;
                    let positive = value.parse().ok().filter(|window| *window > 0.0);
                    options.window =
                        Some(positive.ok_or_else(|| format!("{value:?} is not a number above 0\n{HELP}"))?);
                }
                "--verbose" => options.verbose = true,
                "--quick" => (options.quick, options.seconds) = (true, 6),
                // Cargo passes this option to every bench.
                "--bench" => {}
                _ => return Err(HELP.to_owned()),
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// This program.
#[cfg(target_os = "linux")]
fn me() -> String {
    std::env::current_exe().map_or_else(|_| "/proc/self/exe".to_owned(), |path| path.display().to_string())
}

/// Returns the number after the last occurrence of a word.
#[cfg(target_os = "linux")]
fn figure(text: &str, word: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().rposition(|&other| other == word)?;
    words.get(at + 1)?.parse().ok()
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use cellway_emu::sys::{Reentry, Support, SysError, reenter, support};

    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("--program") => return programs::main(&words[1..]),
        // A gateway in its own process.
        Some("run" | "rules" | "status") => {
            if let Err(error) = programs::open_files() {
                eprintln!("{error}");
            }
            return cellway_gatewayd::main();
        }
        _ => {}
    }
    let failed = |error: &dyn std::fmt::Display| {
        eprintln!("{error}");
        std::process::ExitCode::FAILURE
    };
    let options = match Options::read(&words) {
        Ok(options) => options,
        Err(error) => return failed(&error),
    };
    if let Support::Missing(missing) = support() {
        println!("skipped: {}", SysError::Unsupported(missing));
        return std::process::ExitCode::SUCCESS;
    }
    match reenter() {
        Ok(Reentry::Here) => {}
        Ok(Reentry::Ended(status)) => return status.into(),
        Err(error) => return failed(&error),
    }
    if let Err(error) = programs::open_files() {
        return failed(&error);
    }
    let mut report = match report::Report::new() {
        Ok(report) => report,
        Err(error) => return failed(&error),
    };
    report.say(&machine());
    report.say(&format!(
        "transfers of {} s; shares are of the line's rate, from the start of the transfer at the receiver; X!Y is X where Y \
         was to be",
        options.seconds
    ));
    small::run(&options, &mut report);
    rows::run(&options, &mut report);
    competing::run(&options, &mut report);
    cable::run(&options, &mut report);
    many::run(&options, &mut report);
    report.end();
    std::process::ExitCode::SUCCESS
}

/// Describes the computer on which it was measured.
#[cfg(target_os = "linux")]
fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches(['\t', ' ', ':']).to_owned();
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{count} x {model}, Linux {}, load {}",
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").trim()
    )
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: gateways need Linux");
}
