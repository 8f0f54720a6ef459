//! `cellway path from-pcap`.

use cellway_lab::captured::{Next, Progress};
use cellway_lab::captured_path::{self as captured, Interval, PathEstimate};

use crate::args::PathFromPcap;
use crate::reading::Reading;
use crate::table::Table;
use crate::{Face, Failure, output};

pub(crate) fn run(options: &PathFromPcap, face: &mut Face<'_>) -> Result<(), Failure> {
    if let Some(out) = &options.out {
        cellway_lab::check_free(out, options.force)?;
    }
    options.files.iter().for_each(|file| output::detail(&format!("reads {}", file.display())));
    let mut reading = Reading::new();
    let (estimate, measured) = captured::path_from_captures(&options.files, &mut |Progress { done, total }| {
        reading.show(done, total);
        if (face.interrupted)() { Next::Stop } else { Next::Continue }
    })?;
    drop(reading);
    if let Some(out) = &options.out {
        captured::write_scenario(&estimate, out, options.force)?;
        output::detail(&format!("wrote {}", out.display()));
    }
    let faults = measured.faults.iter().map(|(file, fault)| {
        format!("{}: {fault}; the records before it count, the rest was not read", file.display())
    });
    let mut warnings: Vec<String> = faults.collect();
    warnings.extend(captured::warnings(&estimate));
    output::warn(&warnings);
    if options.json {
        output::json(&captured::document(&estimate, &measured));
        return Ok(());
    }
    table(&estimate).print();
    output::say(&format!(
        "{} in {}, {}",
        output::count(estimate.packets, "segment"),
        output::count(estimate.transfers as u64, "bulk transfer"),
        output::count(measured.records, "packet")
    ));
    Ok(())
}

fn table(estimate: &PathEstimate) -> Table {
    let mut table = Table::with_numbers(&["", "estimate", "interval"].map(str::to_owned), |column| column > 0);
    let mut row = |name: &str, of: Interval, shown: &dyn Fn(f64) -> String| {
        table.add_row([name.to_owned(), shown(of.value), captured::range(of, shown)]);
    };
    row("rate of the bottleneck", estimate.rate, &captured::rate);
    row("round trip without queues", estimate.rtt, &|seconds| format!("{:.2} ms", seconds * 1e3));
    if let Some(buffer) = estimate.buffer {
        row("buffer", buffer, &|octets| output::size(octets.round() as u64));
    }
    if let Some(rate) = estimate.return_rate {
        row("rate towards the sender", rate, &captured::rate);
    }
    row("lost segments", estimate.loss, &|share| format!("{:.3} %", share * 1e2));
    table.add_row(["queue of 95 % of packets", &output::size(estimate.queue.round() as u64), ""]);
    table
}
