//! `cellway metrics`.

use cellway_lab::metrics::{Definition, metrics, metrics_json};

use crate::args::Metrics;
use crate::table::Table;
use crate::{Failure, output};

pub(crate) fn run(options: &Metrics) -> Result<(), Failure> {
    let found = metrics(options.name.as_deref())?;
    if options.json {
        output::json(&metrics_json(&found));
        return Ok(());
    }
    if options.name.is_some() {
        found.into_iter().for_each(describe);
        return Ok(());
    }
    let header = ["metric", "unit", "subject", "from"].map(str::to_owned);
    let mut table = Table::with_numbers(&header, |_| false);
    for metric in found {
        table.add_row([metric.name(), metric.unit().symbol(), &subjects(metric), &sources(metric)]);
    }
    table.print();
    output::say("cellway metrics NAME prints the definition of a metric");
    Ok(())
}

/// Prints the definition of one metric.
fn describe(metric: &Definition) {
    let (name, unit) = (metric.name(), metric.unit().symbol());
    output::line(&format!("{name} [{unit}] of {}, from {}", subjects(metric), sources(metric)));
    output::line(&format!("  {}", metric.meaning()));
}

fn subjects(metric: &Definition) -> String {
    metric.subjects().iter().map(|subject| subject.word()).collect::<Vec<_>>().join(", ")
}

fn sources(metric: &Definition) -> String {
    metric.sources().iter().map(|source| source.word()).collect::<Vec<_>>().join(", ")
}
