//! From the calendar to windows, and back.

use std::collections::BTreeMap;

use cellway_units::Time;

use super::deliveries::Deliveries;
use super::inputs::{Arriving, Inputs, Moment};
use super::packets::PacketLane;
use super::routes::Routes;
use super::{ActiveSet, Kind, Lookahead, Station, Windows};
use crate::calendar::{Calendar, Event};
use crate::fabric::{Fabric, Step};
use crate::ids::PortId;
use crate::pace::Pulse;
use crate::packet::PacketRef;
use crate::place::Place;
use crate::port::Port;

impl<B: Clone> Fabric<B> {
    /// Has the network run in windows from now on: equal results, in less time. All events up to `now` have happened, the
    /// service of lines too. Returns false, and changes nothing, if it cannot: no time passes on a path, or a part of it is
    /// decided event by event (a tap, delays that vary, copies, outages that empty a queue,
    /// recordings of loads), or another event may follow at `now`. Conversations may open and close between two calls of
    /// [`Fabric::run_quietly`] only. Before each [`Fabric::run`] the caller declares with [`Fabric::set_horizon`] up to which
    /// instant it neither reads nor changes anything: at least the limit of that run.
    pub fn run_in_windows(&mut self, now: Time) -> bool {
        let is_over = self.to_serve.is_empty() && self.calendar.next().is_none_or(|next| next > now);
        if self.tap.is_some() || !is_over {
            return false;
        }
        if !self.ports.iter().all(|port| port.is_independent()) {
            return false;
        }
        let Some((order, lookahead, feedback)) = Lookahead::new(now, self) else { return false };
        self.calendar = Calendar::default();
        let is_of_loop = self.of_loops();
        let station = |&port: &u32| Station {
            port,
            kind: Kind::of(&self.ports[port as usize], is_of_loop[port as usize]),
            wakes: Time::ZERO,
            reaches: Time::ZERO,
        };
        let lane = |(index, port): (usize, &Port)| {
            port.cells().is_none().then(|| Box::new(PacketLane::new(index, port, &lookahead, feedback.is_some())))
        };
        let stations: Vec<Station> = order.iter().map(station).collect();
        let has_single = stations.iter().any(|station| matches!(station.kind, Kind::Single));
        let mut windows = Windows {
            routes: self.routes.take().unwrap_or_else(|| Box::new(Routes::new(self))),
            inputs: vec![Inputs::default(); self.ports.len()],
            behind: vec![None; self.ports.len()],
            lanes: self.ports.iter().enumerate().map(lane).collect(),
            active: ActiveSet::new(order.len()),
            stations,
            lookahead,
            feedback,
            deliveries: Deliveries::default(),
            members: Vec::new(),
            due: if has_single { vec![None; self.ports.len()] } else { Vec::new() },
            rounds: BTreeMap::new(),
            round: 0,
            quiet_until: now,
            is_live: false,
            sent_until: now,
            known_until: now,
            horizon: now,
        };
        for (index, port) in (0..).zip(&mut self.ports) {
            self.events += u64::from(port.await_nothing(now));
            let has_events = port.next_arrival().is_some() || port.next_release().is_some();
            if !port.is_idle() || port.waiting() > 0 || has_events {
                windows.activate(index);
            }
            if let Some(lane) = &mut windows.lanes[index as usize] {
                lane.take(now, index, port, &self.packets);
            } else if windows.lookahead.is_at_once[index as usize] && port.on_link() > 0 {
                windows.rounds.insert(index, vec![0; port.on_link()].into());
            }
        }
        self.windows = Some(Box::new(windows));
        true
    }

    /// As [`Fabric::run_in_windows`], unless the calendar takes less time: lines wait for each other over links of little delay.
    /// Returns false if an attempt at a later instant may have another outcome: others may follow at `now`.
    pub fn prefer_windows(&mut self, now: Time) -> bool {
        if self.deadline() == Some(now) {
            return false;
        }
        let is_slower = |windows: &Windows| windows.feedback.as_ref().is_some_and(|feedback| !feedback.is_useful());
        if self.run_in_windows(now) && self.windows.as_deref().is_some_and(is_slower) {
            self.leave_windows(now);
        }
        true
    }

    /// Has the network run event by event again. It must have been run up to `now`, with `now` as the horizon; does nothing if
    /// it does not run in windows.
    ///
    /// # Panics
    ///
    /// If a line has run past `now`.
    pub fn leave_windows(&mut self, now: Time) {
        let Some(mut windows) = self.windows.take() else { return };
        let is_over = windows.horizon <= now && windows.deliveries.first().is_none();
        assert!(is_over, "the network has run past {now}");
        self.routes = Some(windows.routes);
        let mut frames = Vec::new();
        for (index, lane) in (0..).zip(&mut windows.lanes) {
            let port = &mut self.ports[index as usize];
            if let Some(lane) = lane {
                frames.clear();
                lane.give_back(port, &mut frames);
                frames.iter().for_each(|&frame| self.passes_port(frame, PortId(index)));
            }
            let port = &mut self.ports[index as usize];
            if let Some(behind) = &mut windows.behind[index as usize] {
                let end = Place { at: Time::MAX, within: 0 };
                while let Some((place, Arriving::Cell(cell))) = behind.take(Moment::first(Time::MAX), end) {
                    port.put_cell_on_link(Pulse { at: place.at, carry: 0 }, cell);
                }
            }
            if port.is_idle() && port.waiting() == 0 {
                // The end of the last service, which a line in windows leaves to its next arrival.
                port.end_service();
            }
            if let Some(at) = port.awaits_departure() {
                self.calendar.add(at, Event::Departure(index));
            } else if port.is_idle()
                && let Some(at) = port.ask()
            {
                self.calendar.add(at, Event::Release(index));
            }
            if let Some(at) = port.next_arrival() {
                self.calendar.add(at, Event::Arrival(index));
            }
        }
    }

    /// Sets the steps of a packet that is at a line of packets, of which the packet has known more in windows.
    fn passes_port(&mut self, frame: PacketRef, port: PortId) {
        let (packet, way, _) = self.packets.position(frame);
        let Some(conversation) = &self.conversations[packet.conversation as usize] else { return };
        let is_here = |step: &Step| matches!(*step, Step::Packet(at) if at == port);
        if let Some(place) = conversation.ways()[way].iter().position(is_here) {
            self.packets.set_steps(frame, place as u16 + 1);
        }
    }
}
