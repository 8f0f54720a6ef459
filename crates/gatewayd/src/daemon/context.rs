//! The context of the components: time, configuration, outbox and counters.

use cellway_units::Span;

use super::moment::Moment;
use super::outbox::{Event, Outbox};
use super::route::Routes;
use super::tally::Tally;
use super::timers::Due;
use crate::config::Config;

#[derive(Debug)]
pub(crate) struct Context {
    /// The time of the current pass.
    pub(crate) now: Moment,
    pub(crate) config: Config,
    /// The networks of `config`.
    pub(crate) routes: Routes,
    pub(crate) outbox: Outbox,
    pub(crate) tally: Tally,
}

impl Context {
    pub(crate) fn new(config: Config, now: Moment) -> Context {
        let routes = Routes::of(&config);
        Context { now, config, routes, outbox: Outbox::default(), tally: Tally::default() }
    }
    /// Replaces the configuration.
    pub(crate) fn configure(&mut self, config: Config) {
        self.routes = Routes::of(&config);
        self.config = config;
    }
    pub(crate) fn push(&mut self, event: Event) {
        self.outbox.push(event);
    }
    /// Sets a timer that expires `after` the time of the current pass.
    pub(crate) fn timer(&mut self, after: Span, due: Due) {
        self.outbox.push(Event::Timer(self.now + after, due));
    }
}
