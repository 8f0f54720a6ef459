//! Which rows a reader sees first.

use cellway_scenario::{App, Point};

use super::ComparedRow;

/// The telling metrics, in the order in which they are shown.
const MAIN: [&str; 15] = [
    "goodput_total",
    "goodput",
    "jain",
    "item_rate_mean",
    "item_time_mean",
    "delay_mean",
    "delay_p95",
    "timeouts_mean",
    "utilisation",
    "queue_mean",
    "queue_max",
    "dropped_frames",
    "dropped_cells",
    "lost",
    "lost_frames",
];

/// The most slots of a group that are shown one by one.
const SLOTS: u32 = 8;

/// Marks what is shown first and sorts it to the front, by metric. What theory or a paper has a value for is
/// always there; zeros, single slots of large groups, and sums of one group are not.
pub(super) fn mark(rows: &mut [ComparedRow], point: &Point) {
    let traffic = &point.scenario.traffic;
    let groups = traffic.iter().filter(|group| group.count > 0).count();
    let slot_of = |subject: &str| traffic.iter().find(|group| (1..=group.count).any(|n| group.slot(n) == subject));
    let known: Vec<(String, String)> = rows.iter().map(|row| (row.subject.clone(), row.metric.clone())).collect();
    for row in rows.iter_mut() {
        let telling = MAIN.contains(&&*row.metric) && row.is_nonzero();
        let repeated = match slot_of(&row.subject) {
            // Of others it is what chance gave them to send.
            Some(group) if row.metric == "goodput" => {
                !matches!(group.app, App::Bulk { .. }) || group.count == 1 || group.count > SLOTS
            }
            Some(group) => {
                group.count > SLOTS
                    || known.iter().any(|(subject, metric)| *subject == group.name && *metric == row.metric)
            }
            None => row.subject == "network" && row.metric == "goodput_total" && groups == 1,
        };
        row.main = row.published.is_some() || row.predicted.is_some() || (telling && !repeated);
    }
    let place = |row: &ComparedRow| match row.main {
        true => MAIN.iter().position(|metric| *metric == row.metric).unwrap_or(MAIN.len()),
        false => usize::MAX,
    };
    rows.sort_by_key(place);
}
