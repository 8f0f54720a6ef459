//! The request of a page, and its plan.

use cellway_apps::GroupWorkload;
use cellway_scenario::{AppFile, Error, Override, Plan, Point, refusal, refusal_in_words};
use serde::Deserialize;
use serde_json::Value;

/// The name of the text in messages.
pub(crate) const NAME: &str = "scenario.toml";

/// The most points of a sweep. In a page the check of 2,000 takes about a second.
const MOST_POINTS: usize = 2_000;

/// A scenario, and which of its runs is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The text of the scenario.
    pub text: String,
    /// Keys to set before it is checked, each with its value, as `--set` of the command line.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// The point of its sweep, from 0.
    #[serde(default)]
    pub point: usize,
    /// The replication, from 0: the seed is that of the scenario and this number more.
    #[serde(default)]
    pub replication: u64,
}

/// A reason to run nothing: the answer to the page.
pub(crate) struct Refused(pub(crate) Value);

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused(refusal(&error))
    }
}

impl Refused {
    pub(crate) fn in_words(message: impl ToString) -> Refused {
        Refused(refusal_in_words(&message.to_string()))
    }
}

impl Request {
    pub(crate) fn overrides(&self) -> Vec<Override> {
        self.set.iter().map(|(path, value)| Override::new(path, value)).collect()
    }

    /// Reads the text; the points of its sweep are not checked.
    pub(crate) fn plan(&self) -> Result<Plan, Refused> {
        Ok(Plan::parse_with(&self.text, NAME, &self.overrides(), None)?)
    }

    /// Returns the checked points of its sweep.
    ///
    /// # Errors
    /// Those of the points; and more points than a page checks at a time.
    pub(crate) fn points(&self, plan: &Plan) -> Result<Vec<Point>, Refused> {
        match plan.point_count() {
            many if many > MOST_POINTS => Err(Refused::in_words(format!(
                "the sweep has {many} points; accepted: at most {MOST_POINTS} in a page; the command line runs this \
                 scenario"
            ))),
            _ => Ok(plan.points()?),
        }
    }
}

/// Returns the workload of each traffic group at a point.
///
/// # Errors
/// If the point names a file: a page has none.
pub(crate) fn workloads(plan: &Plan, point: &Point) -> Result<Vec<GroupWorkload>, Refused> {
    let message = |path: &str| format!("{path:?} is a file, and a page reads none");
    for (index, link) in point.scenario.links.iter().enumerate() {
        for (number, direction) in link.directions.iter().enumerate() {
            if let Some((key, path, _)) = direction.trace.files().next() {
                let message = message(&path.to_string_lossy());
                let accepted = "a link without a recording; the command line runs this scenario";
                return Err(plan.refuse_trace(point.index, (index, number), key, &message, accepted).into());
            }
        }
    }
    let workload = |(group, traffic): (usize, &cellway_scenario::Traffic)| {
        if let Some((file, key)) = traffic.app().and_then(|app| app.file()) {
            let accepted = match file {
                AppFile::Workload { .. } => "an application without a file; the command line runs this scenario",
                _ => "a distribution without a file; the command line runs this scenario",
            };
            return Err(plan.refuse_traffic(point.index, group, key, &message(file.path()), accepted).into());
        }
        cellway_sim::workload(traffic, None).map_err(Refused::in_words)
    };
    point.scenario.traffic.iter().enumerate().map(workload).collect()
}
