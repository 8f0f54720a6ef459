//! What an emulation does beyond the network.

use std::fmt::Write;

use crate::model::{FigureSource, GatewayConnect, GatewayTransport, Ready, Scenario};
use crate::tree::quoted;
use crate::write::list;

impl Scenario {
    pub(super) fn write_emulate(&self, out: &mut String) -> std::fmt::Result {
        let emulate = &self.emulate;
        writeln!(out, "\n[run.emulate]\nlateness-limit = \"{}\"", emulate.lateness_limit)?;
        writeln!(out, "conversations = {}\nidle = \"{}\"", emulate.conversations, emulate.idle)?;
        writeln!(out, "play = {}\ngateways = {}", emulate.play, emulate.gateways)?;
        writeln!(out, "offload = {}", emulate.offload)?;
        let transport = match emulate.gateway_transport {
            GatewayTransport::Auto => "auto",
            GatewayTransport::Quic => "quic",
            GatewayTransport::Tls => "tls",
        };
        let connect = match emulate.gateway_connect {
            GatewayConnect::Late => "late",
            GatewayConnect::Early => "early",
        };
        writeln!(out, "gateway = {{ transport = \"{transport}\", connect = \"{connect}\" }}")?;
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
