//! Signals, and the notification of the service manager (`sd_notify(3)`).

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cellway_units::Span;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{Controlled, take_snapshot};
use crate::config::Config;

/// The service. It catches signals from its creation on.
pub(super) struct Service<W> {
    file: PathBuf,
    /// The time for which connections may end by themselves after a signal to stop.
    drain: Option<Span>,
    watched: W,
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

/// The stages of stopping: each signal leads to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    No,
    /// Connections end by themselves.
    Drains,
    /// Connections are reset.
    Ends,
}

/// Picoseconds in a microsecond.
const PS_PER_US: u64 = 1_000_000;
/// The longest time (us) that resetting the rest and clearing the rules may take: `TimeoutStopSec` of the unit.
const STOP: u64 = 15_000_000;

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager cannot be notified: {error}");
    }
}

/// Returns the first line of a problem: the others show the location in the file, which is too long for a log.
fn headline(problem: &dyn std::fmt::Display) -> String {
    problem.to_string().lines().next().unwrap_or_default().to_owned()
}

impl<W: Controlled> Service<W> {
    pub(super) fn new(file: PathBuf, drain: Option<Span>, watched: W) -> io::Result<Service<W>> {
        Ok(Service {
            file,
            drain,
            watched,
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Serves until dropped.
    pub(super) async fn serve(mut self) {
        // READY does not restart the watchdog of systemd. After an upgrade it counts from the last message of the program before,
        // which may be `period` ago.
        notify(&[NotifyState::Ready, NotifyState::Watchdog]);
        let watchdog = sd_notify::watchdog_enabled();
        // Twice per timeout, as sd_watchdog_enabled(3) advises; without a watchdog the ticks are ignored.
        let period = watchdog.map_or(Duration::from_secs(3600), |limit| limit / 2).max(Duration::from_millis(1));
        let mut tick = interval_at(Instant::now() + period, period);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stopping = Stopping::No;
        loop {
            tokio::select! {
                _ = self.hangup.recv() => self.reload(),
                _ = self.terminate.recv() => stopping = self.stop(stopping),
                _ = self.interrupt.recv() => stopping = self.stop(stopping),
                _ = tick.tick(), if watchdog.is_some() => self.alive().await,
            }
        }
    }

    /// Notifies the watchdog if the data thread answers.
    async fn alive(&self) {
        match take_snapshot(&self.watched, false).await {
            Some(_) => notify(&[NotifyState::Watchdog]),
            None => tracing::error!("the gateway does not answer; the watchdog is not notified"),
        }
    }

    fn reload(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!("the service manager cannot be notified: {error}"),
        }
        match Config::read(&self.file) {
            Ok(config) => {
                tracing::info!("{} read again", self.file.display());
                self.watched.reload(config);
            }
            Err(errors) => {
                for problem in &errors.problems {
                    tracing::error!("{}", headline(problem));
                }
                tracing::error!("{} is not applied: the old configuration stays", self.file.display());
                self.watched.not_reloaded();
            }
        }
        notify(&[NotifyState::Ready]);
    }

    /// Handles a signal to stop: the first drains the daemon, if that is configured; the next ends it; one more ends
    /// the process at once.
    fn stop(&self, stopping: Stopping) -> Stopping {
        match (stopping, self.drain) {
            (Stopping::No, Some(drain)) => {
                let patience = drain.as_ps() / PS_PER_US + STOP;
                notify(&[
                    NotifyState::Stopping,
                    NotifyState::ExtendTimeoutUsec(u32::try_from(patience).unwrap_or(u32::MAX)),
                ]);
                self.watched.drain(Some(drain));
                Stopping::Drains
            }
            (Stopping::No | Stopping::Drains, _) => {
                notify(&[NotifyState::Stopping]);
                self.watched.stop();
                Stopping::Ends
            }
            (Stopping::Ends, _) => {
                tracing::warn!("another signal to stop: ends at once");
                std::process::exit(130);
            }
        }
    }
}
