//! An emulation that runs beside its caller, who starts programs in its hosts, changes its links, and ends it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cellway_emu::sys::Child;
use cellway_emu::{Control, Hosts, Lines, Signals};
use cellway_record::Source;
use cellway_scenario::{LinkDirection, Plan};
use cellway_tables::ResultsBuilder;
use cellway_units::Line;

use super::{EmulatedStudy, tables, warnings_of};
use crate::error::Error;
use crate::left_out::LeftOut;
use crate::simulate::Stopwatch;
use crate::study::Prepared;

/// The interval at which the end of the run is noticed.
const TICK: Duration = Duration::from_millis(5);

/// What a caller asks of the running network.
type Request = Box<dyn FnOnce(&Hosts) + Send>;

/// A running emulation of one point with one seed. Dropping it ends the run, and all programs in its hosts.
#[derive(Debug)]
pub struct Live {
    requests: Option<Sender<Request>>,
    hosts: Vec<(String, Ipv4Addr)>,
    links: Vec<String>,
    run: Option<JoinHandle<Result<EmulatedStudy, Error>>>,
}

impl Live {
    /// Starts the emulation of a plan without a sweep, and returns once its network runs and its programs are ready.
    /// `folder` is the base of relative paths, `lines` receives the output of the programs of the scenario. The run
    /// ends by itself after `run.duration`.
    ///
    /// # Errors
    /// A plan of several points, and all of [`emulate`](super::emulate).
    pub fn start(plan: Plan, folder: &Path, lines: Option<Lines>) -> Result<Live, Error> {
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
        let run = std::thread::Builder::new()
            .name("emulate".to_owned())
            .spawn(move || run(&plan, prepared, lines, ready, asked))
            .map_err(cellway_emu::Error::Thread)?;
        let mut live = Live { requests: Some(requests), hosts: Vec::new(), links: Vec::new(), run: Some(run) };
        match begun.recv() {
            Ok((hosts, links)) => {
                (live.hosts, live.links) = (hosts, links);
                Ok(live)
            }
            // The run failed before its network was up.
            Err(_) => Err(live.end().err().unwrap_or(Error::Stopped)),
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

    /// Returns true once the run is over.
    pub fn is_over(&self) -> bool {
        self.ask(|_| ()).is_none()
    }

    /// Starts a program in a host. It ends with the run. `None` if the run is over.
    ///
    /// # Errors
    /// No such host, or the program cannot be started.
    pub fn spawn(&self, host: &str, command: Command) -> Result<Option<Child>, Error> {
        let host = host.to_owned();
        Ok(self.ask(move |hosts| hosts.spawn(&host, command)).transpose()?)
    }

    /// Returns true if a process in a host listens on a port. `None` if the run is over.
    ///
    /// # Errors
    /// No such host.
    pub fn is_listening(&self, host: &str, port: u16) -> Result<Option<bool>, Error> {
        let name = host.to_owned();
        match self.ask(move |hosts| hosts.is_listening(&name, port)) {
            Some(None) => Err(cellway_emu::Error::NoSuchHost { name: host.to_owned() }.into()),
            answer => Ok(answer.flatten()),
        }
    }

    /// Changes the rate of a link: `rate` is a rate or the name of a line, `direction` is that of a
    /// [change](cellway_scenario::LinkDirection), or both without one. Returns false if the run is over.
    ///
    /// # Errors
    /// No such link or direction; no rate.
    pub fn set_rate(&self, link: &str, direction: Option<&str>, rate: &str) -> Result<bool, Error> {
        let known = rate.parse().map(|line: Line| line.rate());
        let bps = known.or_else(|()| rate.parse().map_err(|e| Error::Option(format!("rate: {e}"))))?;
        if bps.as_bps() == 0 {
            return Err(Error::Option("rate: a link has a rate above zero; for example \"1 Mbit/s\"".to_owned()));
        }
        let direction = match direction {
            None => LinkDirection::Both,
            Some(name) => LinkDirection::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
                let known = LinkDirection::ALL.map(LinkDirection::name).join(", ");
                Error::Option(format!("direction: {name:?} is none; accepted: {known}"))
            })?,
        };
        if !self.links.iter().any(|known| known == link) {
            let known = self.links.join(", ");
            return Err(Error::Option(format!("there is no link {link:?}; accepted: {known}")));
        }
        let link = link.to_owned();
        Ok(self.ask(move |hosts| hosts.set_rate(&link, direction, bps)).is_some())
    }

    /// Ends the run, and returns its results.
    ///
    /// # Errors
    /// Those of the run.
    pub fn end(&mut self) -> Result<EmulatedStudy, Error> {
        self.requests = None;
        let Some(run) = self.run.take() else { return Err(Error::Stopped) };
        run.join().unwrap_or_else(|_| Err(cellway_emu::Error::Driver.into()))
    }

    /// Has `work` done beside the network; `None` if the run is over.
    fn ask<T: Send + 'static>(&self, work: impl FnOnce(&Hosts) -> T + Send + 'static) -> Option<T> {
        let (answer, result) = channel();
        let request: Request = Box::new(move |hosts| {
            // The caller waits for it.
            let _ = answer.send(work(hosts));
        });
        self.requests.as_ref()?.send(request).ok()?;
        result.recv().ok()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The hosts with their addresses, and the links.
type Named = (Vec<(String, Ipv4Addr)>, Vec<String>);

fn run(
    plan: &Plan,
    prepared: Prepared,
    lines: Option<Lines>,
    ready: Sender<Named>,
    asked: Receiver<Request>,
) -> Result<EmulatedStudy, Error> {
    let clock = Stopwatch::start();
    let serve = move |hosts: &Hosts| {
        let named = hosts.all().map(|(name, at)| (name.to_owned(), at)).collect();
        // The caller waits for it.
        let _ = ready.send((named, hosts.links().to_vec()));
        while !hosts.is_over() {
            match asked.recv_timeout(TICK) {
                Ok(request) => request(hosts),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => hosts.end(),
            }
        }
    };
    let control = Control { beside: Some(Box::new(serve)), signals: Signals::OfCaller, lines, ..Control::default() };
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
