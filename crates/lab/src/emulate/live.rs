//! An emulation that runs beside its caller, who starts programs in its hosts, changes its links, and ends it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cellway_emu::sys::Child;
use cellway_emu::{Control, Hosts, Lines, LinkChange, Signals};
use cellway_record::Source;
use cellway_scenario::{LinkDirection, Plan};
use cellway_tables::ResultsBuilder;
use cellway_units::Line;

use super::{EmulatedStudy, tables, warnings_of};
use crate::error::Error;
use crate::left_out::LeftOut;
use crate::simulate::Stopwatch;
use crate::study::Prepared;

/// The interval at which the end of the run, and an interrupt of its start, are noticed.
const TICK: Duration = Duration::from_millis(5);

/// What a caller asks of the running network.
type Request = Box<dyn FnOnce(&Hosts) + Send>;

type Outcome = Result<EmulatedStudy, Error>;

/// A running emulation of one point with one seed. Dropping it ends the run, and all programs in its hosts.
pub struct Live {
    hosts: Vec<(String, Ipv4Addr)>,
    links: Vec<String>,
    run: Run,
}

/// The run of an emulation.
enum Run {
    Going {
        requests: Sender<Request>,
        thread: JoinHandle<Outcome>,
    },
    /// It has ended by itself, and the caller has not asked for its results yet.
    Ended(Box<Outcome>),
    /// Its results are taken.
    Taken,
}

impl Live {
    /// Starts the emulation of a plan without a sweep, and returns once its network runs and its programs are ready.
    /// `folder` is the base of relative paths, `lines` receives the output of the programs of the scenario, and the start
    /// is given up once `interrupted`, which is called regularly until it is over, returns true. The run ends by itself
    /// after `run.duration`.
    ///
    /// # Errors
    /// A plan of several points, an interrupt, and all of [`emulate`](super::emulate).
    pub fn start(
        plan: Plan,
        folder: &Path,
        lines: Option<Lines>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Live, Error> {
        let prepared = Prepared::to_emulate(&plan, folder, Some(1))?;
        if prepared.runs() > 1 {
            let points = prepared.runs();
            let message = format!(
                "the sweep has {points} points; accepted: a scenario without a sweep, whose keys are set to those of one point"
            );
            return Err(Error::Option(message));
        }
        let (requests, asked) = channel();
        let (ready, begun) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let asked_to_stop = stop.clone();
        let thread = std::thread::Builder::new()
            .name("emulate".to_owned())
            .spawn(move || run(&plan, prepared, lines, ready, asked, &asked_to_stop))
            .map_err(cellway_emu::Error::Thread)?;
        let mut run = Run::Going { requests, thread };
        loop {
            match begun.recv_timeout(TICK) {
                Ok((hosts, links)) => return Ok(Live { hosts, links, run }),
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    stop.store(true, Ordering::Relaxed);
                    run.finish();
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The run failed before its network was up.
                Err(RecvTimeoutError::Disconnected) => return Err(run.take().err().unwrap_or(Error::Stopped)),
            }
        }
    }

    /// Returns the names of the hosts and gateways with their IPv4 addresses.
    pub fn hosts(&self) -> &[(String, Ipv4Addr)] {
        &self.hosts
    }

    /// Returns the names of the links.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Returns an error with the reason for which the run is over; `None` while it is not.
    pub fn over(&mut self) -> Option<Error> {
        self.ask(|_| ()).err()
    }

    /// Starts a program in a host. It ends with the run.
    ///
    /// # Errors
    /// No such host, the program cannot be started, or the run is over.
    pub fn spawn(&mut self, host: &str, command: Command) -> Result<Child, Error> {
        let host = host.to_owned();
        Ok(self.ask(move |hosts| hosts.spawn(&host, command))??)
    }

    /// Returns true if a process in a host listens on a port.
    ///
    /// # Errors
    /// No such host, or the run is over.
    pub fn is_listening(&mut self, host: &str, port: u16) -> Result<bool, Error> {
        let name = host.to_owned();
        let answer = self.ask(move |hosts| hosts.is_listening(&name, port))?;
        Ok(answer.ok_or_else(|| cellway_emu::Error::NoSuchHost { name: host.to_owned() })?)
    }

    /// Changes the rate of a link: `rate` is a rate or the name of a line, `direction` is that of a
    /// [change](cellway_scenario::LinkDirection), or both without one.
    ///
    /// # Errors
    /// No such link or direction, no rate, a link whose rate is recorded, or the run is over.
    pub fn set_rate(&mut self, link: &str, direction: Option<&str>, rate: &str) -> Result<(), Error> {
        let rate = match rate.parse::<Line>() {
            Ok(line) => line.rate(),
            Err(()) => value("rate", rate)?,
        };
        self.change_link(link, direction, LinkChange::Rate(rate))
    }

    /// Changes the delay of a link, of packets that leave its line from then on.
    ///
    /// # Errors
    /// As for [`Live::set_rate`].
    pub fn set_delay(&mut self, link: &str, direction: Option<&str>, delay: &str) -> Result<(), Error> {
        self.change_link(link, direction, LinkChange::Delay(value("delay", delay)?))
    }

    /// Changes the probability with which packets, or cells, that leave the line of a link from then on are lost.
    ///
    /// # Errors
    /// As for [`Live::set_rate`].
    pub fn set_loss(&mut self, link: &str, direction: Option<&str>, loss: &str) -> Result<(), Error> {
        self.change_link(link, direction, LinkChange::Loss(value("loss", loss)?))
    }

    fn change_link(&mut self, link: &str, direction: Option<&str>, change: LinkChange) -> Result<(), Error> {
        let direction = match direction {
            None => LinkDirection::Both,
            Some(name) => LinkDirection::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
                let known = LinkDirection::ALL.map(LinkDirection::name).join(", ");
                Error::Option(format!("direction: there is no direction {name:?}; accepted: {known}"))
            })?,
        };
        let link = link.to_owned();
        Ok(self.ask(move |hosts| hosts.change_link(&link, direction, change))??)
    }

    /// Ends the run, and returns its results.
    ///
    /// # Errors
    /// Those of the run.
    pub fn end(&mut self) -> Result<EmulatedStudy, Error> {
        self.run.take()
    }

    /// Has `work` done beside the network.
    fn ask<T: Send + 'static>(&mut self, work: impl FnOnce(&Hosts) -> T + Send + 'static) -> Result<T, Error> {
        if let Run::Going { requests, .. } = &self.run {
            let (answer, result) = channel();
            let request: Request = Box::new(move |hosts| {
                // The caller waits for it.
                let _ = answer.send(work(hosts));
            });
            if let Some(done) = requests.send(request).ok().and_then(|()| result.recv().ok()) {
                return Ok(done);
            }
            self.run.finish();
        }
        Err(Error::Over(self.run.why_over()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.run.finish();
    }
}

impl Run {
    /// Ends the run, and waits until it has ended.
    fn finish(&mut self) {
        *self = match std::mem::replace(self, Run::Taken) {
            Run::Going { requests, thread } => {
                drop(requests);
                let outcome = thread.join().unwrap_or_else(|_| Err(cellway_emu::Error::Driver.into()));
                Run::Ended(Box::new(outcome))
            }
            ended => ended,
        };
    }

    /// Ends the run, and returns its outcome.
    fn take(&mut self) -> Outcome {
        self.finish();
        match std::mem::replace(self, Run::Taken) {
            Run::Ended(outcome) => *outcome,
            Run::Going { .. } | Run::Taken => Err(Error::Over(self.why_over())),
        }
    }

    fn why_over(&self) -> String {
        match self {
            Run::Ended(outcome) => match &**outcome {
                Err(error) => error.to_string(),
                Ok(_) => "its run.duration has passed; accepted: a longer one".to_owned(),
            },
            Run::Going { .. } | Run::Taken => "its caller has ended it".to_owned(),
        }
    }
}

/// Reads the value of an argument.
fn value<T: FromStr<Err: std::fmt::Display>>(argument: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|e| Error::Option(format!("{argument}: {e}")))
}

/// The hosts with their addresses, and the links.
type Named = (Vec<(String, Ipv4Addr)>, Vec<String>);

fn run(
    plan: &Plan,
    prepared: Prepared,
    lines: Option<Lines>,
    ready: Sender<Named>,
    asked: Receiver<Request>,
    stop: &AtomicBool,
) -> Outcome {
    let clock = Stopwatch::start();
    let serve = move |hosts: &Hosts| {
        let named = hosts.all().map(|(name, at)| (name.to_owned(), at)).collect();
        // The caller waits for it.
        let _ = ready.send((named, hosts.links().map(str::to_owned).collect()));
        while !hosts.is_over() {
            match asked.recv_timeout(TICK) {
                Ok(request) => request(hosts),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => hosts.end(),
            }
        }
    };
    let mut stopped = || stop.load(Ordering::Relaxed);
    let control = Control {
        stop: Some(&mut stopped),
        beside: Some(Box::new(serve)),
        signals: Signals::OfCaller,
        lines,
        ..Control::default()
    };
    let key = prepared.key(0);
    let (point, workloads) = prepared.of_run(0);
    let emulated = cellway_emu::emulate(&point.scenario, workloads, key.seed, control)?;
    let mut builder = ResultsBuilder::new(Source::Emulate);
    let mut left_out = LeftOut::default();
    left_out.add(&emulated.record);
    builder.push(key, &emulated.record)?;
    let mut warnings = warnings_of(&emulated);
    warnings.extend(left_out.warning());
    let (valid, failed) = (emulated.is_valid(), emulated.programs.iter().any(|program| program.failed));
    let scheduling = vec![emulated.treatment.to_string()];
    let results = tables(plan, &clock, prepared, builder, scheduling, warnings)?;
    Ok(EmulatedStudy { results, valid, failed, captured: None })
}
