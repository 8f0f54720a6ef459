//! A claim with what came out, as it is printed, written and drawn.

use std::collections::BTreeMap;

use serde::Serialize;

use super::claim::{Form, Origin, Source};

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number came out: the judged value lies within the tolerance, with its whole confidence interval.
    Reproduced,
    /// Within the tolerance, but a parameter that it rests on was tuned to the paper, so that it is no test.
    Fitted,
    /// The order or trend holds, confidence interval included.
    Shape,
    /// The confidence interval straddles the tolerance: these replications cannot tell. Or the equation that judges
    /// the claim agrees with it, but outside its domain.
    Undecided,
    /// It did not come out.
    NotReproduced,
    /// There was nothing to measure it by, which says nothing about the claim.
    NotMeasured,
    /// Its emulation was left out, could not be run on this machine, or was too late to count: `not_run` says which.
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

    /// The verdict in words.
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

/// A claim with what was predicted and measured. All values of a row are in its `unit`.
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
    /// What the paper says.
    pub claim: String,
    /// The same in a few words, for figures; may be empty.
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
    /// What the equation gives.
    pub predicted: Option<f64>,
    /// The same with its unit; empty without an equation.
    pub predicted_text: String,
    /// The equation.
    pub equation: Option<String>,
    /// Where the equation may not hold here.
    pub caveats: Vec<String>,
    /// The value that simulated runs gave; absent if there was none.
    pub simulated: Option<f64>,
    /// The value that emulated runs gave; absent if there was none.
    pub emulated: Option<f64>,
    /// The value that the runs gave, whatever they were; that of real hosts and gateways stands here alone.
    pub measured: Option<f64>,
    /// The value that the runs gave with its interval, as text; empty without a study.
    pub measured_text: String,
    /// Unit of the values.
    pub unit: String,
    /// Lower end of the 95 % confidence interval of the measured value.
    pub ci_low: Option<f64>,
    /// Upper end of the 95 % confidence interval of the measured value.
    pub ci_high: Option<f64>,
    /// Replications that had the figure.
    pub seeds: usize,
    /// Replications that were run.
    pub of_seeds: usize,
    /// The measured value, else the predicted one, over the published one, less 1.
    pub deviation: Option<f64>,
    /// Which value is judged.
    pub source: Source,
    /// The set of runs behind the measured value; absent if an equation alone judges the claim.
    pub study: Option<String>,
    /// Subject of the judged figure in the tables of the study; empty without one.
    pub subject: String,
    /// Metric of the judged figure; empty without a study.
    pub metric: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it was not run, in words; empty if it was.
    pub not_run: String,
    /// Why the range stands for the paper's words, and what stood in the way.
    pub note: String,
    /// Parameters that the paper states.
    pub given: Vec<String>,
    /// Parameters that follow from other statements of the paper.
    pub inferred: Vec<String>,
    /// Parameters tuned until this very number came out.
    pub fitted: Vec<String>,
    /// What was tried where it does not come out.
    pub tried: String,
    /// What remains without an explanation.
    pub unexplained: String,
}

/// How many rows had each verdict.
pub type Tally = BTreeMap<Verdict, usize>;

/// Counts the rows by verdict; every verdict is there, at least with 0.
pub fn tally<'a>(rows: impl IntoIterator<Item = &'a ClaimRow>) -> Tally {
    let mut counts: Tally = Verdict::ALL.into_iter().map(|verdict| (verdict, 0)).collect();
    for row in rows {
        *counts.entry(row.verdict).or_default() += 1;
    }
    counts
}

/// The tally in words: "3 reproduced, 1 shape". Verdicts that nothing got are left out.
pub fn tally_text(tally: &Tally) -> String {
    let told = tally.iter().filter(|&(_, &count)| count > 0);
    let told: Vec<String> = told.map(|(verdict, count)| format!("{count} {}", verdict.words())).collect();
    if told.is_empty() { "no claims".to_owned() } else { told.join(", ") }
}

/// A number in as many digits as a reader can use.
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

/// A number below 0.1 in three significant digits; with an exponent if it is below 0.0001.
fn small(x: f64) -> String {
    let text = format!("{x:.2e}");
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    match exponent.parse() {
        Ok(exponent @ -4i32..=-1) => plain(&format!("{x:.*}", (2 - exponent) as usize)).to_owned(),
        _ => format!("{}e{exponent}", plain(mantissa)),
    }
}

/// A decimal fraction without zeros at its end.
fn plain(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// An end of an accepted range: all its digits, up to six, since what lies beside it is refused.
pub(super) fn bound(x: f64) -> String {
    let before = if x.abs() >= 1.0 { x.abs().log10().floor() as usize + 1 } else { 0 };
    plain(&format!("{x:.*}", 6usize.saturating_sub(before))).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_keep_three_digits() {
        let told = [
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
        for (number, text) in told {
            assert_eq!(short(number), text);
        }
        assert_eq!((short(f64::NAN), short(f64::INFINITY)), ("NaN".to_owned(), "inf".to_owned()));
    }
}
