//! The flows that `[observe]` names: slots, groups and "all".

use crate::check::network::Network;
use crate::check::{Check, listed};
use crate::file::{ObserveFile, SetFile, TrafficFile};
use crate::found::{Found, one_of};
use crate::model::{FlowSet, Slot};
use crate::problem::nearest;
use crate::tree::{Step, at};

/// Names all slots of all groups.
const ALL: &str = "all";
/// The most sets: each keeps percentiles of its own.
const MOST_SETS: usize = 1000;

/// The purpose for which flows are named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The send window at each change, which only TCP has. A list of all would be too much to record.
    Window,
    /// Figures that any flow has.
    Any,
}

impl Check<'_> {
    /// Returns the slots of `observe.flows`.
    pub(super) fn series_of(&mut self, observe: &ObserveFile, groups: &[TrafficFile]) -> Option<Vec<Slot>> {
        let path = at!["observe", "flows"];
        let flows = self.flows_named(&path, Wanted::Any, listed(&observe.flows), groups)?;
        if !listed(&observe.flows).is_empty() && observe.series == Some(false) {
            self.refuse(&path, "has series, which observe.series = false leaves out", "no flows, or series = true");
            return None;
        }
        Some(flows)
    }

    /// Returns the sets of `observe.set`.
    pub(super) fn sets(
        &mut self,
        files: &[SetFile],
        groups: &[TrafficFile],
        network: Option<&Network>,
    ) -> Option<Vec<FlowSet>> {
        let before = self.found.len();
        if files.len() > MOST_SETS {
            let message = format!("there are {} sets", files.len());
            self.refuse(&at!["observe", "set"], message, format!("at most {MOST_SETS}"));
            return None;
        }
        let mut sets: Vec<FlowSet> = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let path = at!["observe", "set", i, "name"];
            let name = self.name(&path, file.name.as_deref()).map(str::to_owned);
            if let Some(name) = &name
                && let Some(other) = other_subject(name, &sets, groups, network)
            {
                self.refuse(&path, format!("{name:?} is the name of {other}"), "a name that no other subject has");
            }
            let wanted = file.flows.as_deref().unwrap_or_default();
            let slots = self.flows_named(&at!["observe", "set", i, "flows"], Wanted::Any, wanted, groups);
            if let (Some(name), Some(slots)) = (name, slots) {
                sets.push(FlowSet { name, slots });
            }
        }
        (self.found.len() == before && sets.len() == files.len()).then_some(sets)
    }

    /// Returns the slots that the list at `list` names, in order, each once.
    pub(super) fn flows_named(
        &mut self,
        list: &[Step],
        what: Wanted,
        wanted: &[String],
        groups: &[TrafficFile],
    ) -> Option<Vec<Slot>> {
        let mut slots = Vec::new();
        let before = self.found.len();
        let group = |name: &str| groups.iter().position(|g| g.name.as_deref() == Some(name));
        let count = |traffic: usize| groups[traffic].count;
        let all_of = |traffic: usize| (1..=count(traffic).unwrap_or(0)).map(move |number| Slot { traffic, number });
        for (i, wanted) in wanted.iter().enumerate() {
            let path: Vec<Step> = list.iter().cloned().chain(at![i]).collect();
            if what == Wanted::Any && wanted == ALL {
                slots.extend((0..groups.len()).flat_map(all_of));
                continue;
            }
            let of_slot = wanted.rsplit_once('-').and_then(|(name, _)| group(name));
            let sends_datagrams =
                group(wanted).or(of_slot).is_some_and(|traffic| matches!(groups[traffic].udp, Some(Some(_))));
            if what == Wanted::Window && sends_datagrams {
                let message = format!("{wanted:?} sends UDP datagrams, which have no send window");
                self.refuse(&path, message, "conversations or groups with an application over TCP");
                continue;
            }
            if let Some(traffic) = group(wanted) {
                slots.extend(all_of(traffic));
                continue;
            }
            let number = wanted
                .rsplit_once('-')
                .and_then(|(name, number)| Some((group(name)?, number.parse::<u32>().ok().filter(|n| *n > 0)?)));
            match number {
                Some((traffic, number)) => match count(traffic) {
                    Some(count) if number <= count => slots.push(Slot { traffic, number }),
                    Some(count) if !self.is_swept(&at!["traffic", traffic, "count"]) => {
                        let name = groups[traffic].name.as_deref().unwrap_or_default();
                        let message = format!("{wanted:?} is not there: {name:?} has a count of {count}");
                        self.refuse(&path, message, format!("up to \"{name}-{count}\""));
                    }
                    _ => {}
                },
                None => self.refuse_flow(&path, what, wanted, groups),
            }
        }
        slots.sort();
        slots.dedup();
        (self.found.len() == before && !self.is_bad(list)).then_some(slots)
    }

    fn refuse_flow(&mut self, path: &[Step], what: Wanted, wanted: &str, groups: &[TrafficFile]) {
        let names = || groups.iter().filter_map(|g| g.name.as_deref());
        let slots: Vec<String> = names().map(|name| format!("{name}-1")).collect();
        let known = slots.iter().map(String::as_str).chain(names());
        let meant = nearest(wanted, known).map(|n| format!("{n:?}"));
        let found = Found::in_tree(self.tree, path, format!("no conversation is called {wanted:?}"));
        let accepted = match what {
            Wanted::Window => format!("conversations like {}, or groups", one_of(&slots)),
            Wanted::Any => format!("groups: {}; conversations like {}; or \"all\"", one_of(names()), one_of(&slots)),
        };
        self.push(found.suggest(meant).accepted(accepted));
    }
}

/// Returns the other subject of the tables that has this name, in words.
fn other_subject(name: &str, sets: &[FlowSet], groups: &[TrafficFile], network: Option<&Network>) -> Option<String> {
    let group_names = || groups.iter().filter_map(|group| group.name.as_deref());
    let of_slot = name.rsplit_once('-').filter(|(_, number)| number.parse::<u32>().is_ok());
    if sets.iter().any(|set| set.name == name) {
        Some("an earlier set".to_owned())
    } else if group_names().any(|group| group == name) {
        Some("a traffic group".to_owned())
    } else if of_slot.is_some_and(|(group, _)| group_names().any(|known| known == group)) {
        Some("a conversation".to_owned())
    } else if network.is_some_and(|network| network.node_names.place(name).is_some()) {
        Some("a node".to_owned())
    } else if ["network", "emulation"].contains(&name) {
        Some("a subject of every table".to_owned())
    } else {
        None
    }
}
