//! A checked scenario back to a file, with every value written out.

mod emulate;
mod flows;
mod network;
mod traffic;
mod workload;

use std::fmt::Write;

use serde::Serialize;

use crate::model::{AbrSwitchKeys, ChangeOf, MultiplexingKeys, PolicerAction, Scenario, Slot};
use crate::tree::quoted;

impl Scenario {
    /// A scenario file that says all that this scenario is: defaults, merged TCP settings and
    /// what "rtt" and "bdp" stood for are written out. Parsing it gives this scenario again.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "version = 1\nname = {}\ndescription = {}", quoted(&self.name), quoted(&self.description))?;
        let run = &self.run;
        writeln!(out, "\n[run]\nduration = \"{}\"\nwarmup = \"{}\"", run.duration, run.warmup)?;
        writeln!(out, "seed = {}\nseeds = {}\nrtt = \"{}\"", run.seed, run.seeds, run.rtt)?;
        writeln!(out, "engine = \"{}\"", run.engine.name())?;
        self.write_emulate(out)?;
        writeln!(out, "\n[multiplexing]\n{}", MultiplexingKeys::from(self.multiplexing).lines().join("\n"))?;
        self.write_network(out)?;
        for traffic in &self.traffic {
            self.write_traffic(out, traffic)?;
        }
        self.write_control(out)?;
        let observe = &self.observe;
        writeln!(out, "\n[observe]\ninterval = \"{}\"", observe.interval)?;
        writeln!(out, "fairness-window = \"{}\"", observe.fairness_window)?;
        let slots = observe.trace.iter().map(|slot| self.traffic[slot.traffic].slot(slot.number));
        // By link, which is one even where two join the same nodes.
        let ports =
            observe.queue.iter().map(|(at, link)| format!("{}>{}", self.nodes[at.0].name, self.links[link.0].name));
        writeln!(out, "trace = {}\nqueue = {}\nseries = {}", list(slots), list(ports), observe.series)?;
        writeln!(out, "max-rows = {}", observe.max_rows)?;
        let names = |slots: &[Slot]| list(slots.iter().map(|slot| self.traffic[slot.traffic].slot(slot.number)));
        if !observe.flows.is_empty() {
            writeln!(out, "flows = {}", names(&observe.flows))?;
        }
        for set in &observe.sets {
            writeln!(out, "\n[[observe.set]]\nname = {}\nflows = {}", quoted(&set.name), names(&set.slots))?;
        }
        Ok(())
    }

    fn write_control(&self, out: &mut String) -> std::fmt::Result {
        let groups = |places: &[usize]| list(places.iter().map(|&t| &self.traffic[t].name));
        let sustained = |limit: &Option<(cellway_units::Rate, cellway_units::Cells)>| match limit {
            Some((scr, mbs)) => format!("scr = \"{scr}\"\nmbs = \"{mbs}\"\n"),
            None => String::new(),
        };
        for class in &self.classes {
            writeln!(out, "\n[[class]]\nname = {}", quoted(&class.name))?;
            if let Some(traffic) = &class.traffic {
                writeln!(out, "traffic = {}", groups(traffic))?;
            }
            writeln!(out, "share = {}", class.share)?;
            if let Some(ceiling) = class.ceiling {
                writeln!(out, "ceiling = \"{ceiling}\"")?;
            }
        }
        for shaper in &self.shapers {
            let [at, link] = [&self.nodes[shaper.at.0].name, &self.links[shaper.link.0].name].map(|n| quoted(n));
            writeln!(out, "\n[[shaper]]\nname = {}\nat = {at}\nlink = {link}", quoted(&shaper.name))?;
            writeln!(out, "traffic = {}\nrate = \"{}\"", groups(&shaper.traffic), shaper.rate)?;
            out.push_str(&sustained(&shaper.sustained));
        }
        for policer in &self.policers {
            let [at, link] = [&self.nodes[policer.at.0].name, &self.links[policer.link.0].name].map(|n| quoted(n));
            writeln!(out, "\n[[policer]]\nname = {}\nat = {at}\nlink = {link}", quoted(&policer.name))?;
            writeln!(out, "traffic = {}\npcr = \"{}\"", groups(&policer.traffic), policer.pcr)?;
            writeln!(out, "cdvt = \"{}\"\naction = {}", policer.cdvt, word::<PolicerAction>(policer.action))?;
            out.push_str(&sustained(&policer.sustained));
        }
        for change in &self.changes {
            writeln!(out, "\n[[change]]\nat = \"{}\"", change.at)?;
            if let Some(name) = &change.name {
                writeln!(out, "name = {}", quoted(name))?;
            }
            let (kind, name, key) = match change.what {
                ChangeOf::Shaper(shaper) => ("shaper", &self.shapers[shaper].name, "rate"),
                ChangeOf::Link(link, _) => ("link", &self.links[link.0].name, "rate"),
                ChangeOf::Pcr(group) => ("traffic", &self.traffic[group].name, "pcr"),
            };
            writeln!(out, "{kind} = {}\n{key} = \"{}\"", quoted(name), change.rate)?;
            if let ChangeOf::Link(_, direction) = change.what {
                writeln!(out, "direction = {}", word(direction))?;
            }
        }
        writeln!(out, "\n[abr]\n{}", AbrSwitchKeys::from(self.abr).lines().join("\n"))
    }
}

/// The name of a unit variant in the file, in quotes.
pub(super) fn word<T: Serialize>(value: T) -> String {
    serde_json::to_string(&value).expect("a unit variant is a word")
}

/// An array of texts.
fn list<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}
