//! A plan: a scenario file with overrides applied, and the points of its sweep.

use std::fmt;
use std::str::FromStr;

use crate::check;
use crate::effect;
use crate::excess;
use crate::found::{self, Found, Problems, Source, Sources};
use crate::model::{Direction, Scenario};
use crate::path;
use crate::problem::{Error, Problem};
use crate::schema;
use crate::shape;
use crate::sweep::{self, Axis};
use crate::tree::{Node, Step, at};
use crate::unused;

/// A key and the value to set it to, as `--set key=value` writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Override {
    /// The path of the key: dotted, elements by name, `*` for all: `traffic.*.count`.
    pub path: String,
    /// The value as TOML text; text that is no TOML value is taken as a string.
    pub value: String,
}

impl Override {
    /// `path` set to the value that `value` writes.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Override {
        Override { path: path.into(), value: value.into() }
    }
}

/// A text that is not of the form `key=value`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not of the form key=value, like traffic.ftp.count=3")]
pub struct OverrideError {
    /// The given value.
    pub text: String,
}

impl FromStr for Override {
    type Err = OverrideError;
    fn from_str(text: &str) -> Result<Override, OverrideError> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => Ok(Override::new(path.trim(), value.trim())),
            _ => Err(OverrideError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

/// A sweep given by a program in place of the file's. Without axes and variants: no sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepSpec {
    /// Paths and the values to try, each as TOML text; the first axis varies slowest.
    pub axes: Vec<(String, Vec<String>)>,
    /// One more axis, varying fastest.
    pub variants: Vec<VariantSpec>,
}

/// A named setting of several keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantSpec {
    /// Its name in the results.
    pub name: String,
    /// Its settings.
    pub set: Vec<Override>,
}

/// The name of a value of an axis in results.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValue {
    /// A word, a quantity, the name of a variant.
    Text(String),
    /// A number.
    Number(f64),
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisValue::Text(text) => f.pad(text),
            AxisValue::Number(number) => f.pad(&number.to_string()),
        }
    }
}

/// One combination of the axes' values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its place in the plan, from 0.
    pub index: usize,
    /// The name and the value of each axis, in the order of the plan.
    pub axes: Vec<(String, AxisValue)>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

/// A scenario file that was found right, with its sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    sources: Sources,
    tree: Node,
    axes: Vec<Axis>,
    swept: Vec<Vec<Step>>,
    base: Scenario,
    overrides: Vec<Override>,
}

impl Plan {
    /// Reads and checks a scenario file; `file_name` is for messages only.
    ///
    /// # Errors
    /// If anything is wrong with the file itself or with what its sweep names. Whether each
    /// point of the sweep is right is checked by [`Plan::points`].
    pub fn parse(text: &str, file_name: &str) -> Result<Plan, Error> {
        Plan::parse_with(text, file_name, &[], None)
    }

    /// The same with keys overridden, in order, and with the file's sweep replaced if `sweep` is
    /// given.
    ///
    /// # Errors
    /// As for [`Plan::parse`]; also if an override names no key, or one that the sweep sets.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        sweep: Option<SweepSpec>,
    ) -> Result<Plan, Error> {
        let file = Source { setting: None, text: text.to_owned() };
        let mut sources = Sources { file: file_name.to_owned(), all: vec![file] };
        let mut tree = Node::parse(text, 0).map_err(|found| found::error_of(&sources, found))?;
        let mut found = Vec::new();
        let fixed = apply(&mut tree, overrides, &mut sources, &mut found);
        // The shape of the sweep itself; that of the rest is looked at again with the rest.
        found.extend(shape::check(&mut tree.clone(), schema::root()).into_iter().filter(is_in_sweep));
        let axes = match &sweep {
            None => sweep::from_tree(&mut tree, &fixed, &mut found),
            Some(spec) => sweep::from_spec(&mut tree, spec, &mut sources, &fixed, &mut found),
        };
        let settings = || axes.iter().flat_map(|axis| &axis.choices).flat_map(|choice| &choice.settings);
        let swept = settings().map(|(target, _)| target.clone()).collect::<Vec<_>>();
        match check::check(tree.clone(), &swept) {
            Ok(base) if found.is_empty() => {
                Ok(Plan { sources, tree, axes, swept, base, overrides: overrides.to_vec() })
            }
            refused => {
                found.extend(refused.err().unwrap_or_default());
                Err(found::error_of(&sources, found))
            }
        }
    }

    /// The scenario as the file and the overrides have it, without the sweep.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// The name and the values of each axis; empty without a sweep.
    pub fn axes(&self) -> Vec<(&str, Vec<&AxisValue>)> {
        self.axes.iter().map(|axis| (axis.name.as_str(), axis.choices.iter().map(|c| &c.value).collect())).collect()
    }

    /// The number of points: 1 without a sweep.
    pub fn point_count(&self) -> usize {
        self.axes.iter().map(|axis| axis.choices.len()).product()
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.sources.all[0].text
    }

    /// The keys that were overridden, in order: with the text of the file, all that was asked for.
    pub fn overrides(&self) -> &[Override] {
        &self.overrides
    }

    /// The name of the file, as it was handed in.
    pub fn file_name(&self) -> &str {
        &self.sources.file
    }

    /// Every combination of the axes' values, the first axis varying slowest; one point without
    /// axes if there is no sweep.
    ///
    /// # Errors
    /// Everything that is wrong with any point, each problem once, with the first point that
    /// shows it.
    pub fn points(&self) -> Result<Vec<Point>, Error> {
        let mut points = Vec::new();
        let mut problems = Problems::default();
        for index in 0..self.point_count() {
            let choices = self.choices(index);
            let tree = self.tree_at(&choices);
            let axes: Vec<(String, AxisValue)> = self
                .axes
                .iter()
                .zip(&choices)
                .map(|(axis, choice)| (axis.name.clone(), axis.choices[*choice].value.clone()))
                .collect();
            match check::check(tree, &self.swept) {
                Ok(scenario) => points.push(Point { index, axes, scenario }),
                Err(found) => problems.add(found, self.told(&choices).as_deref()),
            }
        }
        if problems.is_empty() { Ok(points) } else { Err(found::error(&self.sources, problems)) }
    }

    /// Returns warnings about keys and axes that have no effect at any of `points`, which must be all points of this
    /// plan. Each has its location in the file, without an excerpt.
    pub fn warnings(&self, points: &[Point]) -> Vec<Problem> {
        let mut found = effect::warnings(&self.tree, &self.axes, points);
        found.extend(unused::warnings(&self.tree, points));
        found.extend(excess::warnings(&self.tree, points));
        found.sort_by_key(|found| found.at);
        let told = |found: &Found| self.sources.tell(found, None).without_excerpt();
        found.iter().map(told).collect()
    }

    /// Returns the tree with these choices of the axes.
    fn tree_at(&self, choices: &[usize]) -> Node {
        let mut tree = self.tree.clone();
        for (axis, choice) in self.axes.iter().zip(choices) {
            for (target, value) in &axis.choices[*choice].settings {
                path::set(&mut tree, target, value.clone());
            }
        }
        tree
    }

    /// Returns the error that the key of traffic group `group` at `path` cannot be used at point `index`, with its location
    /// in this file. For callers that find the fault outside the scenario file, such as in a table that cannot be read.
    pub fn refuse_traffic(&self, index: usize, group: usize, path: &[&str], message: &str, accepted: &str) -> Error {
        let keys = path.iter().map(|key| Step::from(*key));
        let path: Vec<Step> = at!["traffic", group].into_iter().chain(keys).collect();
        self.refuse_at(index, &path, message, accepted)
    }

    fn refuse_at(&self, index: usize, path: &[Step], message: &str, accepted: &str) -> Error {
        let choices = self.choices(index);
        let found = Found::in_tree(&self.tree_at(&choices), path, message).accepted(accepted);
        let mut problems = Problems::default();
        problems.add([found], self.told(&choices).as_deref());
        found::error(&self.sources, problems)
    }

    /// Returns the error that the recording that `key` of `trace` names cannot be used for a direction (0 or 1) of a link at
    /// point `index`, with its location in this file.
    pub fn refuse_trace(
        &self,
        index: usize,
        (link, direction): (usize, usize),
        key: &str,
        message: &str,
        accepted: &str,
    ) -> Error {
        let tree = self.tree_at(&self.choices(index));
        let paths = [Direction::TABLES[direction], "both"].map(|table| at!["link", link, table, "trace", key]);
        let path = paths.iter().find(|path| tree.find(&path[..]).is_some()).unwrap_or(&paths[0]);
        self.refuse_at(index, path, message, accepted)
    }

    /// Which choice of each axis makes point `index`.
    fn choices(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut choices: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let choice = rest % axis.choices.len();
                rest /= axis.choices.len();
                choice
            })
            .collect();
        choices.reverse();
        choices
    }

    /// The axis values of a point, for messages.
    fn told(&self, choices: &[usize]) -> Option<String> {
        let told: Vec<String> = self
            .axes
            .iter()
            .zip(choices)
            .map(|(axis, choice)| match &axis.choices[*choice].value {
                AxisValue::Text(text) => format!("{} = {text:?}", axis.name),
                AxisValue::Number(number) => format!("{} = {number}", axis.name),
            })
            .collect();
        (!told.is_empty()).then(|| format!("in the sweep, with {}", told.join(", ")))
    }
}

/// Writes the overrides into `tree`; returns the places that they set.
fn apply(tree: &mut Node, overrides: &[Override], sources: &mut Sources, found: &mut Vec<Found>) -> Vec<Vec<Step>> {
    let mut fixed = Vec::new();
    for Override { path, value } in overrides {
        let source = sources.add(format!("override {path} = {value}"), value.clone());
        let node = Node::parse_value(value, source);
        match path::resolve(tree, path) {
            Ok(targets) => {
                for target in targets {
                    path::set(tree, &target, node.clone());
                    fixed.push(target);
                }
            }
            Err(reason) => found.push(reason.found(node.at, path)),
        }
    }
    fixed
}

fn is_in_sweep(found: &Found) -> bool {
    found.key == "sweep" || found.key.starts_with("sweep.") || found.key.starts_with("sweep[")
}
