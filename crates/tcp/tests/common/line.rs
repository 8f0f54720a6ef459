//! A sender that always has data and its receiver, over a line of fixed delay that loses chosen segments.

use std::collections::VecDeque;

use cellway_tcp::{Config, Endpoint, Output, Segment, TcpSpec};
use cellway_units::{Span, Time};

pub struct Line {
    pub sender: Endpoint,
    pub receiver: Endpoint,
    pub now: Time,
    one_way: Span,
    /// Segments in flight to the receiver and to the sender.
    flying: [VecDeque<(Time, Segment)>; 2],
    /// Data segments sent on the line, including retransmissions.
    pub sent: u64,
    out: Output,
}

impl Line {
    /// Connects over a round trip of `rtt`.
    pub fn new(config: TcpSpec, rtt: Span) -> Line {
        config.validate().unwrap();
        let mut line = Line {
            sender: Endpoint::active(Config::from(config), 1_000),
            receiver: Endpoint::passive(Config::from(config), 2_000),
            now: Time::ZERO,
            one_way: rtt / 2,
            flying: Default::default(),
            sent: 0,
            out: Output::default(),
        };
        line.sender.connect(Time::ZERO, &mut line.out);
        line.put(0, &mut |_| false);
        line
    }

    /// Runs until `end`; `lose` is called for each data segment, numbered from 1. `seen` is called with the sender
    /// before and after each segment that it receives.
    pub fn run(
        &mut self,
        end: Time,
        mut lose: impl FnMut(u64) -> bool,
        mut seen: impl FnMut(Time, &Endpoint, &Endpoint),
    ) {
        loop {
            let arrival = |i: usize| self.flying[i].front().map(|&(at, _)| at);
            let wake = |e: &Endpoint| e.deadline().map(|(at, _)| at);
            let all = [arrival(0), arrival(1), wake(&self.sender), wake(&self.receiver)];
            let Some((at, what)) = all.iter().enumerate().filter_map(|(i, t)| t.map(|t| (t, i))).min() else { return };
            if at > end {
                return;
            }
            self.now = at;
            match what {
                0 => {
                    let (_, segment) = self.flying[0].pop_front().unwrap();
                    self.receiver.receive(at, &segment, &mut self.out);
                    self.put(1, &mut lose);
                }
                1 => {
                    let (_, segment) = self.flying[1].pop_front().unwrap();
                    let before = self.sender.clone();
                    self.sender.receive(at, &segment, &mut self.out);
                    self.sender.write(at, u64::MAX, &mut self.out);
                    seen(at, &before, &self.sender);
                    self.put(0, &mut lose);
                }
                2 => {
                    self.sender.wake(at, &mut self.out);
                    self.put(0, &mut lose);
                }
                _ => {
                    self.receiver.wake(at, &mut self.out);
                    self.put(1, &mut lose);
                }
            }
        }
    }

    fn put(&mut self, direction: usize, lose: &mut dyn FnMut(u64) -> bool) {
        for segment in self.out.segments.drain(..) {
            let data = direction == 0 && segment.len > 0;
            self.sent += u64::from(data);
            if !(data && lose(self.sent)) {
                self.flying[direction].push_back((self.now + self.one_way, segment));
            }
        }
        self.out.events.clear();
    }
}
