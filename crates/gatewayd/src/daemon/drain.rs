//! Draining: the daemon ends after its connections.
//!
//! A daemon that drains accepts no new connections: connections to a peer's networks take the path that its `down`
//! selects, ports refuse them, and a request of a peer is refused, upon which a peer over QUIC forwards the client's
//! SYN. Established connections continue.

use cellway_units::Span;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::moment::Moment;
use super::timers::Due;

/// The time for which a drained daemon continues without connections, so that peers get the last packets and status
/// requests an answer.
const EMPTY: Span = Span::from_secs(1);

/// The drain, if one has begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Drain(Option<Progress>);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Progress {
    /// The time at which remaining connections are reset; never if not set.
    until: Option<Moment>,
    /// The time since which there are no connections.
    empty: Option<Moment>,
}

impl Drain {
    /// Returns true if no new connections are accepted.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }
    /// Begins to drain, or sets the time limit again. Returns true if it begins. `left` connections remain.
    pub(crate) fn begin(&mut self, within: Option<Span>, left: u64, cx: &mut Context) -> bool {
        let until = within.map(|within| cx.now + within);
        let begins = self.0.replace(Progress { until, empty: None }).is_none();
        if let Some(within) = within {
            cx.timer(within, Due::Drained);
        }
        tracing::info!(
            connections = left,
            within = within.map(tracing::field::display),
            "draining: no new connections are accepted"
        );
        begins
    }
    /// Continues a drain that was handed over.
    pub(crate) fn resume(&self, cx: &mut Context) {
        if let Some(Progress { until: Some(until), .. }) = self.0 {
            cx.timer(until.since(cx.now), Due::Drained);
        }
    }
    /// Returns true if the daemon has drained, or if the time limit is over. `left` connections remain.
    pub(crate) fn is_over(&mut self, left: u64, cx: &mut Context) -> bool {
        let Some(progress) = &mut self.0 else { return false };
        if left > 0 {
            progress.empty = None;
            let late = progress.until.is_some_and(|until| until <= cx.now);
            if late {
                tracing::warn!(
                    connections = left,
                    "the time limit of the drain is over: remaining connections are reset"
                );
            }
            return late;
        }
        match progress.empty {
            None => {
                progress.empty = Some(cx.now);
                cx.timer(EMPTY, Due::Drained);
                false
            }
            Some(since) if cx.now.since(since) >= EMPTY => {
                tracing::info!("drained");
                true
            }
            Some(_) => false,
        }
    }
}
