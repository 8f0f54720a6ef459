//! From a tree to a [`Scenario`], or to everything that is wrong with it.

mod app;
mod buffer;
mod classes;
mod control;
mod crossing;
mod direction;
mod emulate;
mod flows;
mod flows_named;
mod framing;
mod machine;
mod names;
mod network;
mod pacing;
mod queue;
mod run;
mod service;
mod tcp;
mod timeline;
mod traffic;
mod udp;
mod workload;

use cellway_settings::in_file::InFile;
use cellway_units::Span;

#[cfg(test)]
pub(crate) use crate::check::{app::MAX_TRANSFER, service::MAX_CRM};

use crate::check::buffer::Scale;
use crate::check::network::Network;
use crate::check::run::slowest;
use crate::check::traffic::Group;
use crate::file::{File, NodeFile};
use crate::found::Found;
use crate::model::{Scenario, TcpKeys};
use crate::quantity::RttSpan;
use crate::schema;
use crate::shape;
use crate::tree::{Node, Step, Value, at};

/// The most memory that a buffer may have (bytes): 1 TiB, far above any machine of the networks modelled.
pub(crate) const MAX_BUFFER: u64 = 1 << 40;

/// Checks all of `tree`. What is at the places in `swept` has other values in other points of the plan, so that what
/// belongs to those may stand in the file though it has no use now: slots past a count, a threshold.
pub(crate) fn check(mut tree: Node, swept: &[Vec<Step>]) -> Result<Scenario, Vec<Found>> {
    let found = shape::check(&mut tree, schema::root());
    let file = File::read(tree.to_json()).map_err(|error| {
        // Cannot happen while the schema and the types agree; a message is better than a panic.
        vec![Found::new(tree.at, "", format!("cannot be read: {error}"))]
    })?;
    let mut check = Check { tree: &tree, swept, found };
    let scenario = check.scenario(file);
    match scenario {
        Some(scenario) if check.found.is_empty() => Ok(scenario),
        _ => Err(check.found),
    }
}

/// The checks under way. Each returns `None` where it cannot tell because of a problem that has
/// been reported.
struct Check<'a> {
    tree: &'a Node,
    swept: &'a [Vec<Step>],
    found: Vec<Found>,
}

impl Check<'_> {
    fn refuse(&mut self, path: &[Step], message: impl Into<String>, accepted: impl Into<String>) {
        self.push(Found::in_tree(self.tree, path, message).accepted(accepted));
    }

    fn push(&mut self, found: Found) {
        self.found.push(found);
    }

    /// The same, with the value at `path` as it is written at the start of the message.
    fn refuse_value(&mut self, path: &[Step], message: &str, accepted: impl Into<String>) {
        let given = self.tree.find(path).map_or(String::new(), |node| format!("{} ", node.to_toml()));
        self.refuse(path, format!("{given}{message}"), accepted);
    }

    /// Returns true if the file has a value at `path`.
    fn is_given(&self, path: &[Step]) -> bool {
        self.tree.find(path).is_some()
    }

    /// Returns true if the file has a value at `path` that has not been refused.
    fn is_accepted(&self, path: &[Step]) -> bool {
        self.is_given(path) && !self.is_bad(path)
    }

    /// Returns true if any key of the table at `path` has been refused.
    fn any_bad(&self, path: &[Step]) -> bool {
        let table = self.tree.find(path).and_then(Node::table);
        table.is_some_and(|table| table.entries().iter().any(|entry| entry.node.value == Value::Bad))
    }

    /// Refuses the keys of the table at `path` that are for others than `kind`; `kinds` says which have a key.
    fn only_keys_of<K: PartialEq + Copy>(&mut self, path: &[Step], message: &str, kind: K, kinds: &[(&str, &[K])]) {
        let own = || kinds.iter().filter(|(_, kinds)| kinds.contains(&kind)).map(|(key, _)| *key);
        for (key, _) in kinds.iter().filter(|(_, kinds)| !kinds.contains(&kind)) {
            let path = [path, &at![*key]].concat();
            if self.is_accepted(&path) {
                let own: Vec<&str> = own().collect();
                let accepted = if own.is_empty() { "leave it out".to_owned() } else { own.join(", ") };
                self.refuse(&path, message, accepted);
            }
        }
    }

    /// Returns the value of a key that the table at `path` must have. `owner` is the subject of the refusal: "these flows need".
    fn needed<T>(
        &mut self,
        path: &[Step],
        key: &str,
        given: Option<Option<T>>,
        owner: &str,
        accepted: &str,
    ) -> Option<T> {
        let given = given?;
        if given.is_none() {
            self.refuse(&[path, &at![key]].concat(), format!("is missing: {owner} it"), accepted);
        }
        given
    }

    /// Returns true if the value at `path` has been refused already.
    fn is_bad(&self, path: &[Step]) -> bool {
        self.tree.is_bad(path)
    }

    /// Returns true if the value at `path` differs in other points of the plan.
    fn is_swept(&self, path: &[Step]) -> bool {
        self.swept.iter().any(|swept| swept == path)
    }

    fn scenario(&mut self, file: File) -> Option<Scenario> {
        let name = self.title(&at!["name"], file.name.as_deref()).map(str::to_owned);
        let network = match (&file.node, &file.link) {
            (Some(nodes), Some(links)) => self.network(nodes, links, listed(&file.change)),
            _ => None,
        };
        let defaults = &file.tcp.flatten().unwrap_or_default();
        let nodes = file.node.as_deref().unwrap_or_default();
        let groups = self.groups(&file, defaults, nodes, network.as_ref());
        let rtt = self.rtt(file.run.as_ref(), network.as_ref(), groups.as_deref());
        let run = self.run(file.run.as_ref(), rtt);
        let traffic = groups.and_then(|groups| self.resolve_starts(groups, rtt, run.as_ref()));
        let multiplexing = file.multiplexing.flatten().unwrap_or_default().resolve()?;
        self.channels(multiplexing.channel, traffic.as_deref());
        let slowest = network.as_ref().and_then(|network| slowest(network, traffic.as_deref()?));
        let scale = Scale { traffic: traffic.as_deref(), slowest, rtt, multiplexing };
        let buffer = self.buffer(file.buffer, network.as_ref(), file.link.as_deref().unwrap_or_default(), scale);
        if let (Some(network), Some(traffic)) = (&network, &traffic) {
            self.gateways_hold(traffic, network);
        }
        let links = network.as_ref().and_then(|network| self.link_buffers(&file, network, buffer?, scale));
        let abr = self.abr_switch(file.abr.flatten().unwrap_or_default());
        let observe = self.observe(&file, network.as_ref(), run.as_ref(), rtt);
        let emulate = self.emulate(file.run.as_ref().and_then(|run| run.emulate?));
        let (network, traffic) = (network?, traffic?);
        let classes = self.classes(listed(&file.class), &network, &traffic);
        let shapers = self.shapers(listed(&file.shaper), &network, &traffic);
        let policers = self.policers(listed(&file.policer), &network, &traffic);
        let (shaping, policing) = (shapers.as_deref().unwrap_or_default(), policers.as_deref().unwrap_or_default());
        self.paced_once(&network, &traffic, (shaping, policing), multiplexing.channel);
        let run = run?;
        let commands = self.commands(file.run.as_ref(), &network, &traffic, &run);
        if let (Some(links), Some(commands), Some(emulate)) = (&links, &commands, &emulate) {
            self.holds_commands(&network, links, commands, emulate, multiplexing);
        }
        let changes = self.changes(&file, &network, &traffic, shapers.as_deref()?, &run);
        Some(Scenario {
            name: name?,
            description: file.description.flatten().unwrap_or_default(),
            run,
            multiplexing,
            buffer: buffer?,
            nodes: network.nodes,
            links: links?,
            traffic,
            classes: classes?,
            shapers: shapers?,
            policers: policers?,
            changes: changes?,
            abr: abr?,
            observe: observe?,
            emulate: emulate?,
            commands: commands?,
        })
    }

    /// The traffic groups; there may be none if there are commands.
    fn groups(
        &mut self,
        file: &File,
        defaults: &TcpKeys,
        nodes: &[NodeFile],
        network: Option<&Network>,
    ) -> Option<Vec<Group>> {
        if let Some(Some(groups)) = &file.traffic {
            return self.traffic(groups, defaults, nodes, network);
        }
        if self.is_bad(&at!["traffic"]) || self.is_bad(&at!["run", "command"]) {
            return None;
        }
        if !self.is_given(&at!["run", "command"]) {
            self.refuse(
                &at!["traffic"],
                "is missing",
                "one or more tables, in an array or each headed [[traffic]]; for an emulation, a [[run.command]]",
            );
            return None;
        }
        Some(Vec::new())
    }

    /// Resolves a span that may be in round trips.
    fn span(&mut self, path: &[Step], given: Option<RttSpan>, rtt: Option<Span>) -> Option<Span> {
        match given? {
            RttSpan::Span(span) => Some(span),
            relative => {
                let span = relative.resolve(rtt?);
                if span.is_none() {
                    self.refuse_value(path, "is longer than the clock can count", "at most 213 days");
                }
                span
            }
        }
    }

    /// The same, refused if it is zero.
    fn positive_span(&mut self, path: &[Step], given: Option<RttSpan>, rtt: Option<Span>) -> Option<Span> {
        let span = self.span(path, given, rtt)?;
        if span.is_zero() {
            self.refuse_value(path, "is zero", "more than 0, like \"100 rtt\"");
            return None;
        }
        Some(span)
    }
}

/// Returns the elements of an array that may be left out.
fn listed<T>(given: &Option<Option<Vec<T>>>) -> &[T] {
    given.as_ref().and_then(Option::as_deref).unwrap_or_default()
}
