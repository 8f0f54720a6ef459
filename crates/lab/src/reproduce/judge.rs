//! The verdict on a claim.

use super::claim::{Claim, Form, Measure, Source};
use super::measure::Measured;
use super::predicted::Prediction;
use super::row::{ClaimRow, Verdict, bound, short};
use super::values::StudyValues;

impl Claim {
    /// Judges the claim by the studies it names, `None` for one that was not run, and by the value of its equation.
    pub(super) fn judge(
        &self,
        paper: &str,
        study: Option<&StudyValues>,
        from: Option<&StudyValues>,
        prediction: Option<Prediction>,
    ) -> ClaimRow {
        let not_run = self.not_run(study, from);
        let simulated =
            study.filter(|_| not_run.is_none()).and_then(|study| self.measure(study, from.unwrap_or(study)));
        let predicted = prediction.as_ref().map(|p| p.value);
        let judged = match self.source() {
            Source::Simulate | Source::Emulate | Source::Measure => simulated.as_ref().map(|m| (m.low, m.high)),
            Source::Predict => predicted.map(|value| (value, value)),
        };
        let in_doubt = self.source() == Source::Predict
            && !self.outside_domain
            && prediction.as_ref().is_some_and(|p| !p.caveats.is_empty());
        let finite = |value: f64| Some(value).filter(|v| v.is_finite());
        let value = simulated.as_ref().and_then(|m| finite(m.value));
        let of_source = |sources: &[Source]| value.filter(|_| sources.contains(&self.source()));
        // The value of an equation is no measure of a run that did not take place.
        let stands_in = predicted.filter(|_| not_run.is_none() || self.source() == Source::Predict);
        let deviation = value.or(stands_in).zip(self.published.filter(|&p| p != 0.0)).map(|(v, p)| v / p - 1.0);
        let numbered = self.section.starts_with(|c: char| c.is_ascii_digit());
        let section = if numbered { format!("§ {}", self.section) } else { self.section.clone() };
        let place: Vec<&str> = [&section[..], &self.figure].into_iter().filter(|p| !p.is_empty()).collect();
        ClaimRow {
            paper: paper.to_owned(),
            id: self.id.clone(),
            section: self.section.clone(),
            figure: self.figure.clone(),
            place: place.join(", "),
            claim: self.claim.clone(),
            label: self.label.clone(),
            form: self.form,
            origin: self.origin,
            published: self.published,
            published_text: self.published_text(),
            expected: self.expected_text(),
            predicted,
            predicted_text: predicted.map_or_else(String::new, |v| short(v) + &self.unit_text()),
            equation: prediction.as_ref().map(|p| p.equation.clone()),
            caveats: prediction.map(|p| p.caveats).unwrap_or_default(),
            simulated: of_source(&[Source::Simulate, Source::Predict]),
            emulated: of_source(&[Source::Emulate]),
            measured: value,
            measured_text: match not_run {
                Some(_) => Verdict::NotRun.words().to_owned(),
                None => self.measured_text(simulated.as_ref()),
            },
            unit: self.unit.clone(),
            ci_low: simulated.as_ref().and_then(|m| finite(m.low)),
            ci_high: simulated.as_ref().and_then(|m| finite(m.high)),
            seeds: simulated.as_ref().map_or(0, |m| m.seeds),
            of_seeds: study.map_or(0, StudyValues::seeds),
            deviation,
            source: self.source(),
            study: self.study.clone(),
            subject: self.subject.clone(),
            metric: self.metric.clone(),
            verdict: match self.verdict(judged) {
                _ if not_run.is_some() && self.source() != Source::Predict => Verdict::NotRun,
                Verdict::Reproduced | Verdict::Fitted | Verdict::Shape if in_doubt => Verdict::Undecided,
                verdict => verdict,
            },
            not_run: not_run.unwrap_or_default(),
            note: self.tolerance.clone(),
            given: self.given.clone(),
            inferred: self.inferred.clone(),
            fitted: self.fitted.clone(),
            tried: self.tried.clone(),
            unexplained: self.unexplained.clone(),
        }
    }

    /// Returns the reason why the claim cannot be judged: runs that it needs did not take place.
    fn not_run(&self, study: Option<&StudyValues>, from: Option<&StudyValues>) -> Option<String> {
        let own = self.study.as_deref();
        let of = |id: &str| if Some(id) == own { study } else { from };
        let reason = self.places().into_iter().find_map(|(id, at)| of(id)?.left_out_at(at));
        reason.map(str::to_owned)
    }

    /// Returns the verdict on a value that lies between two bounds, both included.
    fn verdict(&self, judged: Option<(f64, f64)>) -> Verdict {
        let (min, max) = self.range();
        let Some((low, high)) = judged else { return Verdict::NotMeasured };
        let inside = |x: f64| (min..=max).contains(&x);
        if inside(low) && inside(high) {
            match self.form {
                _ if !self.fitted.is_empty() => Verdict::Fitted,
                Form::Number => Verdict::Reproduced,
                Form::Trend => Verdict::Shape,
            }
        } else if high < min || low > max {
            Verdict::NotReproduced
        } else {
            Verdict::Undecided
        }
    }

    fn measured_text(&self, simulated: Option<&Measured>) -> String {
        match simulated {
            None if self.study.is_none() => String::new(),
            None => "not measured".to_owned(),
            Some(m) => match &m.text {
                Some(text) => text.clone(),
                None if m.exact => short(m.value) + &self.unit_text(),
                None => format!("{} [{}, {}]{}", short(m.value), short(m.low), short(m.high), self.unit_text()),
            },
        }
    }

    fn published_text(&self) -> String {
        match (&self.published_text, self.published) {
            (Some(text), _) => text.clone(),
            // As the paper prints it: Rust writes the shortest digits that give the number back.
            (None, Some(published)) => format!("{published}{}", self.unit_text()),
            (None, None) => String::new(),
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
            Measure::WorstDeviation => "deviation ",
            Measure::Least => "least: ",
            Measure::Most => "most: ",
        };
        let unit = self.unit_text();
        let (min, max) = self.range();
        match (min.is_finite(), max.is_finite()) {
            (true, true) if min == max => format!("{what}{}{unit}", bound(min)),
            (true, true) => format!("{what}{} to {}{unit}", bound(min), bound(max)),
            (true, false) => format!("{what}at least {}{unit}", bound(min)),
            (false, true) => format!("{what}at most {}{unit}", bound(max)),
            (false, false) => "any".to_owned(),
        }
    }
}
