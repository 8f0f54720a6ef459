//! An emulation from its scenario: hosts are made, programs started, the network driven, everything recorded.

mod applications;
mod gateways;
mod hosts;
mod network;
mod report;
mod resolver;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellway_apps::GroupWorkload;
use cellway_record::{Rows, RunRecord, Source};
use cellway_scenario::Scenario;
use cellway_testbed::Capture;
use cellway_units::{Span, Time};

use crate::addresses::Block;
use crate::clock::Clock;
use crate::error::Error;
use crate::internet::Internet;
use crate::lateness::Lateness;
use crate::player::{DatagramPlayer, Player, Stopper};
use crate::programs::{Lines, Program, ProgramEnd, make_ready};
use crate::pump::{Pump, Watch};
use crate::snapshot::Snapshot;
use crate::sys::{Leftover, StopSignals, clear_leftovers};

use applications::Players;
use gateways::Gateways;
pub use gateways::check_gateways;
pub use hosts::Hosts;
pub(crate) use hosts::LinkChanges;
pub(crate) use network::Names;
use network::Network;
pub(crate) use resolver::RESOLVER;

/// The interval at which programs are polled.
const TICK: Duration = Duration::from_millis(5);
/// The time for setup before time zero.
const LEAD: Span = Span::from_ms(20);

/// The interval of snapshots of a running network, and their receiver.
pub type View<'a> = Option<(Span, &'a mut dyn FnMut(&Snapshot))>;

/// The signals that ask a process to end, while it emulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// They end the run.
    #[default]
    EndRun,
    /// The caller handles them: it does other things while the network runs.
    OfCaller,
}

/// The options of a run besides its scenario.
#[derive(Default)]
pub struct Control<'a> {
    /// Polled regularly; `true` stops the run.
    pub stop: Option<&'a mut dyn FnMut() -> bool>,
    /// The interval of snapshots of the running network, and their receiver.
    pub view: View<'a>,
    /// Captures the packets that pass one node.
    pub capture: Option<Capture<'a>>,
    /// Work of the caller, on its own thread, while the network runs. The run lasts at least as long.
    pub beside: Option<Beside<'a>>,
    /// The handling of signals that ask the process to end.
    pub signals: Signals,
    /// The main program: the run ends when it ends, or when another program of the scenario fails.
    pub foreground: Option<Foreground>,
    /// Receives the lines that the programs of the scenario print.
    pub lines: Option<Lines>,
    /// The run ends with this program of the scenario, if that is before its duration.
    pub until: Option<&'a str>,
}

/// Work of a caller inside the hosts while the network runs.
pub type Beside<'a> = Box<dyn FnOnce(&Hosts) + Send + 'a>;

/// A program that the user talks to.
#[derive(Clone, Debug)]
pub struct Foreground {
    /// The program of the scenario that it replaces.
    pub name: String,
    /// The host that it runs in.
    pub host: String,
    /// The program and its arguments.
    pub run: Vec<std::ffi::OsString>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// The host that the present network namespace replaces.
    pub here: Option<Here>,
    /// The addresses of the path.
    pub block: Block,
}

/// The present network namespace as a host of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// The host that it replaces.
    pub host: String,
    /// The addresses behind it.
    pub reach: Reach,
}

/// The addresses behind the present network namespace that packets of a path reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its own, and others as far as it forwards and translates packets already.
    AsSet,
    /// All that it reaches itself: for the time of the run it forwards the packets of the path, and translates their
    /// addresses.
    Internet,
}

/// The results of a run.
#[derive(Debug)]
pub struct Emulated {
    /// The measurements.
    pub record: RunRecord,
    /// The results of the programs of the scenario, in the order of the file.
    pub programs: Vec<ProgramEnd>,
    /// The exit status of the main program.
    pub status: Option<u8>,
    /// The lateness of the packets that were written to hosts.
    pub lateness: Lateness,
    /// Upper bounds of the time that packets waited to be read from their hosts while their lines had room.
    pub ingress: Lateness,
    /// The limit of the 99th percentiles of both.
    pub limit: Span,
    /// The scheduling of the thread that drove the network, and the processor time that it was denied.
    pub treatment: crate::treatment::Treatment,
    /// The times that packets were inside the network.
    pub delays: crate::delays::Delays,
    /// The part of the network of this machine that the path reached, if it was joined to it.
    pub internet: Option<String>,
    /// Messages for the reader of the results: failures and refusals.
    pub notes: Vec<String>,
    /// The duration.
    pub duration: Span,
}

impl Emulated {
    /// Returns true if the lateness of the emulation was within its limit.
    pub fn is_valid(&self) -> bool {
        self.lateness.is_valid(self.limit) && self.ingress.is_valid(self.limit)
    }

    /// Returns the reason why the run is invalid, or `None` if it is valid.
    pub fn invalid(&self) -> Option<String> {
        if self.is_valid() {
            return None;
        }
        let (late, waited, early) = (self.lateness.p99(), self.ingress.p99(), self.lateness.earliness());
        let limit = self.limit;
        if !early.is_zero() {
            return Some(format!("a packet was {early} early: please report this as a defect of the emulator"));
        }
        let (what, value) =
            if late > limit { ("lateness", late) } else { ("the wait before packets are read", waited) };
        Some(format!(
            "the 99th percentile of {what} is {value}, above the limit of {limit} (driven under {}): this machine was too \
             busy or too slow",
            self.treatment
        ))
    }
}

/// Emulates `scenario` once with `seed`. `workloads` are those of its traffic groups, in order.
///
/// # Errors
/// No right to make namespaces or devices, gateways that do not reach each other, a program that cannot be started.
pub fn emulate(
    scenario: &Scenario,
    workloads: &[GroupWorkload],
    seed: u64,
    mut control: Control<'_>,
) -> Result<Emulated, Error> {
    let left = clear_leftovers();
    let signals = match control.signals {
        Signals::EndRun => Some(StopSignals::catch()?),
        Signals::OfCaller => None,
    };
    let asked = || signals.as_ref().and_then(StopSignals::take);
    let mut network = Network::build(scenario, seed, control.foreground.as_ref())?;
    if let Some(capture) = &mut control.capture {
        network.tap(capture)?;
    }
    let gateways = Gateways::start(scenario, &network)?;
    if !gateways.is_empty() {
        network.open_while(scenario, seed, || gateways.wait(scenario.run.rtt))?;
    }
    let ended = |left: &Leftover| {
        format!("ended {:?} (process {}), left behind by an emulation that was killed", left.command, left.pid)
    };
    let mut notes: Vec<String> = left.iter().map(ended).collect();
    notes.append(&mut network.notes);
    let (sender, receiver) = mpsc::channel();
    let observed = Arc::new(Mutex::new(Vec::new()));
    let players = match scenario.emulate.play && control.foreground.is_none() {
        true => Players::new(scenario, workloads, &mut network, seed, sender, &mut notes)?,
        false => Players::NONE,
    };
    let is_played = players.any();
    let Players { conversations: player, datagrams } = players;
    let stoppers = player.iter().map(Player::stopper).chain(datagrams.iter().map(DatagramPlayer::stopper));
    let stoppers: Vec<Stopper> = stoppers.collect();
    let mut programs = match &control.foreground {
        Some(wanted) => {
            let mut beside = Program::all(scenario, &network.names, control.lines.as_ref());
            beside.retain(|program| program.name() != wanted.name);
            beside.push(Program::foreground(wanted, &network.names)?);
            beside
        }
        None => Program::all(scenario, &network.names, control.lines.as_ref()),
    };
    // A caller beside the run may start a program anywhere.
    let by_caller = if control.beside.is_some() { 0..network.namespaces.len() } else { 0..0 };
    network.name_hosts(programs.iter().map(Program::host).chain(by_caller), control.foreground.as_ref());
    notes.append(&mut network.notes);
    make_ready(&mut programs, &network.namespaces, &network.names, &mut || {
        asked().is_some() || control.stop.as_mut().is_some_and(|stop| stop())
    })?;
    let clock = Clock::starting_in(LEAD);
    let end = match control.foreground {
        Some(_) => Time::MAX,
        None => Time::ZERO + scenario.run.duration,
    };
    // A snapshot that the receiver has not taken yet does not block: the next one is newer.
    let (show, shown) = mpsc::sync_channel(1);
    let every = control.view.as_ref().map(|(every, _)| *every);
    let limit = scenario.emulate.lateness_limit;
    let stop = Arc::new(AtomicBool::new(false));
    let Network { engine, tuns, namespaces, names, internet, .. } = network;
    let mut pump = Pump::new(engine, tuns, clock, limit);
    pump.joins = scenario.emulate.offload;
    let capture = control.capture.take();
    let beside = control.beside.take();
    let changes = LinkChanges::default();
    let hosts = Hosts::new(scenario, names.clone(), &namespaces, changes.clone(), stop.clone());

    let remaining = observed.clone();
    let (ended, played, sent, signalled) = std::thread::scope(|scope| {
        let watch = Watch {
            stop: stop.clone(),
            end,
            view: every.map(|every| (every, show)),
            observed: observed.clone(),
            changes,
            capture,
        };
        let driver = std::thread::Builder::new().name("emulation".to_owned());
        let driver = driver.spawn_scoped(scope, || pump.run(watch)).map_err(Error::Thread)?;
        if is_played {
            // Ends with the players, which send.
            scope.spawn(move || {
                receiver
                    .into_iter()
                    .for_each(|seen| observed.lock().unwrap_or_else(PoisonError::into_inner).push(seen));
            });
        }
        // After an error nothing is played any more: the run is over.
        let end_if = |failed: bool, stop: &AtomicBool| {
            if failed {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let playing = player.map(|player| {
            let stop = stop.clone();
            scope.spawn(move || {
                let played = player.run(clock);
                end_if(played.is_err(), &stop);
                played
            })
        });
        let sending = datagrams.map(|datagrams| {
            let stop = stop.clone();
            scope.spawn(move || {
                let played = datagrams.run(clock);
                end_if(played.is_err(), &stop);
                played
            })
        });
        if let Some(beside) = beside {
            scope.spawn(move || {
                // Packets that a program sent before time zero would wait for it, unmeasured.
                while clock.now().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                beside(&hosts);
            });
        }
        let mut failure = None;
        let mut signalled = None;
        while !driver.is_finished() {
            std::thread::sleep(TICK);
            // Time begins after the lead. A packet that a program sent before would wait for that, unmeasured.
            let Some(now) = clock.now() else { continue };
            while let Ok(snapshot) = shown.try_recv() {
                if let Some((_, show)) = &mut control.view {
                    show(&snapshot);
                }
            }
            for program in &mut programs {
                if let Err(error) = program.poll(now, &namespaces, &names) {
                    failure.get_or_insert(error);
                }
            }
            let is_last = |program: &Program| program.is_foreground() || control.until == Some(program.name());
            let over = programs.iter().any(|program| is_last(program) && program.has_ended());
            if control.foreground.is_some() && !over && failure.is_none() {
                failure = programs.iter_mut().find_map(Program::failed);
            }
            let asked = match asked() {
                // The main program has received the signal, too, and decides.
                Some(stop) if stop.from_terminal && control.foreground.is_some() => false,
                Some(asked) if control.foreground.is_some() => {
                    signalled = Some(128 + asked.signal.as_raw() as u8);
                    stop.store(true, Ordering::Relaxed);
                    false
                }
                asked => asked.is_some(),
            };
            let stopped = control.stop.as_mut().is_some_and(|stop| stop());
            if asked || stopped {
                failure.get_or_insert(Error::Stopped { at: now });
            }
            if over || failure.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        stop.store(true, Ordering::Relaxed);
        stoppers.iter().for_each(Stopper::stop);
        let ended = driver.join().unwrap_or(Err(Error::Driver));
        let played = playing.map(|playing| playing.join().map_or(Err(Error::Driver), |played| Ok(played?)));
        let sent = sending.map(|sending| sending.join().map_or(Err(Error::Driver), |sent| Ok(sent?)));
        match failure {
            Some(error) => Err(error),
            None => Ok((ended?, played, sent, signalled)),
        }
    })?;
    played.transpose()?;
    notes.extend(sent.transpose()?.as_ref().and_then(applications::note));
    // The last observations of the player.
    let last = std::mem::take(&mut *remaining.lock().unwrap_or_else(PoisonError::into_inner));
    last.into_iter().for_each(|observation| pump.engine.observe(observation));
    for namespace in &namespaces {
        notes.extend(namespace.refused().iter().map(|refused| format!("host {}: {refused}", namespace.name())));
    }
    let status = programs.iter().find(|program| program.is_foreground()).and_then(Program::status);
    let programs: Vec<ProgramEnd> = programs.into_iter().map(|program| program.end(&mut notes)).collect();
    let mut counted = Rows::new(Source::Emulate);
    gateways.finish(&mut notes, &mut counted);
    drop(namespaces);
    let reached = internet.as_ref().map(Internet::reached);
    drop(internet);
    let mut emulated = report::emulated(pump, ended, programs, notes, limit);
    emulated.record.summary.extend(counted.finish());
    emulated.internet = reached;
    emulated.status = signalled.or(status);
    Ok(emulated)
}
