//! Programs that must be ready before a run begins.

use std::time::{Duration, Instant};

use cellway_scenario::Ready;

use super::{Program, State, code, self_failed};
use crate::error::Error;
use crate::session::Names;
use crate::sys::Namespace;

/// The longest time that a program may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval between polls of the programs.
const TICK: Duration = Duration::from_millis(5);

/// Starts the programs with a `ready` condition and waits until all are ready. Polls `stop` meanwhile.
pub(crate) fn make_ready(
    programs: &mut [Program],
    namespaces: &[Namespace],
    names: &Names,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Error> {
    let mut waiting = Vec::new();
    for program in programs.iter_mut().filter(|program| program.ready.is_some()) {
        program.begin(&namespaces[program.host], names)?;
        waiting.push(program);
    }
    let begun = Instant::now();
    while !waiting.is_empty() {
        let mut left = Vec::new();
        for program in waiting {
            if !program.is_ready(&namespaces[program.host])? {
                left.push(program);
            }
        }
        waiting = left;
        if stop() {
            return Err(Error::Stopped { at: cellway_units::Time::ZERO });
        }
        if let Some(program) = waiting.first_mut().filter(|_| begun.elapsed() > PATIENCE) {
            let seconds = PATIENCE.as_secs();
            let why = format!("was not ready within {seconds} s: {}", program.missing());
            return Err(program.failure(&why));
        }
        if !waiting.is_empty() {
            std::thread::sleep(TICK);
        }
    }
    Ok(())
}

impl Program {
    /// Returns true if the program is ready.
    ///
    /// # Errors
    ///
    /// The program has ended before it was ready.
    fn is_ready(&mut self, namespace: &Namespace) -> Result<bool, Error> {
        let State::Running { child, output } = &mut self.state else { return Ok(true) };
        let ended = child.try_wait().map_err(|source| self_failed(&self.name, source))?;
        let ready = match &self.ready {
            Some(Ready::Port(port)) => namespace.is_listening(*port),
            Some(Ready::Pattern(_)) => output.as_ref().is_some_and(super::Output::has_matched),
            None => true,
        };
        match ended {
            // A server that daemonises leaves a parent that ends with the expected status.
            Some(status) if !ready && code(status) != self.expect => {
                let why = format!("ended with exit status {} before it was ready ({})", code(status), self.missing());
                Err(self.failure(&why))
            }
            _ => Ok(ready),
        }
    }

    /// Describes the condition that is not met yet.
    fn missing(&self) -> String {
        match &self.ready {
            Some(Ready::Port(port)) => format!("nothing listens on port {port}"),
            Some(Ready::Pattern(pattern)) => format!("no line of its output matches {pattern:?}"),
            None => String::new(),
        }
    }

    /// Returns the error with `why` and the last line that the program printed.
    fn failure(&mut self, why: &str) -> Error {
        let said = match &mut self.state {
            State::Running { output: Some(output), .. } | State::Ended { output: Some(output), .. } => {
                output.last_line()
            }
            _ => String::new(),
        };
        Error::ProgramFailed { name: self.name.clone(), why: why.to_owned(), said }
    }

    /// Returns an error if this is a background program and it has failed.
    pub(crate) fn failed(&mut self) -> Option<Error> {
        match &self.state {
            State::Ended { status, by_us: false, .. } if !self.foreground && code(*status) != self.expect => {
                let why = format!("ended with exit status {}", code(*status));
                Some(self.failure(&why))
            }
            _ => None,
        }
    }
}
