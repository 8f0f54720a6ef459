//! Warnings about values that are larger than what the rest of the scenario lets them reach.

use cellway_spec::{BufferPer, QueueLength, Red};
use cellway_units::{Bytes, Rate};

use crate::everywhere::{Finding, everywhere};
use crate::found::Found;
use crate::model::{Attachment, Buffer, Framing, LinkIndex, Protocol, Queue, Scenario, Traffic};
use crate::plan::Point;
use crate::tree::{Node, Step, at};

/// A value that is too large in one scenario.
struct Excess {
    path: Vec<Step>,
    message: String,
}

impl Finding for Excess {
    fn path(&self) -> &[Step] {
        &self.path
    }
}

/// Returns warnings about RED thresholds above the buffer and about datagrams above the rate of their host's link.
/// A value causes a warning only if it is too large at all points of the plan; the message is that of the first.
pub(crate) fn warnings(tree: &Node, points: &[Point]) -> Vec<Found> {
    let found = everywhere(points, |scenario| excesses(tree, scenario));
    found.iter().map(|Excess { path, message }| Found::in_tree(tree, path, message)).collect()
}

fn excesses(tree: &Node, scenario: &Scenario) -> Vec<Excess> {
    let mut found: Vec<Excess> = Vec::new();
    for (i, link) in scenario.links.iter().enumerate().filter(|(_, link)| link.framing != Framing::Atm) {
        let Queue::Red(red) = link.buffer.queue else { continue };
        let crossing: Vec<&Traffic> =
            scenario.traffic.iter().filter(|group| group.route.contains(&LinkIndex(i))).collect();
        let Some((key, message)) = above_buffer(&crossing, &link.buffer, red) else { continue };
        let places = [at!["link", i, "buffer", "red", key].to_vec(), at!["buffer", "red", key].to_vec()];
        let queue = [at!["link", i, "buffer", "queue"].to_vec(), at!["buffer", "queue"].to_vec()];
        let Some(path) = places.into_iter().chain(queue).find(|path| tree.find(path).is_some()) else { continue };
        // Links that inherit the value have one warning.
        if !found.iter().any(|one| one.path == path) {
            found.push(Excess { path, message });
        }
    }
    for (i, group) in scenario.traffic.iter().enumerate() {
        if let Some(message) = above_link(scenario, group) {
            found.push(Excess { path: at!["traffic", i, "udp", "rate"].to_vec(), message });
        }
    }
    found
}

/// Returns the threshold of RED, by its key, that the buffer of a port cannot hold, and the warning. Full packets of the
/// groups that cross the port fill it.
fn above_buffer(crossing: &[&Traffic], buffer: &Buffer, red: Red) -> Option<(&'static str, String)> {
    let Red { min, max, .. } = red;
    let times = match buffer.per {
        BufferPer::Port => 1,
        BufferPer::Conversation => crossing.iter().map(|group| u64::from(group.count)).sum::<u64>().max(1),
    };
    let held = (buffer.size.bits().0 / 8).saturating_mul(times);
    let packet = crossing.iter().map(|group| group.largest_packet().0).max()?;
    let needed = |threshold| match threshold {
        QueueLength::Packets(packets) => packets.saturating_mul(packet),
        QueueLength::Bytes(Bytes(bytes)) => bytes,
    };
    let (key, threshold, result) = if needed(min) > held {
        ("min", min, "RED never drops or marks")
    } else if needed(max) > held {
        ("max", max, "the buffer overflows before RED drops or marks as many packets as max-p says")
    } else {
        return None;
    };
    let holds = match threshold {
        QueueLength::Packets(_) => format!("{} packets of {packet} B", held / packet),
        QueueLength::Bytes(_) => format!("{held} B"),
    };
    Some((key, format!("the {key} of RED is {threshold}, but the buffer holds {holds}: {result}")))
}

/// Returns a warning if the sources of a group send more than the link of their host carries.
fn above_link(scenario: &Scenario, group: &Traffic) -> Option<String> {
    let Protocol::Udp(source) = group.protocol else { return None };
    let (slots, carried) = match group.from {
        Attachment::Router(_) => (1, group.access?.rate),
        Attachment::Host(host) => (u64::from(group.count), scenario.link_rate_at_start(*group.route.first()?, host)),
    };
    let sent = source.mean_rate() * slots as f64;
    (group.count > 0 && sent > carried.as_bps() as f64).then(|| {
        let sent = Rate::from_bps(sent as u64);
        format!(
            "{sent} is more than the link of the host carries, {carried}: the queue of the host grows without limit"
        )
    })
}
