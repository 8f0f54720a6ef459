//! Hosts that are real: their packets come at the present instant alone, and conversations open and close meanwhile.

use cellway_units::Time;

use super::Kind;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::Delivery;

impl<B: Clone> Fabric<B> {
    /// As [`Fabric::run`], for hosts that send nothing before `limit`, whatever reaches them. After `None` all that happens
    /// before `limit` has happened, and nothing else: the network may be read and changed then, conversations may open and
    /// close, and packets may be sent at the last instant before `limit`. They come to their lines with the next call of
    /// [`Fabric::settle`] or of this function.
    pub fn run_quietly(&mut self, limit: Time, delivered: &mut Vec<Delivery<B>>) -> Option<Time> {
        if self.windows.is_none() {
            return self.run(limit, delivered);
        }
        self.set_horizon(limit);
        self.windows.as_mut()?.is_live = true;
        if self.windows.as_ref()?.sent_until < limit {
            self.run_pass(limit);
        }
        let windows = self.windows.as_mut()?;
        let Some(moment) = windows.deliveries.first().filter(|moment| moment.at < limit) else {
            windows.round = 0;
            return None;
        };
        self.take_deliveries(moment, delivered);
        Some(moment.at)
    }

    /// In windows, has the packets that hosts have sent since the last [`Fabric::run_quietly`] come to their lines.
    pub fn settle(&mut self) {
        if let Some(sent_until) = self.windows.as_ref().map(|windows| windows.sent_until) {
            self.run_pass(sent_until);
        }
    }

    /// Returns an instant before which no packet reaches a host if hosts send nothing: mostly that of the next one.
    pub fn quiet_until(&self) -> Option<Time> {
        match &self.windows {
            Some(windows) => {
                let first = self.next_delivery().unwrap_or(Time::MAX).min(windows.quiet_until);
                Some(first.max(windows.horizon))
            }
            None => self.calendar.next(),
        }
    }

    /// Returns the first instant after `now` at which the line of a port may take a unit that waits; `None` if the line is
    /// free, and no gate holds one back.
    pub fn next_service(&self, port: PortId, now: Time) -> Option<Time> {
        let port = self.port(port);
        [Some(port.free_at()), port.next_release()].into_iter().flatten().filter(|&at| at > now).min()
    }

    /// Has the network run event by event from the limit of the last [`Fabric::run_quietly`] on, which has returned `None`.
    /// Does nothing if it does so already.
    pub fn stop_windows(&mut self) {
        self.settle();
        if let Some(horizon) = self.windows.as_ref().map(|windows| windows.horizon) {
            self.leave_windows(horizon);
        }
    }

    /// Prepares for a conversation that is opened over these paths: leaves windows if the order of the lines or their
    /// distances become others.
    pub(in crate::fabric) fn makes_way(&mut self, paths: [&[PortId]; 2]) {
        let Some(windows) = &self.windows else { return };
        let least = |port: PortId| self.port(port).least_delay();
        let has = |path: &&[PortId]| {
            let feedback = windows.feedback.as_ref();
            let waits = feedback.is_none_or(|feedback| feedback.has(path));
            waits && windows.lookahead.has(path, least, feedback.is_none())
        };
        if !paths.iter().all(has) {
            self.stop_windows();
        }
    }

    /// Enters the steps of a conversation that has been opened.
    pub(in crate::fabric) fn enter_route(&mut self, conversation: u32) {
        let routes = self.windows.as_mut().map(|windows| &mut windows.routes).or(self.routes.as_mut());
        if let (Some(routes), Some(known)) = (routes, &self.conversations[conversation as usize]) {
            routes.enter(conversation, known.ways());
        }
    }

    /// Enters what a port decides by the cell after a change of its gates or policers.
    pub(in crate::fabric) fn decides_anew(&mut self, port: PortId) {
        if let Some(windows) = &mut self.windows {
            let place = windows.lookahead.place[port.0 as usize];
            let kind = &mut windows.stations[place as usize].kind;
            *kind = Kind::of(&self.ports[port.0 as usize], matches!(kind, Kind::Single));
            // Cells that a gate has held may leave sooner.
            windows.quiet_until = windows.quiet_until.min(windows.horizon);
            windows.activate_place(place);
        }
    }
}
