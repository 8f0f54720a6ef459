//! The run itself: sockets and timers, event by event.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use cellway_apps::random::Streams;
use cellway_apps::{Action, Conversation, Side};
use cellway_units::{Span, Time};
use mio::{Events, Poll, Token, Waker};

use super::alarm::Alarm;
use super::connection::Connection;
use super::end::{End, Event, Payload};
use super::error::PlayerError;
use super::observe::{Observation, Reporter, Seen};
use super::options::SIDES;
use super::plan::{PlayerHost, PlayerPlan, PlayerSlot};
use super::sockets::Listeners;
use super::timers::{Due, Timers};
use super::{Played, Stopper};
use crate::clock::Clock;

const STOP: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
/// Set in the tokens of sockets that listen.
const LISTENER: usize = 1 << (usize::BITS - 2);
/// The interval at which acknowledgements are polled while any are awaited.
const ACKS: Span = Span::from_us(200);

/// The bits of serial numbers in tokens: they repeat after 2^28 connections of a slot, long after the first of them has
/// ended.
pub(super) const SERIALS: u32 = (1 << 28) - 1;
/// Events taken from the kernel at a time.
const EVENTS: usize = 1024;

/// Returns the token of one end of a connection.
pub(super) fn token(slot: usize, serial: u32, side: Side) -> Token {
    Token((slot << 29) | ((serial & SERIALS) as usize) << 1 | usize::from(side == Side::Responder))
}

/// Returns the slot, the last bits of the serial number and the side of a token.
pub(super) fn from_token(number: usize) -> (usize, u32, Side) {
    let side = if number & 1 == 0 { Side::Originator } else { Side::Responder };
    (number >> 29, (number >> 1) as u32 & SERIALS, side)
}

/// Returns the token of a listening socket.
pub(super) fn listener_token(index: usize) -> Token {
    Token(LISTENER | index)
}

/// A pending event or action between sockets and applications at one instant.
#[derive(Debug)]
pub(super) enum Todo {
    /// An event of a socket of a slot for its application.
    Tcp { slot: usize, serial: u32, side: Side, event: Event },
    /// An action of the application of a slot's conversation `conversation`.
    App { slot: usize, conversation: u32, action: Action },
}

/// A slot and its state.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) plan: PlayerSlot,
    pub(super) conversation: Option<Conversation>,
    /// Conversations begun.
    pub(super) begun: u32,
    /// Open connections; oldest first.
    pub(super) connections: Vec<Connection>,
    /// Connections opened.
    pub(super) opened: u32,
    /// The latest time that its application was called with.
    pub(super) clock: Time,
    /// The last failure.
    pub(super) reason: Option<String>,
}

impl Slot {
    /// Returns the number of the conversation in progress.
    pub(super) fn current(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    pub(super) fn connection(&mut self, serial: u32) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|c| c.serial == serial)
    }
}

/// Plays a plan: one run.
#[derive(Debug)]
pub struct Player {
    pub(super) hosts: Vec<PlayerHost>,
    pub(super) slots: Vec<Slot>,
    pub(super) streams: Streams,
    /// The time of the present event: no earlier than any before it.
    pub(super) now: Time,
    end: Time,
    tcp_every: Option<Span>,
    pub(super) poll: Poll,
    alarm: Alarm,
    stopper: Stopper,
    pub(super) listeners: Listeners,
    pub(super) timers: Timers,
    pub(super) reporter: Reporter,
    pub(super) payload: Payload,
    pub(super) played: Played,
    /// Ends that await acknowledgements; a timer is set if there are any.
    awaiting: Vec<(usize, u32, Side)>,
    // Reused from call to call.
    pub(super) events: Vec<Event>,
    pub(super) actions: Vec<Action>,
    pub(super) todo: VecDeque<Todo>,
}

impl Player {
    /// Prepares a player for `plan`. Observations are sent to `sender`; the run ends early if their receiver is
    /// dropped.
    pub fn new(plan: PlayerPlan, sender: Sender<Observation>) -> Result<Player, PlayerError> {
        plan.check()?;
        let poll = Poll::new().map_err(PlayerError::system("wait for sockets"))?;
        let alarm = Alarm::new(poll.registry(), TIMER)?;
        let waker = Waker::new(poll.registry(), STOP).map_err(PlayerError::system("make a waker"))?;
        let mut timers = Timers::default();
        for (index, slot) in plan.slots.iter().enumerate() {
            timers.add(slot.start, Due::Begin { slot: index });
        }
        if let Some(every) = plan.tcp_every {
            timers.add(Time::ZERO + every, Due::Report);
        }
        let slot = |plan| Slot {
            plan,
            conversation: None,
            begun: 0,
            connections: Vec::new(),
            opened: 0,
            clock: Time::ZERO,
            reason: None,
        };
        let slots: Vec<Slot> = plan.slots.into_iter().map(slot).collect();
        Ok(Player {
            reporter: Reporter::new(sender, slots.iter().map(|slot| slot.plan.slot).collect()),
            hosts: plan.hosts,
            slots,
            streams: Streams::new(plan.seed),
            now: Time::ZERO,
            end: Time::ZERO + plan.duration,
            tcp_every: plan.tcp_every.filter(|every| !every.is_zero()),
            poll,
            alarm,
            stopper: Stopper { asked: Arc::new(AtomicBool::new(false)), waker: Arc::new(waker) },
            listeners: Listeners::default(),
            timers,
            payload: Payload::new(plan.verify),
            played: Played::default(),
            awaiting: Vec::new(),
            events: Vec::new(),
            actions: Vec::new(),
            todo: VecDeque::new(),
        })
    }

    /// Stops it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Plays until the end of the run, or until it is stopped, and closes everything.
    pub fn run(mut self, clock: Clock) -> Result<Played, PlayerError> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stopper.is_asked() && !self.reporter.receiver_is_dropped() {
            let mut next = Time::ZERO;
            if let Some(now) = clock.now() {
                self.now = now;
                if now >= self.end {
                    break;
                }
                self.fire_due(&clock)?;
                self.reporter.flush(now);
                next = self.timers.next().unwrap_or(self.end).min(self.end);
            }
            self.wait(&clock, next, &mut events)?;
            for event in &events {
                match event.token() {
                    STOP | TIMER => {}
                    Token(number) if number & LISTENER != 0 => self.accept(&clock, number & !LISTENER)?,
                    Token(number) => self.service(&clock, number, event.is_read_closed())?,
                }
            }
        }
        self.played.stopped = self.now < self.end;
        self.report_all(true);
        self.reporter.flush(self.now);
        for slot in &mut self.slots {
            for connection in &mut slot.connections {
                SIDES.into_iter().for_each(|side| connection.end(side).drop_socket());
            }
        }
        Ok(self.played)
    }

    /// Waits for sockets, but not beyond `next`.
    fn wait(&mut self, clock: &Clock, next: Time, events: &mut Events) -> Result<(), PlayerError> {
        self.alarm.set(clock, next)?;
        match self.poll.poll(events, None) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            done => done.map_err(PlayerError::system("wait for sockets")),
        }
    }

    /// Handles all events that are due, in the order of their times.
    pub(super) fn fire_due(&mut self, clock: &Clock) -> Result<(), PlayerError> {
        while self.now < self.end
            && let Some((at, due)) = self.timers.pop_due(self.now)
        {
            self.played.latest = self.played.latest.max(self.now.since(at));
            self.fire(clock, at, due)?;
        }
        Ok(())
    }

    /// Executes a timer that was due at `at`, which is the time for an application, whatever the present time.
    fn fire(&mut self, clock: &Clock, at: Time, due: Due) -> Result<(), PlayerError> {
        match due {
            Due::Begin { slot } => {
                self.begin(at, slot);
                self.process_pending(at)
            }
            Due::App { slot, conversation, id } => {
                self.app(at, slot, conversation, |app, at, out| app.timer(at, id, out));
                self.process_pending(at)
            }
            Due::Acks => {
                for (slot, serial, side) in std::mem::take(&mut self.awaiting) {
                    self.end(slot, serial, side, |end, _, out| {
                        end.watched = false;
                        end.poll_acks(out);
                    });
                    self.process_pending_now(clock)?;
                }
                Ok(())
            }
            Due::Report => {
                self.report_all(false);
                if let Some(every) = self.tcp_every {
                    // A tick that was missed is not made up for.
                    let next = at + every;
                    self.timers.add(if next > self.now { next } else { self.now + every }, Due::Report);
                }
                Ok(())
            }
        }
    }

    /// Begins the next conversation of a slot; for its application it is `time`.
    pub(super) fn begin(&mut self, time: Time, index: usize) {
        let slot = &mut self.slots[index];
        let conversation = slot.begun;
        slot.begun += 1;
        slot.reason = None;
        let plan = &slot.plan;
        slot.conversation = Some(Conversation::new(&plan.workload, &self.streams, &plan.name, conversation.into()));
        self.played.conversations += 1;
        self.reporter.report(self.now, index, Seen::Begun { conversation });
        self.app(time, index, conversation, |app, time, out| app.start(time, out));
    }

    /// Calls the application of a conversation, if that conversation is still the current one. Its time is `time`, but
    /// never before a time that it was called with already.
    pub(super) fn app(
        &mut self,
        time: Time,
        index: usize,
        conversation: u32,
        act: impl FnOnce(&mut Conversation, Time, &mut Vec<Action>),
    ) {
        let slot = &mut self.slots[index];
        if slot.current() == conversation
            && let Some(app) = &mut slot.conversation
        {
            slot.clock = slot.clock.max(time);
            act(app, slot.clock, &mut self.actions);
            let ask = |action| Todo::App { slot: index, conversation, action };
            self.todo.extend(self.actions.drain(..).map(ask));
        }
    }

    /// Calls an end of a connection, and queues its events.
    pub(super) fn end(
        &mut self,
        slot: usize,
        serial: u32,
        side: Side,
        act: impl FnOnce(&mut End, &mut Payload, &mut Vec<Event>),
    ) {
        let Some(connection) = self.slots[slot].connection(serial) else { return };
        let end = connection.end(side);
        act(end, &mut self.payload, &mut self.events);
        if end.awaits_acks() && !end.watched {
            end.watched = true;
            if self.awaiting.is_empty() {
                self.timers.add(self.now + ACKS, Due::Acks);
            }
            self.awaiting.push((slot, serial, side));
        }
        self.todo.extend(self.events.drain(..).map(|event| Todo::Tcp { slot, serial, side, event }));
    }
}
