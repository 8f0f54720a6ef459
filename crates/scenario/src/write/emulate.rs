//! The parts of an emulation beyond the network.

use std::fmt::Write;

use crate::model::{EmulateKeys, FigureSource, Ready, Scenario};
use crate::tree::quoted;
use crate::write::list;

impl Scenario {
    pub(super) fn write_emulate(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "\n[run.emulate]\n{}", EmulateKeys::from(self.emulate).lines().join("\n"))?;
        for command in &self.commands {
            let host = self.command_host(command.host);
            writeln!(out, "\n[[run.command]]\nname = {}\nhost = {}", quoted(&command.name), quoted(&host))?;
            writeln!(out, "run = {}\nstart = \"{}\"", list(&command.run), command.start)?;
            if let Some(stop) = command.stop {
                writeln!(out, "stop = \"{stop}\"")?;
            }
            writeln!(out, "expect = {}", command.expect)?;
            match &command.ready {
                None => {}
                Some(Ready::Port(port)) => writeln!(out, "ready = \"{port}\"")?,
                Some(Ready::Pattern(pattern)) => writeln!(out, "ready = {}", quoted(pattern))?,
            }
            for figure in &command.figures {
                writeln!(out, "[[run.command.figure]]\nmetric = {}", quoted(&figure.metric))?;
                writeln!(out, "unit = {}\ntimes = {:?}", quoted(&figure.unit), figure.times)?;
                match &figure.source {
                    FigureSource::Json(keys) => writeln!(out, "json = {}", quoted(&keys.join(".")))?,
                    FigureSource::Pattern(pattern) => writeln!(out, "pattern = {}", quoted(pattern))?,
                }
            }
        }
        Ok(())
    }
}
