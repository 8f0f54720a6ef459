//! The routing rules and the route of marked packets, set by `ip`.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::super::tool::{self, Family};
use crate::config::Intercept;
use crate::error::Error;

/// Priorities of the routing rules: [`STEP`] for each table number, from here on, before `main` (32766).
const FIRST: u32 = 10_000;
const STEP: u32 = 10;
const SLOTS: u32 = 2_000;

/// Returns commands for a shell.
pub(super) fn text(intercept: &Intercept) -> String {
    let mut text = String::new();
    for family in tool::families() {
        for words in rules(intercept) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "ip {} rule add {}", family.option(), words.join(" "));
        }
        let _ = writeln!(text, "ip {} route replace {}", family.option(), delivery(intercept).join(" "));
    }
    text
}

/// Sets them; those that exist stay.
pub(super) fn apply(intercept: &Intercept) -> Result<(), Error> {
    for family in tool::families() {
        for words in rules(intercept) {
            add_rule(*family, &words)?;
        }
        let route = delivery(intercept);
        let words: Vec<&str> = ["route", "replace"].into_iter().chain(route.iter().map(String::as_str)).collect();
        tool::ip(*family, &words)?;
    }
    Ok(())
}

/// Sets the route of SYNs to the device, which must exist.
pub(super) fn lead_to_device(intercept: &Intercept) -> Result<(), Error> {
    let table = intercept.table.saturating_add(1).to_string();
    for family in tool::families() {
        tool::ip(*family, &["route", "replace", "default", "dev", &intercept.device, "table", &table])?;
    }
    Ok(())
}

/// Returns the rules and routes as the kernel lists them.
pub(super) fn listing(intercept: &Intercept) -> Result<String, Error> {
    let mut all = String::new();
    for family in tool::families() {
        let rules = tool::ip_prints(*family, &["rule", "show"])?;
        let own = rules.lines().filter(|line| {
            let priority = line.split(':').next().and_then(|number| number.parse::<u32>().ok());
            priority.is_some_and(|priority| priorities(intercept).contains(&priority))
        });
        all.extend(own.flat_map(|line| [line, "\n"]));
        for table in [intercept.table, intercept.table.saturating_add(1)] {
            // A routing table without routes does not exist.
            all += &tool::ip_prints(*family, &["route", "show", "table", &table.to_string()]).unwrap_or_default();
        }
    }
    Ok(all)
}

/// Removes them, if they exist.
pub(super) fn remove(intercept: &Intercept) -> Result<(), Error> {
    for family in tool::families() {
        for words in rules(intercept) {
            remove_all(*family, "rule", &words)?;
        }
        remove_all(*family, "route", &delivery(intercept))?;
    }
    Ok(())
}

/// Returns the routing rules, as arguments of `ip rule add`.
///
/// Two lookups must not use a mark of the gateway. One is that of packets that this machine sends: with
/// `tcp_fwmark_accept` an accepted connection sends with the mark. The other is the reverse path of the source of a
/// packet, for which `src_valid_mark` uses the mark; its input device is `lo`, or the output device of the packet.
fn rules(intercept: &Intercept) -> [Vec<String>; 5] {
    let Intercept { mark, table, device, .. } = intercept;
    let (hold, hold_table) = (mark.saturating_add(1), table.saturating_add(1));
    let (first, last) = (*priorities(intercept).start(), *priorities(intercept).end());
    let words = |text: String| text.split(' ').map(str::to_owned).collect();
    [
        words(format!("pref {first} iif {device} fwmark {hold:#x} goto {last}")),
        words(format!("pref {} fwmark {hold:#x} lookup {hold_table}", first + 1)),
        words(format!("pref {} iif lo goto {last}", first + 2)),
        words(format!("pref {} fwmark {mark:#x} lookup {table}", first + 3)),
        words(format!("pref {last} nop")),
    ]
}

/// Returns the range of the priorities of the rules.
fn priorities(intercept: &Intercept) -> RangeInclusive<u32> {
    let first = FIRST + intercept.table % SLOTS * STEP;
    first..=first + 4
}

/// Returns the route that delivers packets with the mark locally, as arguments of `ip route`.
fn delivery(intercept: &Intercept) -> Vec<String> {
    let table = intercept.table.to_string();
    ["local", "default", "dev", "lo", "table", &table].map(str::to_owned).to_vec()
}

fn add_rule(family: Family, words: &[String]) -> Result<(), Error> {
    let all: Vec<&str> = ["rule", "add"].into_iter().chain(words.iter().map(String::as_str)).collect();
    match tool::ip(family, &all) {
        Err(e) if e.to_string().contains("File exists") => Ok(()),
        other => other,
    }
}

/// Deletes a rule or a route until there is none.
fn remove_all(family: Family, what: &str, words: &[String]) -> Result<(), Error> {
    let all: Vec<&str> = [what, "del"].into_iter().chain(words.iter().map(String::as_str)).collect();
    loop {
        match tool::ip(family, &all) {
            Ok(()) => {}
            Err(e) => {
                let said = e.to_string();
                let gone = ["No such file", "No such process", "does not exist"];
                return if gone.iter().any(|words| said.contains(words)) { Ok(()) } else { Err(e) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::intercept;
    use super::*;

    #[test]
    fn gateways_with_other_tables_share_no_priority() {
        let priorities = |table: u32| {
            let words = rules(&Intercept { table, ..intercept() });
            words.map(|words| words[1].parse::<u32>().unwrap())
        };
        let (one, two) = (priorities(160), priorities(162));
        assert!(one.is_sorted() && one.iter().all(|priority| !two.contains(priority)));
        assert!(priorities(u32::MAX).iter().all(|&priority| (FIRST..32_766).contains(&priority)));
    }
}
