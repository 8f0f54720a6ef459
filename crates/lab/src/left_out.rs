//! The series of a study that do not have all changes.

use std::collections::BTreeMap;

use cellway_record::RunRecord;

/// The suffix of the summary metrics that give the interval of a series with changes left out.
const ENDING: &str = "_interval";

/// The series that leave changes out, each with its longest interval (s) over all runs of a study.
#[derive(Default)]
pub(crate) struct LeftOut {
    intervals: BTreeMap<(String, String), f64>,
}

impl LeftOut {
    /// Adds the series of a run.
    pub(crate) fn add(&mut self, record: &RunRecord) {
        let told = |metric: &str| metric.strip_suffix(ENDING).map(str::to_owned);
        for (row, metric) in record.summary.iter().filter_map(|row| Some((row, told(row.metric)?))) {
            let longest = self.intervals.entry((metric, row.subject.to_string())).or_default();
            *longest = longest.max(row.value);
        }
    }

    /// Returns a warning if any series leaves changes out.
    pub(crate) fn warning(&self) -> Option<String> {
        let mut named: Vec<String> = self
            .intervals
            .iter()
            .map(|((metric, subject), seconds)| format!("{metric} of {subject} ({})", length(*seconds)))
            .collect();
        let more = named.len().saturating_sub(3);
        named.truncate(3);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        (!named.is_empty()).then(|| {
            format!(
                "of the changes in the series only the first, last, lowest and highest of equal intervals are kept: {}{more}; \
                 a larger observe.max-rows keeps more",
                named.join(", ")
            )
        })
    }
}

/// Formats a time in the largest unit in which it is at least 1.
fn length(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (scale, unit) = units.into_iter().find(|&(scale, _)| seconds >= scale).unwrap_or((1e-9, "ns"));
    format!("{:.3} {unit}", seconds / scale)
}
