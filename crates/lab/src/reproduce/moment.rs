//! Values of a series at the moments that a claim names: `bbr_max_bw when bbr_state = 1`.
//!
//! ```text
//! VALUE when CONDITION      the value at the instant at which the condition begins to hold
//! VALUE before CONDITION    the value just before that instant
//! VALUE at T s              the value at T
//! max VALUE while CONDITION the largest value while the condition holds; also min, and change: the last less the first
//! length while CONDITION    how long the condition holds (s)
//! count CONDITION           how often the condition begins to hold
//!
//! VALUE                     METRIC, METRIC / METRIC, METRIC / AXIS; time, in place of a metric, is the instant (s)
//! CONDITION                 METRIC = NUMBER, also < <= > >= !=, then optionally #N for the N-th time (from 1; first),
//!                           and "after T s" for the first one at or after T
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// A quantity over time: instants (s), each with the value from then on.
pub(super) type Series = Vec<(f64, f64)>;

/// A comparison with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Relation {
    const ALL: [(&'static str, Relation); 6] = [
        ("=", Relation::Equal),
        ("!=", Relation::Unequal),
        ("<", Relation::Less),
        ("<=", Relation::AtMost),
        (">", Relation::More),
        (">=", Relation::AtLeast),
    ];

    fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Relation::Equal => value == number,
            Relation::Unequal => value != number,
            Relation::Less => value < number,
            Relation::AtMost => value <= number,
            Relation::More => value > number,
            Relation::AtLeast => value >= number,
        }
    }
}

/// A condition on a quantity, and which of the phases in which it holds.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    metric: String,
    relation: Relation,
    number: f64,
    /// From 0.
    nth: usize,
    /// At or after this instant (s).
    after: f64,
}

/// The value of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extreme {
    Max,
    Min,
    Change,
}

#[derive(Clone, Debug, PartialEq)]
enum Clause {
    When(Condition),
    Before(Condition),
    At(f64),
    While(Extreme, Condition),
    Length(Condition),
    Count(Condition),
}

/// A value at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    /// The metric, or "time"; empty for a length and a count.
    value: String,
    /// A metric or an axis that it is divided by.
    divisor: Option<String>,
    clause: Clause,
}

/// A text that is not a value at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MomentError(String);

impl fmt::Display for MomentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = "METRIC when METRIC = NUMBER, METRIC before ..., METRIC at T s, max METRIC while ..., length while \
                     ..., count METRIC = NUMBER";
        write!(f, "{}; accepted: {forms}", self.0)
    }
}

/// Reads the words of a text.
struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    fn next(&mut self, wanted: &str) -> Result<&'a str, MomentError> {
        self.0.next().ok_or_else(|| MomentError(format!("{wanted} is missing")))
    }
    fn number(&mut self, wanted: &str) -> Result<f64, MomentError> {
        let word = self.next(wanted)?;
        word.parse().map_err(|_| MomentError(format!("{word:?} is no number")))
    }
    fn seconds(&mut self) -> Result<f64, MomentError> {
        let seconds = self.number("a time")?;
        match self.next("the unit s")? {
            "s" => Ok(seconds),
            other => Err(MomentError(format!("{other:?} is no unit of time; accepted: s"))),
        }
    }
    fn take(&mut self, word: &str) -> bool {
        self.0.next_if_eq(&word).is_some()
    }
    fn condition(&mut self) -> Result<Condition, MomentError> {
        let metric = self.next("a metric")?.to_owned();
        let sign = self.next("a comparison")?;
        let relation = Relation::ALL.into_iter().find(|(text, _)| *text == sign);
        let relation = relation.ok_or_else(|| MomentError(format!("{sign:?} is no comparison")))?.1;
        let number = self.number("a number")?;
        let (mut nth, mut after) = (0, 0.0);
        while let Some(word) = self.0.next() {
            match word.strip_prefix('#').map(str::parse::<usize>) {
                Some(Ok(n)) if n > 0 => nth = n - 1,
                None if word == "after" => after = self.seconds()?,
                _ => return Err(MomentError(format!("{word:?} is neither #N, from 1, nor \"after\""))),
            }
        }
        Ok(Condition { metric, relation, number, nth, after })
    }
}

impl Moment {
    /// Reads a text; `None` if it is a single word, the name of a metric of the summary.
    pub(super) fn parse(text: &str) -> Result<Option<Moment>, MomentError> {
        if !text.trim().contains(char::is_whitespace) {
            return Ok(None);
        }
        let mut words = Words(text.split_whitespace().peekable());
        let moment = Moment::read(&mut words)?;
        match words.0.next() {
            None => Ok(Some(moment)),
            Some(word) => Err(MomentError(format!("{word:?} is too much"))),
        }
    }
    fn read(words: &mut Words<'_>) -> Result<Moment, MomentError> {
        let bare = |clause| Moment { value: String::new(), divisor: None, clause };
        if words.take("count") {
            return Ok(bare(Clause::Count(words.condition()?)));
        }
        if words.take("length") {
            return match words.next("while")? {
                "while" => Ok(bare(Clause::Length(words.condition()?))),
                word => Err(MomentError(format!("{word:?} stands where while belongs"))),
            };
        }
        let extremes = [("max", Extreme::Max), ("min", Extreme::Min), ("change", Extreme::Change)];
        let extreme = extremes.into_iter().find(|(word, _)| words.take(word)).map(|(_, extreme)| extreme);
        let value = words.next("a metric")?.to_owned();
        let divisor = if words.take("/") { Some(words.next("a metric or an axis")?.to_owned()) } else { None };
        let clause = match (words.next("when, before, at or while")?, extreme) {
            ("when", None) => Clause::When(words.condition()?),
            ("before", None) => Clause::Before(words.condition()?),
            ("at", None) => Clause::At(words.seconds()?),
            ("while", Some(extreme)) => Clause::While(extreme, words.condition()?),
            (word, _) => return Err(MomentError(format!("{word:?} does not go with this value"))),
        };
        Ok(Moment { value, divisor, clause })
    }

    /// Returns the metrics that it reads, and the axis or metric that it divides by.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let condition = match &self.clause {
            Clause::When(c) | Clause::Before(c) | Clause::While(_, c) | Clause::Length(c) | Clause::Count(c) => Some(c),
            Clause::At(_) => None,
        };
        let value = Some(self.value.as_str()).filter(|name| !name.is_empty() && *name != "time");
        value.into_iter().chain(condition.map(|c| c.metric.as_str())).chain(self.divisor.as_deref())
    }

    /// Returns the value in a run: `series` has its quantities, `axis` the numbers of its axes. `None` if there is no such
    /// moment.
    pub(super) fn evaluate(&self, series: &BTreeMap<&str, Series>, axis: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let of = |name: &str, t: f64, before: bool| match name {
            "time" => Some(t),
            name => series.get(name).map_or_else(|| axis(name), |series| value_at(series, t, before)),
        };
        let value = |t: f64, before: bool| {
            let value = of(&self.value, t, before)?;
            self.divisor.as_ref().map_or(Some(value), |name| Some(value / of(name, t, before)?))
        };
        let phases = |c: &Condition| phases(series.get(c.metric.as_str())?, c).nth(c.nth);
        match &self.clause {
            Clause::When(c) => value(phases(c)?.0, false),
            Clause::Before(c) => value(phases(c)?.0, true),
            Clause::At(t) => value(*t, false),
            // A phase that the run ends has no length.
            Clause::Length(c) => phases(c).map(|(from, to)| to - from).filter(|length| length.is_finite()),
            Clause::Count(c) => {
                let series = series.get(c.metric.as_str());
                Some(series.map_or(0, |series| self::phases(series, c).count()) as f64)
            }
            Clause::While(extreme, c) => {
                let (from, to) = phases(c)?;
                let inside = series.get(self.value.as_str()).into_iter().flatten();
                let instants = inside.map(|&(t, _)| t).filter(|&t| t > from && t < to);
                let values = || std::iter::once(from).chain(instants.clone()).filter_map(|t| value(t, false));
                match extreme {
                    Extreme::Max => values().reduce(f64::max),
                    Extreme::Min => values().reduce(f64::min),
                    Extreme::Change => Some(value(to, true)? - value(from, false)?),
                }
            }
        }
    }
}

/// Returns the value at `t`, or just before it.
fn value_at(series: &[(f64, f64)], t: f64, before: bool) -> Option<f64> {
    let passed = series.partition_point(|&(at, _)| if before { at < t } else { at <= t });
    Some(series[passed.checked_sub(1)?].1)
}

/// Returns the phases in which the condition holds and that begin at or after its time; one that the run ends is without
/// end.
fn phases(series: &[(f64, f64)], c: &Condition) -> impl Iterator<Item = (f64, f64)> {
    let mut rest = series.iter();
    std::iter::from_fn(move || {
        let &(from, _) = rest.find(|&&(_, value)| c.relation.holds(value, c.number))?;
        let to = rest.find(|&&(_, value)| !c.relation.holds(value, c.number)).map_or(f64::INFINITY, |&(t, _)| t);
        Some((from, to))
    })
    .filter(move |&(from, _)| from >= c.after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let state = vec![(0.0, 0.0), (2.0, 1.0), (3.0, 2.0), (5.0, 1.0), (9.0, 0.0)];
        let rate = vec![(0.0, 10.0), (1.0, 40.0), (3.0, 20.0), (4.0, 30.0), (6.0, 50.0)];
        let bound = vec![(0.0, 5.0), (4.5, 10.0)];
        let series = [("state", state), ("rate", rate), ("bound", bound)].into();
        let moment = Moment::parse(text).unwrap().unwrap();
        moment.evaluate(&series, |axis| (axis == "link.x.rate").then_some(100.0))
    }

    #[test]
    fn values_at_moments() {
        for (text, expected) in [
            ("rate when state = 1", 40.0),
            ("rate when state = 1 #2", 30.0),
            ("rate when state = 1 after 2.5 s", 30.0),
            ("rate when state >= 1", 40.0),
            ("rate before state = 2", 40.0),
            ("rate when state = 2", 20.0),
            ("rate at 4.4 s", 30.0),
            ("rate / bound at 4.4 s", 6.0),
            ("rate / link.x.rate at 7 s", 0.5),
            ("time when rate > 45", 6.0),
            ("max rate while state = 0", 40.0),
            ("min rate while state = 2", 20.0),
            ("change rate while state = 1 #2", 20.0),
            ("max rate / bound while state = 1 #2", 5.0),
            ("length while state = 1", 1.0),
            ("length while state = 1 #2", 4.0),
            ("count state = 1", 2.0),
            ("count state = 7", 0.0),
            ("count state != 0", 1.0),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        for none in [
            "length while state = 0 #2",
            "rate when state = 4",
            "rate when state = 1 #3",
            "other at 1 s",
            "rate / other at 1 s",
        ] {
            assert_eq!(value(none), None, "{none}");
        }
    }

    #[test]
    fn wrong_texts_are_refused() {
        assert_eq!(Moment::parse("goodput"), Ok(None));
        for (text, message) in [
            ("rate when", "a metric is missing"),
            ("rate when state", "a comparison is missing"),
            ("rate when state is 1", "\"is\" is no comparison"),
            ("rate when state = one", "\"one\" is no number"),
            ("rate when state = 1 #0", "\"#0\" is neither #N"),
            ("rate at 3 ms", "\"ms\" is no unit of time"),
            ("max rate when state = 1", "\"when\" does not go with this value"),
            ("rate while state = 1", "\"while\" does not go with this value"),
            ("rate at 3 s now", "\"now\" is too much"),
            ("length of state = 1", "\"of\" stands where while belongs"),
        ] {
            let error = Moment::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message) && error.contains("; accepted: METRIC when"), "{text}: {error}");
        }
    }
}
