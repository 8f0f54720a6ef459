//! The selection of the rows that are shown first.

use std::collections::BTreeSet;

use cellway_record::metric::{Definition, group, network, observed, port, slot};
use cellway_scenario::{App, Point, Traffic};

use super::ComparedRow;
use crate::overview::shows_use;

/// The main metrics, in the order in which they are shown.
static MAIN: [&Definition; 18] = [
    group::GOODPUT_TOTAL.definition(),
    slot::GOODPUT.definition(),
    group::JAIN.definition(),
    slot::ITEM_RATE_MEAN.definition(),
    slot::ITEM_TIME_MEAN.definition(),
    observed::SRTT_MEAN.definition(),
    slot::DELAY_MEAN.definition(),
    slot::DELAY_P95.definition(),
    group::TIMEOUTS_MEAN.definition(),
    port::UTILISATION.definition(),
    port::QUEUE_MEAN.definition(),
    port::QUEUE_MAX.definition(),
    port::DROPPED_PACKETS.definition(),
    port::LOSS_RATIO.definition(),
    port::DROPPED_FRAMES.definition(),
    port::DROPPED_CELLS.definition(),
    port::LOST.definition(),
    network::LOST_FRAMES.definition(),
];

/// The most slots of a group that are shown one by one.
const SLOTS: u32 = 8;

/// Marks the rows that are shown first and sorts them to the front, by metric. A row with a prediction or a published
/// value is always among them; zeros, idle lines, single slots of large groups, and sums of one group are not.
pub(super) fn mark(rows: &mut [ComparedRow], point: &Point, busy: &BTreeSet<String>) {
    let traffic = &point.scenario.traffic;
    let slot_of = |subject: &str| traffic.iter().find(|group| (1..=group.count).any(|n| group.slot(n) == subject));
    let bulk = |group: &Traffic| matches!(group.app(), Some(App::Bulk { .. }));
    let sums = traffic.iter().filter(|group| group.count > 0 && bulk(group)).count() > 1;
    let known: BTreeSet<(String, String)> = rows.iter().map(|r| (r.subject.clone(), r.metric.clone())).collect();
    let lines: BTreeSet<&str> =
        known.iter().filter(|(_, m)| m == port::UTILISATION.name()).map(|(subject, _)| &**subject).collect();
    for row in rows.iter_mut() {
        let telling = MAIN.iter().any(|metric| metric.name() == row.metric) && row.is_nonzero();
        let idle = lines.contains(&*row.subject) && !busy.contains(&row.subject);
        let group = traffic.iter().find(|group| group.name == row.subject);
        let repeated = match (slot_of(&row.subject), &*row.metric) {
            // For others it follows their random traffic.
            (Some(slots), "goodput") => !bulk(slots) || slots.count == 1 || slots.count > SLOTS,
            (Some(slots), _) => slots.count > SLOTS || known.contains(&(slots.name.clone(), row.metric.clone())),
            (None, "goodput_total") if row.subject == "network" => !sums,
            (None, "jain") => group.is_some_and(|group| matches!(group.app(), Some(App::Telnet { .. }))),
            (None, _) => false,
        };
        row.main = row.published.is_some() || row.predicted.is_some() || (telling && !repeated && !idle);
    }
    let place = |row: &ComparedRow| match row.main {
        true => MAIN.iter().position(|metric| metric.name() == row.metric).unwrap_or(MAIN.len()),
        false => usize::MAX,
    };
    rows.sort_by_key(place);
}

/// Returns the subjects of rows that show a line in use at any of these points.
pub(super) fn busy<'a>(rows: impl IntoIterator<Item = &'a ComparedRow>) -> BTreeSet<String> {
    let means = |row: &ComparedRow| [row.simulated, row.emulated].into_iter().flatten().map(|measured| measured.mean);
    let used = rows.into_iter().filter(|row| means(row).any(|mean| shows_use(&row.metric, mean)));
    used.map(|row| row.subject.clone()).collect()
}
