//! Programs that a run starts in its hosts: their start, their exit status, and the figures that they printed.

mod output;
mod ready;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use cellway_scenario::{Figure, FigureSource, Ready, Scenario};
use cellway_units::Time;
use regex::Regex;

use crate::error::Error;
use crate::session::{Foreground, Names};
use crate::sys::{Child, Group, Namespace, SysError};

pub use output::Lines;
use output::{Output, Use};
pub(crate) use ready::make_ready;

/// The time that a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A program of a run.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    /// The place of its host.
    host: usize,
    run: Vec<OsString>,
    environment: Vec<(String, String)>,
    start: Time,
    stop: Option<Time>,
    expect: i32,
    ready: Option<Ready>,
    figures: Vec<Figure>,
    foreground: bool,
    lines: Option<Lines>,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Running { child: Child, output: Option<Output> },
    Ended { status: ExitStatus, by_us: bool, output: Option<Output> },
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramEnd {
    /// Its name.
    pub name: String,
    /// Its exit status, 128 + n after signal n; none if it was ended with the run, or never began.
    pub status: Option<i32>,
    /// True if it failed.
    pub failed: bool,
    /// Metric, unit and value of its figures.
    pub figures: Vec<(String, String, f64)>,
}

impl Program {
    /// Returns the programs of a scenario.
    pub(crate) fn all(scenario: &Scenario, names: &Names, lines: Option<&Lines>) -> Vec<Program> {
        let program = |command: &cellway_scenario::Command| {
            let host = scenario.command_host(command.host);
            Program {
                name: command.name.clone(),
                host: names.place(&host).expect("a checked command names a host"),
                run: command.run.iter().map(OsString::from).collect(),
                environment: Vec::new(),
                start: Time::ZERO + command.start,
                stop: command.stop.map(|stop| Time::ZERO + stop),
                expect: i32::from(command.expect),
                ready: command.ready.clone(),
                figures: command.figures.clone(),
                foreground: false,
                lines: lines.cloned(),
                state: State::Waiting,
            }
        };
        scenario.commands.iter().map(program).collect()
    }

    /// Returns the main program, which uses the terminal of the user.
    pub(crate) fn foreground(wanted: &Foreground, names: &Names) -> Result<Program, Error> {
        let host = names.place(&wanted.host).ok_or_else(|| Error::NoSuchHost { name: wanted.host.clone() })?;
        Ok(Program {
            name: wanted.name.clone(),
            host,
            run: wanted.run.clone(),
            environment: wanted.environment.clone(),
            start: Time::ZERO,
            stop: None,
            expect: 0,
            ready: None,
            figures: Vec::new(),
            foreground: true,
            lines: None,
            state: State::Waiting,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the index of its host.
    pub(crate) fn host(&self) -> usize {
        self.host
    }

    pub(crate) fn is_foreground(&self) -> bool {
        self.foreground
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }

    /// Its exit status as a shell counts, once it has ended.
    pub(crate) fn status(&self) -> Option<u8> {
        match &self.state {
            State::Ended { status, .. } => u8::try_from(code(*status)).ok(),
            _ => None,
        }
    }

    /// Starts it, ends it, or detects that it has ended, if it is time.
    pub(crate) fn poll(&mut self, now: Time, namespaces: &[Namespace], names: &Names) -> Result<(), Error> {
        match &mut self.state {
            State::Waiting if self.start <= now => self.begin(&namespaces[self.host], names)?,
            State::Running { child, .. } => {
                let ended = child.try_wait().map_err(|source| self_failed(&self.name, source))?;
                if let Some(status) = ended {
                    self.ended(status, false);
                } else if self.stop.is_some_and(|stop| stop <= now) {
                    self.finish()?;
                }
            }
            State::Waiting | State::Ended { .. } => {}
        }
        Ok(())
    }

    fn begin(&mut self, namespace: &Namespace, names: &Names) -> Result<(), Error> {
        let mut words = self.run.iter().map(|word| expanded(word, names));
        let mut command = Command::new(words.next().expect("a checked command has a word"));
        command.args(words).envs(names.environment()).envs(self.environment.iter().cloned());
        if self.foreground {
            let child = namespace.spawn(command, Group::Foreground).map_err(|e| not_started(&self.name, e))?;
            self.state = State::Running { child, output: None };
            return Ok(());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = namespace.spawn(command, Group::Own).map_err(|e| not_started(&self.name, e))?;
        let pattern = match &self.ready {
            Some(Ready::Pattern(pattern)) => regex::bytes::Regex::new(pattern).ok(),
            _ => None,
        };
        let to = Use { name: self.name.clone(), lines: self.lines.clone(), pattern };
        let mut output = Output::default();
        if let Some(out) = child.take_stdout() {
            output.read(0, out, &to)?;
        }
        if let Some(err) = child.take_stderr() {
            output.read(1, err, &to)?;
        }
        self.state = State::Running { child, output: Some(output) };
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if let State::Running { child, .. } = &mut self.state {
            // It may have ended since the last check, and then its status is its own.
            if let Some(status) = child.try_wait().map_err(|source| self_failed(&self.name, source))? {
                self.ended(status, false);
                return Ok(());
            }
            let status = child.end(GRACE).map_err(|source| self_failed(&self.name, source))?;
            self.ended(status, true);
        }
        Ok(())
    }

    fn ended(&mut self, status: ExitStatus, by_us: bool) {
        if let State::Running { output, .. } = std::mem::replace(&mut self.state, State::Waiting) {
            self.state = State::Ended { status, by_us, output };
        }
    }

    /// Ends the program and returns its result. Messages for the reader of the results are added to `notes`.
    pub(crate) fn end(mut self, notes: &mut Vec<String>) -> ProgramEnd {
        if let Err(error) = self.finish() {
            notes.push(error.to_string());
        }
        let Program { name, expect, figures: wanted, state, foreground, .. } = self;
        let State::Ended { status, by_us, output } = state else {
            notes.push(format!("{name}: the run ended before it was started"));
            return ProgramEnd { name, status: None, failed: true, figures: Vec::new() };
        };
        let [out, err] = output.map(|mut output| output.finish()).unwrap_or_default();
        let failed = !by_us && code(status) != expect;
        // The output of a main program goes to the user, and so does its status.
        if failed && !foreground {
            let last_line = err.lines().last().or(out.lines().last()).unwrap_or("it printed nothing");
            notes.push(format!("{name}: exit status {}: {last_line}", code(status)));
        }
        let mut figures = Vec::new();
        for figure in &wanted {
            match read(&out, figure) {
                Ok(value) => figures.push((figure.metric.clone(), figure.unit.clone(), value)),
                Err(why) => notes.push(format!("{name}: no {}: {why}", figure.metric)),
            }
        }
        ProgramEnd { name, status: (!by_us).then(|| code(status)), failed, figures }
    }
}

/// Replaces `$CELLWAY_HOST_server` in an argument by the address of that host. The longest name is used.
fn expanded(word: &OsString, names: &Names) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.contains("$CELLWAY_HOST_")) else { return word.clone() };
    let mut known: Vec<(String, String)> = names.environment().collect();
    known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    known.iter().fold(text.to_owned(), |text, (name, address)| text.replace(&format!("${name}"), address)).into()
}

fn not_started(name: &str, source: SysError) -> Error {
    Error::NotStarted { name: name.to_owned(), source }
}

fn self_failed(name: &str, source: std::io::Error) -> Error {
    Error::Program { name: name.to_owned(), source }
}

/// As a shell counts.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// Returns the number that `figure` extracts from the output of a program.
fn read(text: &str, figure: &Figure) -> Result<f64, String> {
    let value = match &figure.source {
        FigureSource::Json(path) => in_json(text, path)?,
        FigureSource::Pattern(pattern) => {
            let pattern = Regex::new(pattern).map_err(|e| e.to_string())?;
            let found = pattern.captures_iter(text).last().and_then(|found| found.get(1));
            let found = found.ok_or_else(|| format!("nothing in its output matches {pattern}"))?.as_str();
            let value = found.parse().ok().filter(|value: &f64| value.is_finite());
            value.ok_or_else(|| format!("{found:?} is not a number"))?
        }
    };
    Ok(value * figure.times)
}

fn in_json(text: &str, path: &[String]) -> Result<f64, String> {
    let json: serde_json::Value = serde_json::from_str(text).map_err(|e| format!("its output is not JSON: {e}"))?;
    let mut at = &json;
    for key in path {
        let next = match at {
            serde_json::Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => other.get(key),
        };
        at = next.ok_or_else(|| format!("its JSON has no {:?} of {}", key, path.join(".")))?;
    }
    at.as_f64().ok_or_else(|| format!("{} in its JSON is not a number: {at}", path.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(source: FigureSource, times: f64) -> Figure {
        Figure { metric: "m".to_owned(), unit: "s".to_owned(), source, times }
    }

    #[test]
    fn figures_are_found_in_text_and_in_json() {
        let pattern = FigureSource::Pattern(r"avg = (\S+) ms".to_owned());
        let text = "avg = 1 ms\nand then avg = 175.25 ms\n";
        assert_eq!(read(text, &figure(pattern.clone(), 0.5)), Ok(87.625));
        assert!(read("", &figure(pattern.clone(), 1.0)).unwrap_err().contains("nothing in its output"));
        assert!(read("avg = fast ms", &figure(pattern, 1.0)).unwrap_err().contains("\"fast\" is not a number"));
        let path = |path: &str| figure(FigureSource::Json(path.split('.').map(str::to_owned).collect()), 2.0);
        let json = r#"{"end": {"streams": [{"rate": 1.5}, {"rate": 21}], "name": "x"}}"#;
        assert_eq!(read(json, &path("end.streams.1.rate")), Ok(42.0));
        assert!(read(json, &path("end.streams.2.rate")).unwrap_err().contains("no \"2\" of end.streams.2.rate"));
        assert!(read(json, &path("end.name")).unwrap_err().contains("is not a number"));
        assert!(read("{", &path("end")).unwrap_err().contains("not JSON"));
    }
}
