//! The criteria of `--until`, and the figures that they are about.

use std::fmt;
use std::str::FromStr;

use cellway_record::{RunRecord, metric};

use crate::error::Error;

const FORM: &str = "\"ci95(METRIC[subject=NAME]) < 2 %\", \"ci95(METRIC[subject=A] - METRIC[subject=B]) < 0.1\", or \
                    \"ci95(METRIC[subject=A] against AXIS=VALUE) < 5 %\"";

/// How narrow the 95 % confidence interval of a metric is to be: half its width, as a share of the mean or in the
/// metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    text: String,
    pub(super) of: Figure,
    pub(super) difference: Difference,
    pub(super) half: f64,
    pub(super) is_share: bool,
}

/// A figure of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) metric: String,
    pub(super) subject: String,
}

/// The difference that counts in place of the figure itself. Both are of the same seed, so their noise is common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    None,
    /// To another figure of the same run.
    To(Figure),
    /// To the same figure at the point with another value of an axis.
    Against {
        axis: String,
        value: String,
    },
}

impl FromStr for Figure {
    type Err = ();

    fn from_str(text: &str) -> Result<Figure, ()> {
        let (metric, rest) = text.trim().split_once('[').ok_or(())?;
        let subject = rest.strip_suffix(']').and_then(|rest| rest.trim().strip_prefix("subject")).ok_or(())?;
        let subject = subject.trim_start().strip_prefix('=').ok_or(())?.trim().trim_matches('"');
        let (metric, subject) = (metric.trim().to_owned(), subject.to_owned());
        if metric.is_empty() || subject.is_empty() { Err(()) } else { Ok(Figure { metric, subject }) }
    }
}

impl FromStr for Criterion {
    type Err = String;

    fn from_str(text: &str) -> Result<Criterion, String> {
        let wrong = || format!("{text:?} is no criterion; accepted: {FORM}");
        let (left, right) = text.rsplit_once('<').ok_or_else(wrong)?;
        let inner = left.trim().strip_prefix("ci95(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
        let figure = |text: &str| text.parse::<Figure>().map_err(|()| wrong());
        let (of, difference) = if let Some((of, other)) = inner.split_once(" against ") {
            let (axis, value) = other.split_once('=').ok_or_else(wrong)?;
            let [axis, value] = [axis, value].map(|part| part.trim().to_owned());
            (figure(of)?, Difference::Against { axis, value })
        } else if let Some((of, other)) = inner.split_once("] - ") {
            (figure(&format!("{of}]"))?, Difference::To(figure(other)?))
        } else {
            (figure(inner)?, Difference::None)
        };
        let right = right.trim();
        let (number, is_share) = right.strip_suffix('%').map_or((right, false), |number| (number.trim(), true));
        let half: f64 = number.parse().map_err(|_| {
            // A number with something behind it is meant to have a unit.
            if !number.starts_with(|first: char| first.is_ascii_digit()) {
                return wrong();
            }
            let unit = match unit_of(&of.metric) {
                "" => String::new(),
                unit => format!(" in {unit}, the unit of {}", of.metric),
            };
            format!("{text:?}: {right:?} is no half width; accepted: a number{unit}, or a share such as \"2 %\"")
        })?;
        if !(half > 0.0 && half.is_finite()) {
            return Err(wrong());
        }
        let half = if is_share { half / 100.0 } else { half };
        Ok(Criterion { text: text.trim().to_owned(), of, difference, half, is_share })
    }
}

impl Criterion {
    /// Returns the unit of half a width as the criterion has it: "%" of a share, else that of the metric; nothing if
    /// the metric has none or is not known.
    pub fn unit(&self) -> &'static str {
        if self.is_share { "%" } else { unit_of(&self.of.metric) }
    }

    /// Returns half a width as a number in that unit; a share is one of 1.
    pub fn number(&self, half: f64) -> String {
        if self.is_share {
            return format!("{:.2}", half * 100.0);
        }
        // Four digits, whatever the unit is.
        let decimals = if half > 0.0 && half.is_finite() { (3.0 - half.log10().floor()).clamp(0.0, 12.0) } else { 0.0 };
        format!("{half:.*}", decimals as usize)
    }
}

/// Returns the unit of a metric of the tables; nothing if it has none or is not known.
fn unit_of(metric: &str) -> &'static str {
    let symbol = metric::named(metric).next().map_or("", |definition| definition.unit().symbol());
    if symbol == "1" { "" } else { symbol }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Figure {
    /// Returns its value in a run, if the run has it.
    pub(super) fn of(&self, record: &RunRecord) -> Option<f64> {
        let mut rows = record.summary.iter();
        let row = rows.find(|row| row.metric.name() == self.metric && *row.subject == *self.subject);
        row.map(|row| row.value)
    }

    /// Returns the error that a run has no such figure, with those that it has.
    pub(super) fn missing(&self, record: &RunRecord) -> Error {
        let of_metric = record.summary.iter().filter(|row| row.metric.name() == self.metric);
        let mut subjects: Vec<&str> = of_metric.map(|row| &*row.subject).collect();
        let accepted = if subjects.is_empty() {
            let of_subject = record.summary.iter().filter(|row| *row.subject == *self.subject);
            let mut metrics: Vec<&str> = of_subject.map(|row| row.metric.name()).collect();
            metrics.sort_unstable();
            metrics.dedup();
            format!("one of {}: {}", self.subject, metrics.join(", "))
        } else {
            subjects.sort_unstable();
            subjects.dedup();
            format!("a subject with {}: {}", self.metric, subjects.join(", "))
        };
        Error::Option(format!("--until: no run has {} of {:?}; accepted: {accepted}", self.metric, self.subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_read() {
        let one: Criterion = "ci95(goodput[subject=a]) < 2 %".parse().unwrap();
        assert_eq!((&*one.of.metric, &*one.of.subject, one.half, one.is_share), ("goodput", "a", 0.02, true));
        let two: Criterion = "ci95(goodput[subject=a-1] - goodput[subject=b-1]) < 0.1".parse().unwrap();
        assert_eq!((two.half, two.is_share), (0.1, false));
        assert!(matches!(&two.difference, Difference::To(other) if other.subject == "b-1"));
        let three: Criterion = "ci95(queue_mean[subject=r1>r2] against tcp.variant=reno)<5%".parse().unwrap();
        assert_eq!(three.of.subject, "r1>r2");
        assert!(
            matches!(&three.difference, Difference::Against { axis, value } if axis == "tcp.variant" && value == "reno")
        );
        for wrong in [
            "",
            "goodput < 2 %",
            "ci95(goodput) < 2 %",
            "ci95(goodput[subject=a])",
            "ci95(goodput[subject=a]) < 0 %",
            "ci95(goodput[subject=a]) < x",
            "ci95(goodput[flow=a]) < 2 %",
            "ci95(goodput[subject=a]) < inf",
        ] {
            let refused = wrong.parse::<Criterion>().unwrap_err();
            assert!(refused.contains("accepted: \"ci95("), "{refused}");
        }
        let unit = "ci95(response_time_p50[subject=a]) < 20 ms".parse::<Criterion>().unwrap_err();
        assert!(
            unit.ends_with(
                "\"20 ms\" is no half width; accepted: a number in s, the unit of response_time_p50, or a \
                                share such as \"2 %\""
            ),
            "{unit}"
        );
    }

    #[test]
    fn half_widths_have_the_unit_of_their_criterion() {
        let shown = |text: &str, half: f64| {
            let criterion: Criterion = text.parse().unwrap();
            format!("{} [{}]", criterion.number(half), criterion.unit())
        };
        assert_eq!(shown("ci95(goodput[subject=a]) < 2 %", 0.0139), "1.39 [%]");
        assert_eq!(shown("ci95(goodput[subject=a]) < 20000", 19321.4), "19321 [bit/s]");
        assert_eq!(shown("ci95(response_time_p50[subject=a]) < 0.02", 0.012346), "0.01235 [s]");
        assert_eq!(shown("ci95(jain[subject=a]) < 0.02", 0.0), "0 []");
    }
}
