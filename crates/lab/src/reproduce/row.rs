//! A claim with its result, as it is printed, written and drawn.

use std::collections::BTreeMap;

use serde::Serialize;

use super::claim::{Form, Origin, Source};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number reproduces: the judged value lies within the tolerance, with its whole confidence interval.
    Reproduced,
    /// Within the tolerance, but a parameter that it rests on was tuned to the paper, so that it is no test.
    Fitted,
    /// The order or trend holds, confidence interval included.
    Shape,
    /// The confidence interval straddles the tolerance: these replications cannot decide. Or the equation that judges
    /// the claim agrees with it, but outside its domain.
    Undecided,
    /// It does not reproduce.
    NotReproduced,
    /// It could not be measured, which is no evidence for or against the claim.
    NotMeasured,
    /// Its emulation was left out, could not run on this host, or was too late to count: `not_run` has the reason.
    NotRun,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Verdict; 7] = [
        Verdict::Reproduced,
        Verdict::Fitted,
        Verdict::Shape,
        Verdict::Undecided,
        Verdict::NotReproduced,
        Verdict::NotMeasured,
        Verdict::NotRun,
    ];

    /// Returns the text of the verdict.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Fitted => "fitted",
            Verdict::Shape => "shape",
            Verdict::Undecided => "undecided",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotMeasured => "not measured",
            Verdict::NotRun => "not run",
        }
    }
}

/// A claim with its predicted and measured values. All values of a row are in its `unit`.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRow {
    /// Short name of the paper.
    pub paper: String,
    /// Name of the claim.
    pub id: String,
    /// Section of the paper.
    pub section: String,
    /// Figure, table or equation of the paper.
    pub figure: String,
    /// Section and figure.
    pub place: String,
    /// The claim of the paper.
    pub claim: String,
    /// A short form for figures; may be empty.
    pub label: String,
    /// Number or trend.
    pub form: Form,
    /// Claim of the paper, another reading of one, or control.
    pub origin: Origin,
    /// The number of the paper.
    pub published: Option<f64>,
    /// The number as it is printed, with its unit; empty if the paper gives none.
    pub published_text: String,
    /// The accepted range.
    pub expected: String,
    /// The value of the equation.
    pub predicted: Option<f64>,
    /// The same with its unit; empty without an equation.
    pub predicted_text: String,
    /// The equation.
    pub equation: Option<String>,
    /// The reasons why the equation may not hold here.
    pub caveats: Vec<String>,
    /// The value that simulated runs gave; absent if there was none.
    pub simulated: Option<f64>,
    /// The value that emulated runs gave; absent if there was none.
    pub emulated: Option<f64>,
    /// The value of the runs, of any kind; that of real hosts and gateways is only in this field.
    pub measured: Option<f64>,
    /// The value that the runs gave with its interval, as text; empty without a study.
    pub measured_text: String,
    /// Unit of the values.
    pub unit: String,
    /// Lower end of the 95 % confidence interval of the measured value.
    pub ci_low: Option<f64>,
    /// Upper end of the 95 % confidence interval of the measured value.
    pub ci_high: Option<f64>,
    /// Replications that gave a value.
    pub seeds: usize,
    /// Replications that were run.
    pub of_seeds: usize,
    /// The measured value, else the predicted one, over the published one, less 1.
    pub deviation: Option<f64>,
    /// The source of the judged value.
    pub source: Source,
    /// The set of runs behind the measured value; absent if an equation alone judges the claim.
    pub study: Option<String>,
    /// Subject of the judged figure in the tables of the study; empty without one.
    pub subject: String,
    /// Metric of the judged figure; empty without a study.
    pub metric: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why it was not run; empty if it was.
    pub not_run: String,
    /// The reason for the range, and the obstacles to a measurement.
    pub note: String,
    /// Parameters that the paper states.
    pub given: Vec<String>,
    /// Parameters that follow from other statements of the paper.
    pub inferred: Vec<String>,
    /// Parameters that were tuned to this or another number of the same paper.
    pub fitted: Vec<String>,
    /// The attempts to explain a claim that does not reproduce.
    pub tried: String,
    /// The part that remains without an explanation.
    pub unexplained: String,
}

/// The number of rows with each verdict.
pub type Tally = BTreeMap<Verdict, usize>;

/// Counts the rows by verdict; every verdict is there, at least with 0.
pub fn tally<'a>(rows: impl IntoIterator<Item = &'a ClaimRow>) -> Tally {
    let mut counts: Tally = Verdict::ALL.into_iter().map(|verdict| (verdict, 0)).collect();
    for row in rows {
        *counts.entry(row.verdict).or_default() += 1;
    }
    counts
}

/// Returns the tally as text: "3 reproduced, 1 shape". Verdicts with no row are left out.
pub fn tally_text(tally: &Tally) -> String {
    let counted = tally.iter().filter(|&(_, &count)| count > 0);
    let counted: Vec<String> = counted.map(|(verdict, count)| format!("{count} {}", verdict.words())).collect();
    if counted.is_empty() { "no claims".to_owned() } else { counted.join(", ") }
}

/// Formats a number with the digits that a reader can use.
pub fn short(x: f64) -> String {
    let digits = match x.abs() {
        a if a == 0.0 || a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 0.1 => 3,
        a if a < 0.1 => return small(x),
        _ => 4,
    };
    plain(&format!("{x:.digits$}")).to_owned()
}

/// Formats a number below 0.1 with three significant digits; with an exponent if it is below 0.0001.
fn small(x: f64) -> String {
    let text = format!("{x:.2e}");
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    match exponent.parse() {
        Ok(exponent @ -4i32..=-1) => plain(&format!("{x:.*}", (2 - exponent) as usize)).to_owned(),
        _ => format!("{}e{exponent}", plain(mantissa)),
    }
}

/// Returns a decimal fraction without zeros at its end.
fn plain(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Formats an end of an accepted range: all its digits, up to six, since the value is exact.
pub(super) fn bound(x: f64) -> String {
    let before = if x.abs() >= 1.0 { x.abs().log10().floor() as usize + 1 } else { 0 };
    plain(&format!("{x:.*}", 6usize.saturating_sub(before))).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_keep_three_digits() {
        let message = [
            (0.0, "0"),
            (12_345.6, "12346"),
            (123.45, "123.5"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (0.099_99, "0.1"),
            (0.012_34, "0.0123"),
            (-0.001_234, "-0.00123"),
            (0.000_1, "0.0001"),
            (12.5e-6, "1.25e-5"),
            (-3e-9, "-3e-9"),
            (100.0, "100"),
        ];
        for (number, text) in message {
            assert_eq!(short(number), text);
        }
        assert_eq!((short(f64::NAN), short(f64::INFINITY)), ("NaN".to_owned(), "inf".to_owned()));
    }
}
