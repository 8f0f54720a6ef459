//! Programs that an emulation starts, and its limits.

use std::collections::BTreeMap;

use cellway_units::Span;

use crate::check::network::Network;
use crate::check::traffic::reserved;
use crate::check::{Check, listed};
use crate::file::{CommandFile, FigureFile, RunFile};
use crate::found::Found;
use crate::model::{
    Attachment, Command, CommandHost, Emulate, EmulateKeys, Figure, FigureSource, Node, NodeIndex, NodeKind, Ready,
    Run, Slot, Traffic, host_variable,
};
use crate::problem::nearest;
use crate::quantity::RttSpan;
use crate::tree::{Step, at};

/// Metrics that the results have of every program.
const EVERY_PROGRAM: [&str; 2] = ["failed", "exit_status"];

/// Returns the path of `key` of command `i`.
fn path(i: usize, key: &str) -> Vec<Step> {
    at!["run", "command", i, key].to_vec()
}

impl Check<'_> {
    pub(super) fn emulate(&self, keys: Option<EmulateKeys>) -> Option<Emulate> {
        let bad = self.any_bad(&at!["run", "emulate"]) || self.any_bad(&at!["run", "emulate", "gateway"]);
        (!bad).then(|| keys.unwrap_or_default().resolve())?
    }

    pub(super) fn commands(
        &mut self,
        file: Option<&RunFile>,
        network: &Network,
        traffic: &[Traffic],
        run: &Run,
    ) -> Option<Vec<Command>> {
        let before = self.found.len();
        let Some(files) = file?.command.as_ref()? else { return Some(Vec::new()) };
        self.variables(network, traffic);
        let names = self.command_names(files, traffic);
        let mut commands = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let host = file.host.as_deref().and_then(|host| self.command_host(i, host, network, traffic));
            let words = file.run.as_deref().and_then(|words| self.words(i, words));
            let times = self.times(i, file, run);
            let ready = self.ready(i, file);
            let figures = self.figures(i, listed(&file.figure));
            let bad = ["name", "host", "run", "start", "stop", "expect", "ready", "figure"].iter();
            if bad.into_iter().any(|key| self.is_bad(&path(i, key))) {
                return None;
            }
            let (Some(name), Some(host), Some(run), Some((start, stop)), Some(ready), Some(figures)) =
                (names[i].clone(), host, words, times, ready, figures)
            else {
                continue;
            };
            // A slot that the count of another point has: there is nothing to run here.
            let Some(host) = host else { continue };
            let expect = u8::try_from(file.expect?).ok()?;
            commands.push(Command { name, host, run, start, stop, expect, ready, figures });
        }
        (self.found.len() == before).then_some(commands)
    }

    /// Names as given, or by host and place; each once, and none that results use for something else.
    fn command_names(&mut self, files: &[CommandFile], traffic: &[Traffic]) -> Vec<Option<String>> {
        let mut names: Vec<Option<String>> = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let at = path(i, "name");
            let name = match (&file.name, &file.host) {
                (Some(Some(name)), _) => self.name(&at, Some(name)).map(str::to_owned),
                (Some(None), Some(host)) => Some(format!("{host}-command-{}", i + 1)),
                _ => None,
            };
            if let Some(name) = &name {
                let place = if self.is_given(&at) { at } else { at!["run", "command", i].to_vec() };
                let advice = "another name: results go by it";
                if names.iter().flatten().any(|earlier| earlier == name) {
                    self.refuse(&place, format!("{name:?} is the name of an earlier command"), advice);
                } else if let Some(meaning) = reserved(name) {
                    self.refuse(&place, format!("{name:?} means {meaning} in results"), advice);
                } else if traffic.iter().any(|t| t.name == *name) || slot_named(name, traffic).is_some() {
                    self.refuse(&place, format!("{name:?} is a group of traffic or one of its slots"), advice);
                }
            }
            names.push(name);
        }
        names
    }

    /// Two hosts or gateways whose names differ in - and _ only would have one variable for their addresses.
    fn variables(&mut self, network: &Network, traffic: &[Traffic]) {
        let has_address = |node: &Node| matches!(node.kind, NodeKind::Host | NodeKind::Gateway);
        let nodes = network.nodes.iter().enumerate().filter(|(_, node)| has_address(node));
        let mut hosts: Vec<(String, Vec<Step>)> =
            nodes.map(|(i, node)| (node.name.clone(), at!["node", i, "name"].to_vec())).collect();
        for (i, group) in traffic.iter().enumerate() {
            let place = at!["traffic", i, "name"].to_vec();
            for number in 1..=group.count {
                let own = |end| matches!(end, Attachment::Router(_));
                let name = group.slot(number);
                hosts.extend(own(group.to).then(|| (format!("{name}-sink"), place.clone())));
                hosts.extend(own(group.from).then(|| (name, place.clone())));
            }
        }
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (name, place) in hosts {
            let variable = host_variable(&name);
            if let Some(other) = known.get(&variable) {
                let message = format!("hosts {other:?} and {name:?} would share the variable {variable}");
                self.refuse(&place, message, "names that differ in more than - and _, as there are commands");
                return;
            }
            known.insert(variable, name);
        }
    }

    /// `Some(None)` if it is a slot of another point of the sweep.
    fn command_host(
        &mut self,
        i: usize,
        name: &str,
        network: &Network,
        traffic: &[Traffic],
    ) -> Option<Option<CommandHost>> {
        let at = path(i, "host");
        if let Some(node) = network.nodes.iter().position(|node| node.name == name) {
            if network.nodes[node].kind == NodeKind::Host {
                return Some(Some(CommandHost::Node(NodeIndex(node))));
            }
            let message = format!("{name:?} is no host: programs do not run there");
            self.refuse(&at, message, "a node with kind = \"host\", or the host of a slot, like \"bulk-1\"");
            return None;
        }
        let (slot, sink) = match name.strip_suffix("-sink").and_then(|rest| slot_named(rest, traffic)) {
            Some(slot) => (Some(slot), true),
            None => (slot_named(name, traffic), false),
        };
        if let Some(slot) = slot {
            let group = &traffic[slot.traffic];
            let (key, end) = if sink { ("to", group.to) } else { ("from", group.from) };
            if let Attachment::Host(node) = end {
                let node = &network.nodes[node.0].name;
                let message = format!("{name:?} has no host of its own: {key} of {:?} is {node:?}", group.name);
                self.refuse(&at, message, format!("\"{node}\""));
                return None;
            }
            if slot.number > group.count {
                if self.is_swept(&at!["traffic", slot.traffic, "count"]) {
                    return Some(None);
                }
                let message = format!("{name:?} is not there: {:?} has a count of {}", group.name, group.count);
                self.refuse(&at, message, format!("a slot up to \"{}\"", group.slot(group.count)));
                return None;
            }
            return Some(Some(if sink { CommandHost::Responder(slot) } else { CommandHost::Originator(slot) }));
        }
        let nodes = network.nodes.iter().filter(|node| node.kind == NodeKind::Host).map(|node| node.name.clone());
        let slots = traffic.iter().flat_map(|group| {
            let own = |end, name: String| matches!(end, Attachment::Router(_)).then_some(name);
            [own(group.from, group.slot(1)), own(group.to, format!("{}-sink", group.slot(1)))].into_iter().flatten()
        });
        let known: Vec<String> = nodes.chain(slots).collect();
        let meant = nearest(name, known.iter().map(String::as_str)).map(|n| format!("{n:?}"));
        let found = Found::in_tree(self.tree, &at, format!("there is no host {name:?}"));
        self.push(found.suggest(meant).accepted(format!("hosts like {}", crate::found::one_of(&known))));
        None
    }

    fn words(&mut self, i: usize, words: &[String]) -> Option<Vec<String>> {
        let at = path(i, "run");
        let accepted = "the program and its arguments, each a text, like [\"ping\", \"-c\", \"3\", \"10.0.0.1\"]";
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            self.refuse_value(&at, "names no program", accepted);
            return None;
        }
        // The end of an argument for every operating system.
        if words.iter().any(|word| word.contains('\0')) {
            self.refuse(&at, "has a word with a zero byte in it", accepted);
            return None;
        }
        Some(words.to_vec())
    }

    fn times(&mut self, i: usize, file: &CommandFile, run: &Run) -> Option<(Span, Option<Span>)> {
        let start = self.span(&path(i, "start"), file.start, Some(run.rtt))?;
        if start >= run.duration {
            let message = format!("{start} is not within the run, which ends at {}", run.duration);
            self.refuse(&path(i, "start"), message, "less than run.duration");
            return None;
        }
        let at = path(i, "stop");
        let Some(stop) = file.stop? else { return Some((start, None)) };
        let stop = self.span(&at, Some(stop), Some(run.rtt))?;
        if stop <= start {
            self.refuse(&at, format!("{stop} is not after the start, {start}"), "more than start");
            return None;
        }
        if stop > run.duration {
            let message = format!("{stop} is not within the run, which ends at {}", run.duration);
            self.refuse(&at, message, "at most run.duration, or no stop");
            return None;
        }
        Some((start, Some(stop)))
    }

    /// Returns `Some(None)` if the run does not wait for the command.
    fn ready(&mut self, i: usize, file: &CommandFile) -> Option<Option<Ready>> {
        let at = path(i, "ready");
        let Some(text) = file.ready.as_ref()? else { return Some(None) };
        if file.start? != RttSpan::ZERO {
            let message = "contradicts start: the run begins when the command is ready";
            self.refuse(&at, message, "ready without start, or start without ready");
            return None;
        }
        let accepted = "a port from 1 to 65535, like \"5201\", or a regular expression, like \"listening on\"";
        if text.bytes().all(|b| b.is_ascii_digit()) {
            let port = text.parse().ok().filter(|&port| port != 0);
            if port.is_none() {
                self.refuse_value(&at, "is no port", accepted);
            }
            return port.map(|port| Some(Ready::Port(port)));
        }
        match regex::Regex::new(text) {
            Ok(_) => Some(Some(Ready::Pattern(text.clone()))),
            Err(error) => {
                self.refuse(&at, not_regular(text, &error), accepted);
                None
            }
        }
    }

    fn figures(&mut self, i: usize, files: &[FigureFile]) -> Option<Vec<Figure>> {
        let mut figures: Vec<Figure> = Vec::new();
        for (k, file) in files.iter().enumerate() {
            let at = |key: &str| at!["run", "command", i, "figure", k, key].to_vec();
            let metric = self.name(&at("metric"), file.metric.as_deref()).map(str::to_owned);
            if metric.as_ref().is_some_and(|metric| figures.iter().any(|earlier| earlier.metric == *metric)) {
                let message = format!("{:?} is the metric of an earlier figure", metric.unwrap_or_default());
                self.refuse(&at("metric"), message, "a metric of its own");
                continue;
            }
            if file.unit.as_deref().is_some_and(|unit| unit.contains(char::is_control)) {
                self.refuse_value(&at("unit"), "has control characters in it", "a unit, like \"bit/s\"");
                continue;
            }
            if metric.as_deref().is_some_and(|metric| EVERY_PROGRAM.contains(&metric)) {
                let message = format!("{:?} is a figure that every program has", metric.unwrap_or_default());
                self.refuse(&at("metric"), message, "another name, like \"throughput\"");
                continue;
            }
            let source = self.source(&at, file);
            let Some(times) = file.times else { continue };
            if times == 0.0 {
                self.refuse_value(&at("times"), "is no factor", "a number that is not 0, like 0.001");
                continue;
            }
            if let (Some(metric), Some(unit), Some(source)) = (metric, file.unit.clone(), source) {
                figures.push(Figure { metric, unit, source, times });
            }
        }
        (figures.len() == files.len()).then_some(figures)
    }

    fn source(&mut self, at: &dyn Fn(&str) -> Vec<Step>, file: &FigureFile) -> Option<FigureSource> {
        match (file.json.as_ref()?, file.pattern.as_ref()?) {
            (Some(json), None) => {
                let keys: Vec<String> = json.split('.').map(str::to_owned).collect();
                if keys.iter().any(String::is_empty) {
                    let message = format!("{json:?} is no path");
                    self.refuse(&at("json"), message, "keys joined by points, like \"end.sum_received.bytes\"");
                    return None;
                }
                Some(FigureSource::Json(keys))
            }
            (None, Some(pattern)) => self.pattern(&at("pattern"), pattern),
            (given, _) => {
                let message = if given.is_some() { "contradicts json" } else { "is missing, as is json" };
                self.refuse(&at("pattern"), message, "json or pattern, one of the two");
                None
            }
        }
    }

    fn pattern(&mut self, at: &[Step], pattern: &str) -> Option<FigureSource> {
        let accepted = "a regular expression with one group, like 'time=([0-9.]+) ms'";
        let regex = match regex::Regex::new(pattern) {
            Ok(regex) => regex,
            Err(error) => {
                self.refuse(at, not_regular(pattern, &error), accepted);
                return None;
            }
        };
        let groups = regex.captures_len() - 1;
        if groups != 1 {
            let advice = if groups > 1 { "; one that is not the number is written (?:...)" } else { "" };
            let message = format!("{pattern:?} has {groups} groups");
            self.refuse(at, message, format!("{accepted}{advice}"));
            return None;
        }
        Some(FigureSource::Pattern(pattern.to_owned()))
    }
}

/// The message about a regular expression that does not parse.
fn not_regular(pattern: &str, error: &regex::Error) -> String {
    // The last line has the reason; the lines before it show the location.
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
    format!("{pattern:?} is no regular expression: {reason}")
}

/// The slot that `name` would be: "bulk-3", whatever the count.
fn slot_named(name: &str, traffic: &[Traffic]) -> Option<Slot> {
    let (group, number) = name.rsplit_once('-')?;
    let traffic = traffic.iter().position(|t| t.name == group)?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    let number = number.parse().ok().filter(|_| plain)?;
    Some(Slot { traffic, number })
}
