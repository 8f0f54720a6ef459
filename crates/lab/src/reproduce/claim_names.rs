//! The names in a claim, compared with the scenario of its study before anything runs: a misspelled one would have no
//! value, and its claim would be "not measured".

use std::collections::BTreeSet;

use cellway_record::metric::{self, Definition, Recorded, Subject};
use cellway_scenario::{NodeKind, Point, Scenario};

use super::claim::Claim;
use super::moment::Moment;
use super::paper::Paper;
use super::select::Selected;
use super::studies::Study;
use super::values::{At, lies_at};
use crate::error::Error;
use crate::metrics::did_you_mean;
use crate::study::axis_value;

/// The most names that an error lists.
const LISTED: usize = 12;

impl Selected {
    /// Compares the names in the selected claims with the studies that they need.
    ///
    /// # Errors
    /// A metric, a subject, an axis or a point that a study does not have; an equation without a value.
    pub(super) fn check_names(&self) -> Result<(), Error> {
        for claim in &self.claims {
            claim.predicted().map_err(|error| self.paper.claim_error(claim, &format!("predict: {error}")))?;
        }
        let studies = self.paper.studies().study;
        for study in studies.iter().filter(|study| self.claims.iter().any(|claim| claim.uses(&study.id))) {
            let points = self.paper.plan(study, false)?.points()?;
            for claim in &self.claims {
                if let Some(fault) = claim.unknown_name(study, &points) {
                    return Err(self.paper.claim_error(claim, &fault));
                }
            }
        }
        Ok(())
    }
}

impl Paper {
    fn claim_error(&self, claim: &Claim, fault: &str) -> Error {
        let path = std::path::Path::new(self.folder).join("expected.toml");
        Error::Experiments { path, message: format!("claim {:?}: {fault}", claim.id) }
    }
}

impl Claim {
    fn uses(&self, id: &str) -> bool {
        self.figures().iter().any(|(study, _)| *study == id)
    }

    /// Returns an error for a name in the claim that `study` does not have: a subject, metric, axis or axis value.
    pub(super) fn unknown_name(&self, study: &Study, points: &[Point]) -> Option<String> {
        let figures = self.figures().into_iter().filter(|(id, _)| *id == study.id);
        let places = self.places().into_iter().filter(|(id, _)| *id == study.id);
        let crossed = self.axis.iter().filter(|_| self.study.as_ref() == Some(&study.id));
        figures
            .filter_map(|(_, (subject, metric))| unknown_figure(&subject, &metric, study, points))
            .chain(places.filter_map(|(_, at)| unknown_place(at, study, points, !self.crosses())))
            .chain(crossed.filter_map(|axis| unknown_axis(axis, study, points)))
            .next()
            .or_else(|| self.domain.as_ref().and_then(|name| unknown_metric(name)))
    }
}

fn unknown_metric(name: &str) -> Option<String> {
    let known = || metric::all().map(Definition::name);
    let refusal =
        || format!("no metric is called {name:?}{}; `cellway metrics` lists all", did_you_mean(name, known()));
    metric::named(name).next().is_none().then(refusal)
}

fn unknown_figure(subject: &str, metric: &str, study: &Study, points: &[Point]) -> Option<String> {
    let kinds: BTreeSet<&str> =
        points.iter().flat_map(|point| kinds_of(subject, &point.scenario)).map(Subject::word).collect();
    let id = &study.id;
    if kinds.is_empty() {
        let names = subjects(points);
        let meant = did_you_mean(subject, names.iter().map(String::as_str));
        return Some(format!("study {id:?} has no subject {subject:?}{meant}; accepted: {}", listed(&names)));
    }
    // A program has metrics of its own.
    if kinds.contains(Subject::Command.word()) {
        return None;
    }
    let moment = match Moment::parse(metric) {
        Ok(None) => None,
        Ok(Some(moment)) => Some(moment),
        Err(error) => return Some(format!("metric {metric:?}: {error}")),
    };
    let source = study.driver.source().recorded();
    let of_kind = |m: &&Definition| m.subjects().iter().any(|subject| kinds.contains(subject.word()));
    let has = |m: &&Definition| of_kind(m) && m.recorded().contains(&Recorded::Summary) && m.seen_by(source);
    if let Some(moment) = moment {
        let has = |m: &&Definition| of_kind(m) && m.seen_by(source) && *m.recorded() != [Recorded::Summary];
        let series: BTreeSet<String> = metric::all().filter(has).map(|m| m.name().to_owned()).collect();
        let is_axis = |name: &str| points.iter().flat_map(|point| &point.axes).any(|(axis, _)| axis == name);
        let unknown = moment.names().find(|name| !series.contains(*name) && !is_axis(name));
        return unknown.map(|name| {
            let meant = did_you_mean(name, series.iter().map(String::as_str));
            format!(
                "the series of study {id:?} have no metric {name:?} of {subject:?}{meant}; accepted: {}",
                listed(&series)
            )
        });
    }
    unknown_metric(metric).or_else(|| {
        let names: BTreeSet<String> = metric::all().filter(has).map(|m| m.name().to_owned()).collect();
        let refusal = || {
            let kind = kinds.iter().copied().collect::<Vec<_>>().join(" or ");
            format!(
                "the summary of study {id:?} has no metric {metric:?} of {subject:?} (a {kind}); accepted: {}",
                listed(&names)
            )
        };
        (!names.contains(metric)).then(refusal)
    })
}

fn unknown_axis(axis: &str, study: &Study, points: &[Point]) -> Option<String> {
    let axes: BTreeSet<String> = points.iter().flat_map(|point| &point.axes).map(|(name, _)| name.clone()).collect();
    let refusal = || {
        let meant = did_you_mean(axis, axes.iter().map(String::as_str));
        format!("study {:?} has no axis {axis:?}{meant}; accepted: {}", study.id, listed(&axes))
    };
    (!axes.contains(axis)).then(refusal)
}

/// Returns an error if `at` selects no point of the study, or several where the claim needs exactly `one`.
fn unknown_place(at: &At, study: &Study, points: &[Point], one: bool) -> Option<String> {
    if let Some(unknown) = at.keys().find_map(|axis| unknown_axis(axis, study, points)) {
        return Some(unknown);
    }
    let lies = |point: &&Point| {
        let axes: Vec<_> = point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        lies_at(&axes, at)
    };
    match points.iter().filter(lies).count() {
        0 => {
            let axes = at.keys().map(|axis| {
                let mut values: Vec<String> = Vec::new();
                let all = points.iter().flat_map(|point| &point.axes).filter(|(name, _)| name == axis);
                for text in all.map(|(_, value)| value.to_string()) {
                    if !values.contains(&text) {
                        values.push(text);
                    }
                }
                format!("{axis} = {}", values.join(", "))
            });
            let accepted = axes.collect::<Vec<_>>().join("; ");
            Some(format!("no point of study {:?} lies at {}; accepted: {accepted}", study.id, shown(at)))
        }
        found if found > 1 && one => {
            let open = points[0].axes.iter().map(|(name, _)| name).find(|name| !at.contains_key(*name));
            let open = open.map_or_else(String::new, |name| format!("; a value of {name:?} is missing"));
            Some(format!("{found} points of study {:?} lie at {}, and one is measured{open}", study.id, shown(at)))
        }
        _ => None,
    }
}

fn shown(at: &At) -> String {
    let values = at.iter().map(|(axis, value)| format!("{axis} = {value}")).collect::<Vec<_>>();
    format!("{{ {} }}", values.join(", "))
}

fn listed(names: &BTreeSet<String>) -> String {
    let first = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".to_owned(),
        all if all > LISTED => format!("{first} and {} more", all - LISTED),
        _ => first,
    }
}

/// Returns what the results of `scenario` call `subject`: a port, a slot, a group...; empty if nothing has the name.
fn kinds_of(subject: &str, scenario: &Scenario) -> Vec<Subject> {
    let node = |name: &str| scenario.nodes.iter().find(|node| node.name == name);
    let is_gateway = |name: &str| node(name).is_some_and(|node| node.kind == NodeKind::Gateway);
    let slot = |name: &str| {
        let number = |group: &str| name.strip_prefix(group)?.strip_prefix('-')?.parse::<u32>().ok();
        let of_group = |(group, count): (&str, u32)| {
            number(group).is_some_and(|k| (1..=count).contains(&k) && format!("{group}-{k}") == name)
        };
        scenario.traffic.iter().any(|traffic| of_group((&traffic.name, traffic.count)))
    };
    // A host of a slot has ports to its router if the access link loses packets.
    let access = |from: &str, to: &str| {
        let host = |name: &str| slot(name.strip_suffix("-sink").unwrap_or(name));
        (host(from) && node(to).is_some()) || (node(from).is_some() && host(to))
    };
    let port = scenario.port_names().iter().flatten().any(|name| name == subject)
        || subject.split_once('>').is_some_and(|(from, to)| access(from, to));
    let class = subject.split_once('/').is_some_and(|(gateway, class)| {
        // Connections of no class are in one of this name.
        is_gateway(gateway) && scenario.classes.iter().any(|known| known.name == class || class == "default")
    });
    let checks = [
        (Subject::Port, port),
        (Subject::Slot, slot(subject)),
        (Subject::Group, scenario.traffic.iter().any(|traffic| traffic.name == subject)),
        (Subject::Set, scenario.observe.sets.iter().any(|set| set.name == subject)),
        (Subject::Network, subject == "network"),
        (Subject::Gateway, is_gateway(subject)),
        (Subject::Class, class),
        (Subject::Command, scenario.commands.iter().any(|command| command.name == subject)),
        (Subject::Emulation, subject == "emulation"),
    ];
    checks.into_iter().filter_map(|(kind, is)| is.then_some(kind)).collect()
}

/// Returns the names to suggest. Of the slots of a group these are the first and the last.
fn subjects(points: &[Point]) -> BTreeSet<String> {
    let of_point = |point: &Point| {
        let scenario = &point.scenario;
        let groups = scenario.traffic.iter().filter(|traffic| traffic.count > 0);
        let traffic = groups.flat_map(|t| [t.name.clone(), t.slot(1), t.slot(t.count)]);
        let gateways =
            scenario.nodes.iter().filter(|node| node.kind == NodeKind::Gateway).map(|node| node.name.clone());
        let classes = gateways
            .clone()
            .flat_map(|gateway| scenario.classes.iter().map(move |class| format!("{gateway}/{}", class.name)));
        let programs = scenario.commands.iter().map(|command| command.name.clone());
        let ports = scenario.port_names().into_iter().flatten();
        let all = traffic.chain(gateways).chain(classes).chain(programs).chain(ports);
        all.chain(["network".to_owned()]).collect::<Vec<_>>()
    };
    points.iter().flat_map(of_point).collect()
}
