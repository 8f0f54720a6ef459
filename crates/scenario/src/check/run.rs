//! Durations, seeds and what is observed: all that is counted in round trips.

use cellway_units::{Rate, Span};

use crate::check::flows_named::Wanted;
use crate::check::network::Network;
use crate::check::traffic::Group;
use crate::check::{Check, listed};
use crate::file::{File, RunFile};
use crate::found::{Found, one_of};
use crate::model::{Link, LinkIndex, NodeIndex, NodeKind, Observe, Run, Traffic};
use crate::problem::nearest;
use crate::quantity::RttSpan;
use crate::route::{self, Reached};
use crate::tree::at;

/// Bins that one run may record.
const MAX_BINS: u64 = 1_000_000;

/// Returns the end of the route between each pair of hosts of the file that has one.
fn host_routes(network: &Network) -> impl Iterator<Item = Reached> {
    let nodes = &network.nodes;
    let hosts: Vec<NodeIndex> = (0..nodes.len()).filter(|&i| nodes[i].kind == NodeKind::Host).map(NodeIndex).collect();
    (0..hosts.len()).flat_map(move |i| {
        let routes = network.graph.routes(hosts[i], None);
        hosts[i + 1..].iter().filter_map(|&to| routes.at(to)).collect::<Vec<_>>()
    })
}

/// Returns the rate of the slowest line on the path of any group; without groups that between any two hosts.
pub(super) fn slowest(network: &Network, traffic: &[Traffic]) -> Option<Rate> {
    let of_traffic = traffic.iter().map(|t| t.bottleneck).min();
    let of_hosts = || host_routes(network).filter_map(|end| end.slowest).min();
    of_traffic.or_else(of_hosts)
}

impl Check<'_> {
    /// The round trip as given, or the longest of the groups.
    pub(super) fn rtt(
        &mut self,
        run: Option<&RunFile>,
        network: Option<&Network>,
        groups: Option<&[Group]>,
    ) -> Option<Span> {
        let path = at!["run", "rtt"];
        if let Some(given) = run?.rtt? {
            return Some(given);
        }
        let links = &network?.links;
        let round_trip = |group: &Group| {
            let t = &group.traffic;
            route::round_trip(links, &t.route, [t.from, t.to], t.access.map(|a| a.delay))
        };
        let groups = groups?;
        let between_hosts = || host_routes(network?).map(|end| end.delay.saturating_mul(2)).max();
        let longest = groups.iter().map(round_trip).max().or_else(between_hosts).unwrap_or(Span::ZERO);
        if longest.is_zero() {
            let message = "is missing: no link on any path has a delay to take it from";
            self.refuse(&path, message, "a time, like rtt = \"45 ms\"");
            return None;
        }
        Some(longest)
    }

    pub(super) fn run(&mut self, run: Option<&RunFile>, rtt: Option<Span>) -> Option<Run> {
        let run = run?;
        let duration = self.positive_span(&at!["run", "duration"], run.duration, rtt);
        let warmup = self.span(&at!["run", "warmup"], run.warmup, rtt);
        if let (Some(duration), Some(warmup)) = (duration, warmup)
            && warmup >= duration
        {
            let message = format!("{warmup} is not shorter than the run, {duration}");
            self.refuse(&at!["run", "warmup"], message, "less than run.duration");
            return None;
        }
        Some(Run {
            duration: duration?,
            warmup: warmup?,
            seed: run.seed?,
            seeds: run.seeds?,
            rtt: rtt?,
            engine: run.engine?,
        })
    }

    pub(super) fn observe(
        &mut self,
        file: &File,
        network: Option<&Network>,
        run: Option<&Run>,
        rtt: Option<Span>,
    ) -> Option<Observe> {
        let observe = &file.observe.clone()?.unwrap_or_default();
        let groups = listed(&file.traffic);
        let trace = self.flows_named(&at!["observe", "trace"], Wanted::Window, listed(&observe.trace), groups);
        let flows = self.series_of(observe, groups);
        let sets = self.sets(listed(&observe.set), groups, network);
        let queue = network.and_then(|network| self.queues(listed(&observe.queue), network));
        let whole = run.map(|run| (run.duration, "the run", "run.duration"));
        // Windows begin when the warm-up ends: one that does not end within the run is never judged.
        let counted =
            run.map(|run| (run.duration - run.warmup, "what is counted of the run", "run.duration - run.warmup"));
        let interval = self.bin("interval", observe.interval, whole, rtt);
        let fairness_window = self.bin("fairness-window", observe.fairness_window, counted, rtt);
        let [interval, fairness_window] = [interval?, fairness_window?];
        let (series, max_rows) = (observe.series?, observe.max_rows?);
        let (trace, queue, flows, sets) = (trace?, queue?, flows?, sets?);
        Some(Observe { interval, fairness_window, trace, series, queue, flows, sets, max_rows })
    }

    /// A bin of a part of the run, given as its length, its name and how it is computed.
    fn bin(
        &mut self,
        key: &str,
        given: Option<RttSpan>,
        part: Option<(Span, &str, &str)>,
        rtt: Option<Span>,
    ) -> Option<Span> {
        let path = at!["observe", key];
        let span = self.positive_span(&path, given, rtt)?;
        let (length, name, formula) = part?;
        let span = if self.is_given(&path) { span } else { span.min(length) };
        if span > length {
            self.refuse(&path, format!("{span} is longer than {name}, {length}"), format!("at most {formula}"));
            return None;
        }
        let bins = length.as_ps() / span.as_ps();
        if bins > MAX_BINS {
            let message = format!("{span} makes {bins} bins of {name}, {length}");
            self.refuse(&path, message, format!("a time that makes at most {MAX_BINS}"));
            return None;
        }
        Some(span)
    }

    /// Output ports, each as a node and where it sends to: a neighbour or a link.
    fn queues(&mut self, wanted: &[String], network: &Network) -> Option<Vec<(NodeIndex, LinkIndex)>> {
        let before = self.found.len();
        let mut ports: Vec<(NodeIndex, LinkIndex)> = Vec::new();
        for (i, text) in wanted.iter().enumerate() {
            let path = at!["observe", "queue", i];
            let Some((from, to)) = text.split_once('>').map(|(from, to)| (from.trim(), to.trim())) else {
                self.refuse(
                    &path,
                    format!("{text:?} is no output port"),
                    "a node, > and its neighbour, like \"s1>r2\"",
                );
                continue;
            };
            let Some(node) = self.node_named(&path, from, &network.node_names).map(NodeIndex) else { continue };
            let links = || network.links.iter().enumerate().filter(|(_, link)| link.other(node).is_some());
            let neighbour = |link: &Link| link.other(node).map(|other| network.nodes[other.0].name.as_str());
            let fitting = |fits: &dyn Fn(&Link) -> bool| -> Vec<usize> {
                links().filter(|(_, link)| fits(link)).map(|(k, _)| k).collect()
            };
            let meant = match to.split_once('/') {
                // The form that results use for one of several links to a neighbour.
                Some((to, name)) => fitting(&|link| neighbour(link) == Some(to) && link.name == name),
                None => {
                    let by_name = fitting(&|link| link.name == to);
                    if by_name.is_empty() { fitting(&|link| neighbour(link) == Some(to)) } else { by_name }
                }
            };
            let known: Vec<&str> = links().filter_map(|(_, link)| neighbour(link)).collect();
            match meant.as_slice() {
                [link] => ports.push((node, LinkIndex(*link))),
                [] => {
                    let found = Found::in_tree(self.tree, &path, format!("{from:?} has no link to {to:?}"));
                    let suggestion = nearest(to, known.iter().copied()).map(|to| format!("\"{from}>{to}\""));
                    let accepted = known.iter().map(|to| format!("{from}>{to}"));
                    self.push(found.suggest(suggestion).accepted(one_of(accepted)));
                }
                several => {
                    let accepted = several.iter().map(|k| format!("{from}>{to}/{}", network.links[*k].name));
                    self.refuse(&path, format!("{from:?} has several links to {to:?}"), one_of(accepted));
                }
            }
        }
        ports.sort();
        ports.dedup();
        (self.found.len() == before && !self.is_bad(&at!["observe", "queue"])).then_some(ports)
    }
}
