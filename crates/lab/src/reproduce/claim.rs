//! A claim of a paper, and how it is judged.

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::values::{At, Figure, StudyValues};

/// One row of `expected.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Its name, unique in the paper.
    pub id: String,
    /// Section of the paper.
    pub section: String,
    /// Figure or table of the paper.
    #[serde(default)]
    pub figure: String,
    /// What the paper says, in our words.
    pub claim: String,
    /// Whether the paper gives a number or describes a trend.
    pub form: Form,
    /// The study that it is tested on.
    pub(crate) study: String,
    pub(super) subject: String,
    pub(super) metric: String,
    /// What is computed of the metric.
    pub(super) measure: Measure,
    pub(super) at: At,
    /// The other point, for a difference or a ratio.
    pub(super) from: Option<At>,
    /// The other point's study, if not the same.
    pub(crate) from_study: Option<String>,
    from_subject: Option<String>,
    from_metric: Option<String>,
    /// For a crossing: the axis, and the value that the metric reaches.
    pub(super) axis: Option<String>,
    pub(super) threshold: Option<f64>,
    /// Unit of the measured value.
    #[serde(default)]
    unit: String,
    /// Least accepted value.
    min: Option<f64>,
    /// Largest accepted value.
    max: Option<f64>,
    /// Why these bounds stand for the words of the paper.
    #[serde(default)]
    tolerance: String,
}

/// What kind of evidence a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A number.
    Number,
    /// An order or a trend.
    Trend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    /// The metric at one point.
    Level,
    /// The metric at one point less that at another, seed by seed.
    Difference,
    /// How much the difference between two points grows from the other study to this one, seed by seed.
    Growth,
    /// The metric at one point over that at another, seed by seed.
    Ratio,
    /// The first value of an axis at which the mean of the metric reaches a threshold.
    Crossing,
}

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The number came out: its whole confidence interval lies within the tolerance.
    Reproduced,
    /// The order or trend holds, confidence interval included.
    Shape,
    /// The confidence interval straddles the tolerance: these replications cannot tell.
    Undecided,
    /// It did not come out.
    NotReproduced,
    /// The runs had nothing to measure it by, which says nothing about the claim.
    NotMeasured,
}

/// A claim with what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRow {
    /// Name of the claim.
    pub id: String,
    /// Section of the paper.
    pub section: String,
    /// Figure of the paper.
    pub figure: String,
    /// What the paper says.
    pub claim: String,
    /// Number or trend.
    pub form: Form,
    /// The accepted range.
    pub expected: String,
    /// The measured value; absent if there was none.
    pub measured: Option<f64>,
    /// The measured value with its interval, as text.
    pub measured_text: String,
    /// Unit of the measured value.
    pub unit: String,
    /// Lower end of the 95 % confidence interval.
    pub ci_low: Option<f64>,
    /// Upper end of the 95 % confidence interval.
    pub ci_high: Option<f64>,
    /// Replications that had the figure.
    pub seeds: usize,
    /// Replications that were run.
    pub of_seeds: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the range stands for the paper's words, and what stood in the way.
    pub note: String,
}

impl Claim {
    /// The figures that it needs, with their studies.
    pub(crate) fn figures(&self) -> Vec<(&str, Figure)> {
        let own = (self.subject.clone(), self.metric.clone());
        vec![(&self.study, own), (self.from_study.as_ref().unwrap_or(&self.study), self.other_figure())]
    }

    pub(super) fn other_figure(&self) -> Figure {
        let or = |own: &Option<String>, other: &String| own.as_ref().unwrap_or(other).clone();
        (or(&self.from_subject, &self.subject), or(&self.from_metric, &self.metric))
    }

    /// Judges the claim by the studies it names; `None` for one that was not run.
    pub(crate) fn judge(&self, study: Option<&StudyValues>, from: Option<&StudyValues>) -> ClaimRow {
        let measured = study.and_then(|study| self.measure(study, from.unwrap_or(study)));
        let (min, max) = (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY));
        let inside = |x: f64| (min..=max).contains(&x);
        let verdict = match &measured {
            None => Verdict::NotMeasured,
            Some(m) if inside(m.low) && inside(m.high) => match self.form {
                Form::Number => Verdict::Reproduced,
                Form::Trend => Verdict::Shape,
            },
            Some(m) if m.high < min || m.low > max => Verdict::NotReproduced,
            Some(_) => Verdict::Undecided,
        };
        let measured_text = match &measured {
            None => "not measured".to_owned(),
            Some(Measured { text: Some(text), .. }) => text.clone(),
            Some(m) => format!("{} [{}, {}]{}", short(m.value), short(m.low), short(m.high), self.unit_text()),
        };
        ClaimRow {
            id: self.id.clone(),
            section: self.section.clone(),
            figure: self.figure.clone(),
            claim: self.claim.clone(),
            form: self.form,
            expected: self.expected_text(),
            measured: measured.as_ref().map(|m| m.value).filter(|v| v.is_finite()),
            measured_text,
            unit: self.unit.clone(),
            ci_low: measured.as_ref().map(|m| m.low).filter(|v| v.is_finite()),
            ci_high: measured.as_ref().map(|m| m.high).filter(|v| v.is_finite()),
            seeds: measured.as_ref().map_or(0, |m| m.seeds),
            of_seeds: study.map_or(0, StudyValues::seeds),
            verdict,
            note: self.tolerance.clone(),
        }
    }

    pub(super) fn unit_text(&self) -> String {
        if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) }
    }

    fn expected_text(&self) -> String {
        let what = match self.measure {
            Measure::Level | Measure::Crossing => "",
            Measure::Difference => "difference ",
            Measure::Growth => "change of the difference ",
            Measure::Ratio => "ratio ",
        };
        let unit = self.unit_text();
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{what}{} to {}{unit}", short(min), short(max)),
            (Some(min), None) => format!("{what}at least {}{unit}", short(min)),
            (None, Some(max)) => format!("{what}at most {}{unit}", short(max)),
            (None, None) => "any".to_owned(),
        }
    }
}

/// A number in as many digits as a reader can use.
pub(super) fn short(x: f64) -> String {
    let digits = match x.abs() {
        a if a == 0.0 || a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
