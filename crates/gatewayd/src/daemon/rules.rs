//! The rules of the kernel for the state of the peers: the networks of a peer are intercepted while it is up.

use std::os::fd::BorrowedFd;

use cellway_units::Span;

use super::context::Context;
use super::handle::{Command, Handle};
use super::timers::Due;
use crate::config::Config;
use crate::error::Error;
use crate::intercept::{Follower, Rules, RulesReport, Watch};
use crate::peer_id::{PeerId, PerPeer};

/// The interval between attempts to set rules that the kernel refuses.
const AGAIN: Span = Span::from_secs(5);

/// The thread that sets the rules, and the watch for deletions; none of them without `[intercept]`.
#[derive(Debug)]
pub(crate) struct KernelRules {
    follower: Option<Follower>,
    /// None without `[intercept]`, or after an error of its sockets.
    watch: Option<Watch>,
    /// The number of the last change for each peer.
    changes: PerPeer<u64>,
}

impl KernelRules {
    /// Starts with no peer up. Reports of the thread arrive as commands.
    ///
    /// # Errors
    /// The kernel refuses the rules or the watch, or the thread cannot be started.
    pub(crate) fn start(config: &Config, handle: Handle) -> Result<KernelRules, Error> {
        if config.intercept.is_some() {
            // Networks that an earlier daemon has left intercepted would be unreachable until the peer is up.
            Rules::of(config).set_networks()?;
        }
        KernelRules::resume(config, handle)
    }
    /// Starts with the rules that the kernel has.
    ///
    /// # Errors
    /// As [`KernelRules::start`].
    pub(crate) fn resume(config: &Config, handle: Handle) -> Result<KernelRules, Error> {
        let changes = config.peers.iter().map(|_| 0).collect();
        let Some(intercept) = &config.intercept else {
            return Ok(KernelRules { follower: None, watch: None, changes });
        };
        let rules = Rules::of(config);
        // Before the thread reads the rules for the first time: no deletion is missed.
        let watch = Watch::new(intercept).map_err(|source| Error::Io { what: "watch the rules".into(), source })?;
        let follower = Follower::start(rules, move |report| handle.send(Command::Rules(report)))?;
        Ok(KernelRules { follower: Some(follower), watch: Some(watch), changes })
    }
    /// Returns the descriptors of the watch.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watch.iter().flat_map(Watch::fds)
    }
    /// Starts or stops the interception of the networks of a peer.
    pub(crate) fn follow(&mut self, peer: PeerId, up: bool) {
        if let Some(follower) = &mut self.follower {
            self.changes[peer] = follower.peer(peer, up);
        }
    }
    pub(crate) fn reload(&mut self, config: &Config) {
        if let Some(follower) = &mut self.follower {
            follower.reload(config);
        }
    }
    /// Processes a report of the thread.
    pub(crate) fn report(&mut self, report: RulesReport, cx: &mut Context) {
        let before = self.follower.as_ref().and_then(|follower| follower.lacking().map(str::to_owned));
        if let Some(follower) = &mut self.follower {
            follower.process(&report);
        }
        match report {
            RulesReport::Applied { result: Ok(()), .. } | RulesReport::Checked(Ok(false)) => {}
            RulesReport::Applied { result: Err(e), .. } => {
                tracing::error!("the rules cannot follow: {e}");
                cx.tally.error("rules");
            }
            RulesReport::Checked(Ok(true)) => {
                tracing::warn!(
                    "rules of the kernel were deleted by another program, and are set again; connections that began \
                     meanwhile bypassed the gateways, relayed ones may have been reset"
                );
                cx.tally.restored += 1;
            }
            RulesReport::Checked(Err(e)) => {
                let why = e.to_string();
                if before.as_ref() != Some(&why) {
                    tracing::error!("rules of the kernel are missing and cannot be set again: {why}");
                }
                cx.tally.error("rules");
                // Without a watch there is a timer already.
                if self.watch.is_some() {
                    cx.timer(AGAIN, Due::Rules);
                }
            }
        }
    }
    /// Checks the rules if the watch reports a deletion. Rules that the kernel has refused have a timer instead: a failed
    /// attempt deletes rules itself.
    pub(crate) fn check_deletions(&mut self, cx: &mut Context) {
        let Some(watch) = &mut self.watch else { return };
        match watch.has_deletions() {
            Ok(false) => return,
            Ok(true) => {}
            Err(e) => {
                tracing::error!(
                    "deletions of rules are not reported any more, so the rules are checked every 5 s: {e}"
                );
                cx.tally.error("rules");
                // A descriptor that stays readable would wake this thread all the time.
                self.watch = None;
                // Missing rules have a timer.
                if self.follower.as_ref().is_none_or(|follower| follower.lacking().is_none()) {
                    cx.timer(AGAIN, Due::Rules);
                }
            }
        }
        if let Some(follower) = self.follower.as_mut().filter(|follower| follower.lacking().is_none()) {
            follower.check();
        }
    }
    /// Sets rules again that the kernel has refused, or that may have been deleted without a report.
    pub(crate) fn set_again(&mut self, cx: &mut Context) {
        if let Some(follower) = &mut self.follower {
            follower.check();
            if self.watch.is_none() {
                cx.timer(AGAIN, Due::Rules);
            }
        }
    }
    /// Returns the reason for which the kernel does not intercept the networks of a peer that is up, if there is one.
    pub(crate) fn obstacle(&self, peer: PeerId) -> Option<String> {
        let follower = self.follower.as_ref()?;
        if let Some(why) = follower.lacking() {
            return Some(format!("the rules of the kernel are lacking: {why}"));
        }
        (!follower.has_applied(self.changes[peer])).then(|| "the rules of the kernel are not changed yet".to_owned())
    }
    /// Returns true if the kernel has not executed all changes.
    pub(crate) fn is_behind(&self) -> bool {
        self.follower.as_ref().is_some_and(Follower::is_behind)
    }
    /// Waits until the kernel has executed all changes, and ends the thread.
    pub(crate) fn end(&mut self) {
        if let Some(follower) = self.follower.take() {
            follower.end();
        }
    }
}
