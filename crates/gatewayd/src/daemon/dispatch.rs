//! The dispatch of readiness, commands, timers and events to the components.

use cellway_sys::Ready;

use super::Daemon;
use super::handle::Command;
use super::handover::Prepared;
use super::hosts::{Input, Token, block};
use super::outbox::Event;
use super::reload;
use super::timers::Due;
use crate::config::Config;
use crate::status::{Counters, Snapshot};

impl Daemon {
    /// Processes the readiness of a descriptor.
    pub(super) fn ready(&mut self, ready: Ready) {
        match ready.token {
            // Every pass reads from the peers.
            super::PEERS => {}
            super::HOLD => self.read_syns(),
            token if super::LISTENERS.contains(&token) => self.accept(),
            token if super::WATCH.contains(&token) => self.rules.check_deletions(&mut self.cx),
            token => match Token::of(ready) {
                Some(token) => self.hosts.ready(token, ready, &mut self.cx),
                None => self.ports.ready(token, &self.readiness, &mut self.cx),
            },
        }
    }
    /// Processes a command of another thread.
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Stop => (self.running, self.next) = (false, None),
            Command::Drain { within } => {
                if self.drain.begin(within, self.left(), &mut self.cx) {
                    self.peers.ids().for_each(|peer| self.rules.follow(peer, false));
                }
            }
            Command::Reload(config) => self.reload(*config),
            Command::HandOver { config, to } => {
                let (prepared, answer) = match self.prepare_handover(*config) {
                    Ok(prepared) => (Some(Box::new(prepared)), Ok(())),
                    Err(why) => (None, Err(why)),
                };
                // The command has failed if its sender no longer waits for the answer.
                if to.send(answer).is_ok() && prepared.is_some() {
                    (self.running, self.next) = (false, prepared);
                }
            }
            Command::NotReloaded => self.cx.tally.error("reload"),
            Command::Snapshot { connections, to } => {
                // The thread that requested it may have ended.
                let _ = to.send(self.snapshot(connections));
            }
            Command::Found { token, addresses } => {
                self.lookups.ended();
                self.hosts.found(token, &addresses, &self.readiness, &mut self.cx);
            }
            Command::Rules(report) => self.rules.report(report, &mut self.cx),
        }
    }
    /// Processes a timer that has expired.
    pub(super) fn expired(&mut self, due: Due) {
        match due {
            Due::Accept(token) => self.hosts.not_accepted(token, &mut self.cx),
            Due::Check(token) => self.hosts.check(token, &mut self.cx),
            Due::Blackhole(token) => self.hosts.remove(token, &mut self.cx),
            Due::Listen => self.listen(true),
            Due::Greeting(token) => self.ports.forget(token),
            // Every pass checks whether the drain is over.
            Due::Drained => {}
            Due::Rules => self.rules.set_again(&mut self.cx),
            Due::Blocks => {
                match block::give_back() {
                    Some(wait) => self.cx.timer(wait, Due::Blocks),
                    // A burst is over: its packets have left free memory in the heap as well.
                    None => cellway_sys::return_free_memory(),
                }
            }
        }
    }
    /// Processes an event of the outbox.
    pub(super) fn process(&mut self, event: Event) {
        let Daemon { peers, hosts, interception, attempts, cx, .. } = self;
        match event {
            Event::Timer(at, due) => self.timers.add(at, due),
            Event::Refused(peer, id, reason) => {
                cx.tally.refused(reason);
                peers.call(peer, hosts, cx, |gateway, now, out| gateway.refused(now, id, reason, out));
            }
            Event::Connected(peer, id) => {
                peers.call(peer, hosts, cx, |gateway, now, out| gateway.connected(now, id, out));
            }
            Event::Readable(token, ended) => self.readable(token, ended),
            Event::Written(token, bytes) => {
                if let Some((peer, id, room)) = hosts.written(token) {
                    peers.call(peer, hosts, cx, |gateway, now, out| gateway.wrote(now, id, bytes, room, out));
                }
            }
            Event::HostLost(token, reason) => {
                if let Some((peer, id)) = hosts.flow(token) {
                    peers.call(peer, hosts, cx, |gateway, now, out| gateway.local_reset(now, id, reason, out));
                }
                hosts.lost(token);
            }
            Event::LostBytes(peer) => peers.end_for_lost_bytes(peer, hosts, cx),
            Event::Excess(peer, excess) => peers.end_for_excess(peer, excess, hosts, cx),
            Event::Reachable(peer, up) => self.rules.follow(peer, up && !self.drain.is_on()),
            Event::Attempt(attempt) => attempts.add(attempt),
            Event::Withdrawn(peer, id) => attempts.remove(peer, id),
            Event::Release(syn) => interception.release(&syn, cx),
            Event::Bypass(syn) => interception.bypass(&syn, cx),
            Event::Refuse(syn, reason) => interception.refuse(&syn, reason),
            Event::Again(syn) => self.admit(*syn),
            Event::Arrival(arrival) => self.arrive(*arrival),
            Event::NoDescriptors => self.listen(false),
        }
    }
    /// Passes on what a host has sent to the state machine.
    fn readable(&mut self, token: Token, ended: bool) {
        let Daemon { peers, hosts, cx, .. } = self;
        let Some((peer, id, Input { bytes, urgent, ended })) = hosts.poll(token, ended) else { return };
        if bytes > 0 {
            peers.call(peer, hosts, cx, |gateway, now, out| {
                if let Some(at) = urgent {
                    gateway.urgent(id, at);
                }
                gateway.received(now, id, bytes, out);
            });
            cx.tally.held_back += u64::from(hosts.is_held_back(token));
        }
        if ended {
            peers.call(peer, hosts, cx, |gateway, now, out| gateway.local_closed(now, id, out));
        }
    }

    /// Prepares to hand over to a program with this configuration, or returns the reason for which it cannot take over.
    fn prepare_handover(&self, config: Config) -> Result<Prepared, String> {
        if self.drain.is_on() {
            return Err("the gateway is draining".to_owned());
        }
        reload::applied(&self.cx.config, config.clone())?;
        match reload::unchanged(&self.cx.config, &config)[..] {
            [] => Prepared::new(config).map_err(|error| format!("no file for what is handed over: {error}")),
            ref changed => Err(format!("a restart is needed for changes of {}", changed.join(", "))),
        }
    }
    fn reload(&mut self, config: Config) {
        let Daemon { peers, hosts, cx, .. } = self;
        let unchanged = reload::unchanged(&cx.config, &config);
        let applied = reload::applied(&cx.config, config).map_err(str::to_owned).and_then(|config| {
            peers.reload(&config, hosts, cx).map_err(|error| error.to_string())?;
            Ok(config)
        });
        match applied {
            Ok(config) => {
                for name in unchanged {
                    tracing::warn!("reload: `{name}` needs a restart; its old value stays");
                }
                self.rules.reload(&config);
                cx.configure(config);
                tracing::info!("reloaded");
            }
            Err(why) => {
                tracing::error!("reload: {why}; the old configuration stays");
                cx.tally.error("reload");
            }
        }
    }

    /// Returns the status, with a line for each connection if `connections`.
    pub(super) fn snapshot(&mut self, connections: bool) -> Snapshot {
        self.drops.set(self.peers.drops(), self.cx.now);
        let Daemon { peers, hosts, rules, drain, drops, cx, .. } = self;
        Snapshot {
            name: cx.config.name.clone(),
            uptime: cx.now.since(peers.start()).as_secs_f64(),
            peers: peers.ids().map(|peer| peers.status(peer, rules.obstacle(peer), hosts)).collect(),
            opening: u64::from(hosts.waiting().len()),
            silent: u64::from(hosts.blackholed()),
            receive_drops: drops.total(),
            longest_pass: cx.tally.longest_pass.as_secs_f64(),
            long_passes: cx.tally.long_passes,
            connections: if connections { hosts.statuses(cx) } else { Vec::new() },
            draining: drain.is_on().then(|| self.left()),
            counters: self.counters(),
        }
    }
    pub(super) fn counters(&self) -> Counters {
        let mut counters = self.cx.tally.counters();
        self.peers.count(&mut counters);
        counters
    }
}
