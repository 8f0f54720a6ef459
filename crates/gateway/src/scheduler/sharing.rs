//! The choice of the class that sends next: deficit round robin over the classes, each with a ceiling or none.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use super::ceiling::Ceiling;
use super::turns::Turns;
use crate::class::{ClassId, ClassStats, Classes};
use crate::packet::FlowId;

/// The flows with data, by class.
///
/// Each round adds a quantum to the deficit of every class: a full packet for the class with the largest share, and
/// less in proportion for the others. A class sends while its deficit is positive, and each frame takes from it what it
/// takes of the rate (Shreedhar and Varghese, IEEE/ACM Trans. Networking 4 (3), 1996; in its variant of section V the
/// last frame may make the deficit negative, so that the length of a frame need not be known in advance). Rounds in
/// which no class could send are taken in one step. A class that has nothing to send, or is at its ceiling, keeps at
/// most one quantum, and the others share the rest. The cost of a frame grows with the number of classes only; nothing
/// is allocated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sharing {
    classes: Classes,
    queues: Vec<Queue>,
    /// The class whose turn it is, or was the last time.
    current: usize,
    /// Flows with data, of all classes.
    tokens: u32,
    /// The largest share.
    most: i64,
    /// A full packet.
    packet: Bits,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Queue {
    flows: Turns,
    /// Those of `flows` that have ended. At most half of them, so that a class at its ceiling does not grow with flows that
    /// end there.
    ended: u32,
    share: i64,
    /// In bits of the link times the largest share of all classes: so quanta are integers.
    deficit: i64,
    ceiling: Option<Ceiling>,
    /// True if the next frame may leave above the ceiling.
    exempt: bool,
    stats: ClassStats,
}

impl Queue {
    /// Returns the earliest instant at which it has something to send.
    fn ready(&self) -> Option<Time> {
        let at = self.ceiling.as_ref().filter(|_| !self.exempt).map_or(Time::ZERO, Ceiling::ready);
        (!self.flows.is_empty()).then_some(at)
    }
    /// Continues from `old`, the queue of this class when the largest share was `before`; it is `most` now.
    fn continue_from(&mut self, old: &mut Queue, before: i64, most: i64) {
        if self.share == old.share {
            let deficit = i128::from(old.deficit) * i128::from(most) / i128::from(before);
            self.deficit = i64::try_from(deficit).unwrap_or(0);
        }
        if let (Some(ceiling), Some(earlier)) = (&mut self.ceiling, &old.ceiling)
            && ceiling.rate() == earlier.rate()
        {
            (self.stats.at_ceiling, self.exempt) = (old.stats.at_ceiling, old.exempt);
            self.ceiling = old.ceiling.take();
        }
    }
    fn is_ready(&self, now: Time) -> bool {
        self.ready().is_some_and(|at| at <= now)
    }
}

impl Default for Sharing {
    fn default() -> Sharing {
        Sharing::new(Classes::default())
    }
}

impl Sharing {
    pub(super) fn new(classes: Classes) -> Sharing {
        let queue = |class: &crate::class::Class| Queue {
            flows: Turns::default(),
            ended: 0,
            share: class.share.get().into(),
            deficit: 0,
            ceiling: class.ceiling.map(Ceiling::new),
            exempt: false,
            stats: ClassStats::default(),
        };
        let queues: Vec<Queue> = classes.as_slice().iter().map(queue).collect();
        let most = queues.iter().map(|queue| queue.share).max().unwrap_or(1);
        Sharing { classes, current: queues.len() - 1, queues, tokens: 0, most, packet: Bits(1) }
    }
    /// Sets the size of a full packet, the lateness of packets that is made up for, and the rate of all classes.
    pub(super) fn set_packet(&mut self, packet: Bits, slack: Span, line: Rate) {
        self.packet = packet;
        let classes = self.queues.len() as u64;
        let ceilings = self.queues.iter_mut().filter_map(|queue| queue.ceiling.as_mut());
        ceilings.for_each(|ceiling| ceiling.set_slack(slack, packet, classes, line));
    }
    /// Replaces the classes, where `class_of` gives the new class of each flow that has not ended. Counters of classes
    /// with the name of an earlier one continue; the deficit continues if the share is the same, and the pacer if the
    /// ceiling is.
    pub(super) fn set_classes(&mut self, classes: Classes, turn: u32, class_of: impl Fn(FlowId) -> Option<ClassId>) {
        let mut old = std::mem::replace(self, Sharing::new(classes));
        for (class, queue) in self.classes.as_slice().iter().zip(&mut self.queues) {
            let Some(place) = old.classes.as_slice().iter().position(|other| other.name == class.name) else {
                continue;
            };
            queue.stats = old.stats(place);
            queue.continue_from(&mut old.queues[place], old.most, self.most);
        }
        let name = &old.classes.as_slice()[old.current].name;
        let current = self.classes.as_slice().iter().position(|class| class.name == *name);
        self.current = current.unwrap_or(self.current);
        for flow in old.queues.iter_mut().flat_map(|queue| queue.flows.drain()) {
            if let Some(class) = class_of(flow) {
                self.push(flow, class, turn);
            }
        }
    }
    /// Forgets all flows, and with them deficits and the clock.
    pub(super) fn clear(&mut self) {
        for queue in &mut self.queues {
            (queue.flows, queue.ended, queue.deficit, queue.exempt) = (Turns::default(), 0, 0, false);
        }
        (self.tokens, self.current) = (0, self.queues.len() - 1);
        self.restart();
    }
    /// Prepares for a clock that starts again.
    pub(super) fn restart(&mut self) {
        self.queues.iter_mut().filter_map(|queue| queue.ceiling.as_mut()).for_each(Ceiling::restart);
    }
    pub(super) fn classes(&self) -> &Classes {
        &self.classes
    }
    /// Returns the counters of the class at an index.
    pub(super) fn stats(&self, place: usize) -> ClassStats {
        let queue = &self.queues[place];
        let held = queue.ceiling.as_ref().map_or(Span::ZERO, |ceiling| ceiling.held);
        ClassStats { at_ceiling: queue.stats.at_ceiling + held, ..queue.stats }
    }

    pub(super) fn tokens(&self) -> u32 {
        self.tokens
    }
    pub(super) fn push(&mut self, flow: FlowId, class: ClassId, turn: u32) {
        self.queues[class.0].flows.push(flow, turn);
        self.tokens += 1;
    }
    /// Lets the next frame of `class` leave above its ceiling, against which it still counts.
    pub(super) fn exempt(&mut self, class: ClassId) {
        self.queues[class.0].exempt = true;
    }
    /// Returns the earliest instant at which a class has something to send.
    pub(super) fn ready(&self) -> Option<Time> {
        self.queues.iter().filter_map(Queue::ready).min()
    }
    /// Returns the flow that sends next.
    pub(super) fn next(&mut self, now: Time) -> Option<FlowId> {
        self.current = self.choose(now)?;
        self.queues[self.current].flows.next()
    }
    fn choose(&mut self, now: Time) -> Option<usize> {
        let count = self.queues.len();
        if count == 1 {
            return self.queues[0].is_ready(now).then_some(0);
        }
        let sends = |queue: &Queue| queue.deficit > 0 && queue.is_ready(now);
        if sends(&self.queues[self.current]) {
            return Some(self.current);
        }
        let next = |this: &Sharing| {
            (this.current + 1..count).chain(0..=this.current).find(|&place| sends(&this.queues[place]))
        };
        if let Some(place) = next(self) {
            return Some(place);
        }
        let packet = self.packet.0.max(1) as i64;
        let rounds = |queue: &Queue| -queue.deficit / (packet * queue.share) + 1;
        let rounds = self.queues.iter().filter(|queue| queue.is_ready(now)).map(rounds).min()?;
        for queue in &mut self.queues {
            let quantum = packet * queue.share;
            queue.deficit = queue.deficit.saturating_add(quantum.saturating_mul(rounds)).min(quantum);
        }
        next(self)
    }
    /// Records that the flow that was next has sent `bytes` in a frame that takes `bits` of the rate.
    pub(super) fn sent(&mut self, now: Time, bits: Bits, bytes: u32) {
        // A single class sends without rounds, which would raise the deficit again.
        let cost = if self.queues.len() > 1 { bits.0 as i64 * self.most } else { 0 };
        let queue = &mut self.queues[self.current];
        queue.deficit -= cost;
        queue.exempt = false;
        if let Some(ceiling) = &mut queue.ceiling {
            ceiling.send(now, bits);
        }
        queue.stats.frames += 1;
        queue.stats.data_bytes += u64::from(bytes);
        queue.stats.line.0 += bits.0;
    }
    /// Removes the flow that was next, which has nothing to send; `ended` is true if it has ended.
    pub(super) fn drop_next(&mut self, ended: bool) {
        let queue = &mut self.queues[self.current];
        queue.flows.drop_next();
        queue.ended -= u32::from(ended);
        self.tokens -= 1;
    }
    /// Records that a flow of `class` that is among the flows with data has ended. `lives` returns true for flows that
    /// have not.
    pub(super) fn flow_ended(&mut self, class: ClassId, lives: impl Fn(FlowId) -> bool) {
        let queue = &mut self.queues[class.0];
        queue.ended += 1;
        if queue.ended as usize > queue.flows.len() / 2 {
            queue.flows.retain(lives);
            self.tokens -= std::mem::take(&mut queue.ended);
        }
    }
    /// Records that the flow that was next has sent a frame; `more` is true if it has more data.
    pub(super) fn turn_over(&mut self, more: bool, turn: u32) {
        self.queues[self.current].flows.sent(more, turn);
        self.tokens -= u32::from(!more);
    }
    /// Records that all frames that may leave now have left.
    pub(super) fn wait(&mut self, now: Time) {
        for queue in &mut self.queues {
            let waits = !queue.flows.is_empty();
            if let Some(ceiling) = &mut queue.ceiling {
                ceiling.wait(now, waits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;
    use crate::class::Class;

    const PACKET: Bits = Bits(1_000);
    const LINE: Rate = Rate::from_bps(1_000_000);

    /// Creates classes with one flow each, which has the number of its class and always has data.
    fn sharing(shares: &[(u16, Option<u64>)]) -> Sharing {
        let class = |(n, &(share, ceiling)): (usize, &(u16, Option<u64>))| Class {
            ports: vec![n as u16..=n as u16],
            share: NonZeroU16::new(share).unwrap(),
            ceiling: ceiling.map(Rate::from_bps),
            ..Class::new(&n.to_string())
        };
        let mut sharing = Sharing::new(Classes::new(shares.iter().enumerate().map(class).collect()).unwrap());
        sharing.set_packet(PACKET, Span::ZERO, LINE);
        (0..shares.len()).for_each(|n| sharing.push(FlowId(n as u64), ClassId(n), 1));
        sharing
    }
    /// Sends on a link with a packet time of one millisecond; `None` if no class may send.
    fn send(sharing: &mut Sharing, ms: u64, more: bool) -> Option<u64> {
        let now = Time::ZERO + Span::from_ms(ms);
        let flow = sharing.next(now)?;
        sharing.sent(now, PACKET, 100);
        sharing.turn_over(more, 1);
        sharing.wait(now);
        Some(flow.0)
    }
    fn order(sharing: &mut Sharing, ms: std::ops::Range<u64>) -> String {
        ms.map(|ms| send(sharing, ms, true).map_or("-".to_owned(), |flow| flow.to_string())).collect()
    }

    #[test]
    fn a_round_gives_each_class_packets_by_its_share() {
        assert_eq!(order(&mut sharing(&[(1, None), (1, None)]), 0..6), "010101");
        // A class with a larger share sends in more rounds, not more in one.
        assert_eq!(order(&mut sharing(&[(1, None), (3, None)]), 0..12), "011101110111");
        let many = order(&mut sharing(&[(1, None), (1_000, None)]), 0..5_005);
        assert_eq!(many.matches('0').count(), 5);
        let odd = order(&mut sharing(&[(3, None), (7, None), (65_535, None)]), 0..65_545);
        assert_eq!(["0", "1"].map(|class| odd.matches(class).count()), [3, 7]);
    }

    #[test]
    fn a_class_that_has_had_nothing_waits_for_a_packet_of_each_other() {
        let mut sharing = sharing(&[(1, None), (1, None), (1, None)]);
        assert_eq!(send(&mut sharing, 0, true), Some(0));
        assert_eq!(send(&mut sharing, 1, false), Some(1), "it has no more");
        assert_eq!(order(&mut sharing, 2..6), "2020");
        sharing.push(FlowId(1), ClassId(1), 1);
        let next = order(&mut sharing, 6..8);
        assert!(next.contains('1'), "{next}");
        // It has earned no more credit than that.
        assert_eq!(order(&mut sharing, 8..14).matches('1').count(), 2);
    }

    #[test]
    fn a_class_at_its_ceiling_is_passed_over_and_the_rest_goes_to_the_others() {
        // A quarter of the link; its first packet is late by one of the other class.
        let mut both = sharing(&[(1, None), (1, Some(250_000))]);
        assert_eq!(order(&mut both, 0..12), "010010001000");
        assert_eq!(both.ready(), Some(Time::ZERO));
        let mut alone = sharing(&[(1, None), (1, Some(250_000))]);
        assert_eq!(alone.next(Time::ZERO), Some(FlowId(0)));
        alone.turn_over(false, 1);
        assert_eq!(order(&mut alone, 0..12), "1---1---1---");
        assert_eq!(alone.ready(), Some(Time::ZERO + Span::from_ms(12)));
        let stats = alone.stats(1);
        assert_eq!((stats.frames, stats.data_bytes, stats.line), (3, 300, Bits(3_000)));
        assert_eq!(stats.at_ceiling, Span::from_ms(8), "counted when it sends");
        alone.exempt(ClassId(1));
        assert_eq!(alone.ready(), Some(Time::ZERO));
        assert_eq!(order(&mut alone, 9..20), "1------1---", "what leaves above the ceiling counts");
    }

    /// It may send when the others' packets are on the link, and is late each time.
    #[test]
    fn a_ceiling_that_is_no_multiple_of_a_packet_is_reached() {
        let sent = order(&mut sharing(&[(1, None), (1, Some(400_000))]), 0..1_000);
        assert_eq!(sent.matches('1').count(), 400);
    }

    /// A class whose share is less than its ceiling is late all the time. It makes up for two packets of that, not for one
    /// of each class.
    #[test]
    fn lateness_of_a_class_below_its_ceiling_is_not_saved() {
        let idle = [(1, None); 14];
        let mut sharing = sharing(&[&[(1_000, None), (1, Some(10_000))], &idle[..]].concat());
        (2..16).for_each(|place| sharing.queues[place].flows = Turns::default());
        sharing.tokens = 2;
        let both = order(&mut sharing, 0..5_000);
        assert!((4..=6).contains(&both.matches('1').count()), "{both}");
        sharing.queues[0].flows = Turns::default();
        let alone = order(&mut sharing, 5_000..6_000).matches('1').count();
        assert!((10..=12).contains(&alone), "{alone}");
    }

    #[test]
    fn classes_that_stay_the_same_keep_their_deficits_and_ceilings() {
        let shares = [(1, None), (3, None), (1, Some(100_000))];
        let mut sharing = sharing(&[&shares[..], &[(1, None)]].concat());
        sharing.queues[3].flows = Turns::default();
        sharing.tokens = 3;
        let mut sent = String::new();
        for ms in 0..400 {
            sent += &order(&mut sharing, ms..ms + 1);
            let mut classes = sharing.classes().as_slice().to_vec();
            classes[3].share = NonZeroU16::new(1 + (ms % 7) as u16).unwrap();
            sharing.set_classes(Classes::new(classes).unwrap(), 1, |flow| Some(ClassId(flow.0 as usize)));
            sharing.set_packet(PACKET, Span::ZERO, LINE);
        }
        let count = ["0", "1", "2"].map(|class| sent.matches(class).count());
        let near = |count: usize, expected: usize| count.abs_diff(expected) <= 1;
        assert!(near(count[0], 90) && near(count[1], 270) && near(count[2], 40), "{count:?}");
    }

    #[test]
    fn flows_change_their_classes_and_counters_continue() {
        let mut sharing = sharing(&[(1, None), (1, None)]);
        order(&mut sharing, 0..4);
        let web = Class { share: NonZeroU16::new(3).unwrap(), ports: vec![9..=9], ..Class::new("1") };
        let classes = Classes::new(vec![web]).unwrap();
        sharing.set_classes(classes, 1, |flow| Some(ClassId(usize::from(flow != FlowId(1)))));
        sharing.set_packet(PACKET, Span::ZERO, LINE);
        assert_eq!((sharing.stats(0).frames, sharing.tokens()), (2, 2));
        let next = order(&mut sharing, 4..24);
        assert!(next.matches('1').count().abs_diff(15) <= 1, "{next}");
    }
}
