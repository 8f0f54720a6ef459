//! One run of a scenario, advanced by its page.

use cellway_record::{Counts, RunRecord, Source};
use cellway_scenario::AxisValue;
use cellway_sim::{Advanced, Slices};
use cellway_units::Time;
use serde_json::{Map, Value, json};

use crate::request::{Refused, Request, workloads};
use crate::tables;

/// One run.
pub struct Job {
    /// Its source in the tables.
    about: Map<String, Value>,
    state: State,
}

/// A run after a slice, or the reason for which it has failed.
pub(crate) type Progress = Result<Advanced<'static>, cellway_sim::Error>;

enum State {
    Runs(Box<Slices<'static>>),
    Ended(RunRecord),
    /// With the reason.
    Failed(String),
}

impl Job {
    /// Begins the run that a request names.
    ///
    /// # Errors
    /// The answer of [`crate::check`] to a request that cannot be run.
    pub fn begin(request: &Request) -> Result<Job, Value> {
        Job::begun(request).map_err(|Refused(answer)| answer)
    }

    fn begun(request: &Request) -> Result<Job, Refused> {
        let plan = request.plan()?;
        let (points, run) = (request.points(&plan)?, &plan.base().run);
        let point = points.get(request.point).ok_or_else(|| {
            let last = points.len() - 1;
            Refused::in_words(format!("there is no point {}; accepted: 0 to {last}", request.point))
        })?;
        if request.replication >= run.seeds {
            let (given, last) = (request.replication, run.seeds - 1);
            return Err(Refused::in_words(format!("there is no replication {given}; accepted: 0 to {last}")));
        }
        let seed = run.seed + request.replication;
        let slices = Slices::new(&point.scenario, workloads(&plan, point)?, seed).map_err(Refused::in_words)?;
        let axes = point.axes.iter().map(|(name, value)| match value {
            AxisValue::Text(text) => json!([name, text]),
            AxisValue::Number(number) => json!([name, number]),
        });
        let mut about = Map::new();
        about.insert("name".to_owned(), json!(plan.base().name));
        about.insert("source".to_owned(), json!(Source::Simulate.word()));
        about.insert("point".to_owned(), json!(point.index));
        about.insert("seed".to_owned(), json!(seed));
        about.insert("axes".to_owned(), axes.collect());
        about.insert("duration_s".to_owned(), json!(point.scenario.run.duration.as_secs_f64()));
        Ok(Job { about, state: State::Runs(slices) })
    }

    /// Advances by up to `instants` instants in which a packet or a timer reaches a host. Returns the part of the simulated
    /// time that is behind it, which is 1 at the end only.
    ///
    /// # Errors
    /// The reason in words if the run has failed.
    pub fn advance(&mut self, instants: u64) -> Result<f64, String> {
        self.go_on(|slices| slices.advance(instants))
    }

    /// Advances the run by one of the functions of [`Slices`]; returns as [`Job::advance`].
    pub(crate) fn go_on(&mut self, advance: impl FnOnce(Box<Slices<'static>>) -> Progress) -> Result<f64, String> {
        // A run that fails in the middle of a slice is gone.
        let state = std::mem::replace(&mut self.state, State::Failed("the simulator has failed".to_owned()));
        self.state = match state {
            State::Runs(slices) => match advance(slices) {
                Ok(Advanced::Runs(slices)) => State::Runs(slices),
                Ok(Advanced::Ended(record)) => State::Ended(record),
                Err(error) => State::Failed(error.to_string()),
            },
            ended => ended,
        };
        match &self.state {
            State::Runs(slices) => {
                let [now, end] = [slices.now(), slices.end()].map(|at| (at - Time::ZERO).as_secs_f64());
                // A long run may be so near to its end that the quotient is rounded to 1.
                Ok((now / end).min(1.0 - f64::EPSILON))
            }
            State::Ended(_) => Ok(1.0),
            State::Failed(why) => Err(why.clone()),
        }
    }

    /// Returns the tables of a run in progress, with the series up to now and an empty summary, or `None` if it has ended.
    pub fn so_far(&self) -> Option<Vec<u8>> {
        let State::Runs(slices) = &self.state else { return None };
        let counts = Counts { simulated: slices.now() - Time::ZERO, ..Counts::default() };
        Some(tables::octets(&self.about, &RunRecord { summary: Vec::new(), series: slices.so_far(), counts }))
    }

    /// Returns its tables as octets, or `None` before its end. See [`crate::exports`] for their form.
    pub fn tables(&self) -> Option<Vec<u8>> {
        match &self.state {
            State::Ended(record) => Some(tables::octets(&self.about, record)),
            State::Runs(_) | State::Failed(_) => None,
        }
    }

    /// Returns the run while it has not ended.
    pub(crate) fn running(&self) -> Option<&Slices<'static>> {
        match &self.state {
            State::Runs(slices) => Some(slices),
            State::Ended(_) | State::Failed(_) => None,
        }
    }
}
