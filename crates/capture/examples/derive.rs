//! Derives a workload from captures, prints it, and prints the speed on standard error:
//!
//! ```text
//! cargo run --release --package cellway-capture --example derive -- trace.pcap > workload.toml
//! ```

use std::path::PathBuf;
use std::time::Instant;

use cellway_capture::{Next, Options, derive};

fn main() -> Result<(), cellway_capture::Error> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let begun = Instant::now();
    let derived = derive(&files, &Options::default(), &mut |_| Next::Continue)?;
    let seconds = begun.elapsed().as_secs_f64();
    let packets = derived.totals.records;
    eprintln!("{packets} packets in {seconds:.2} s: {:.2} million each second", packets as f64 / seconds / 1e6);
    for (file, fault) in &derived.faults {
        eprintln!("{}: {fault}", file.display());
    }
    print!("{}", derived.workload.file().to_toml("Made by the example derive."));
    Ok(())
}
