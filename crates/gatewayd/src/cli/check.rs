//! `cellway-gateway check`.

use std::net::SocketAddr;
use std::time::SystemTime;

use serde_json::json;

use super::args::Check;
use super::credentials::{self, Examined};
use super::findings::{self, Findings};
use super::{FAILED, Failure, WRONG_INPUT, output};
use crate::config::{Config, LineRate, Source};

pub(super) fn run(options: &Check) -> Result<(), Failure> {
    let config = match Config::read(&options.config) {
        Ok(config) => config,
        Err(errors) => {
            if options.json {
                output::json(&json!({ "valid": false, "problems": errors.problems, "machine": [], "warnings": [] }));
                return Err(Failure { message: String::new(), code: WRONG_INPUT });
            }
            return Err(Failure::input(errors.to_string()));
        }
    };
    let mut findings = credentials::examine(&config.identity, &config.name, SystemTime::now());
    findings.warnings.extend(exposed(&config));
    // The file may be for another machine.
    let machine = if options.file_only { Findings::default() } else { findings::find(&config) };
    findings.warnings.extend(machine.notes);
    if options.json {
        let problems: Vec<_> = findings.problems.iter().map(|message| json!({ "message": message })).collect();
        let valid = findings.problems.is_empty();
        let (machine, warnings) = (&machine.serious, &findings.warnings);
        output::json(&json!({ "valid": valid, "problems": problems, "machine": machine, "warnings": warnings }));
    } else {
        output::text(&summary(&config, &findings));
        findings.warnings.iter().for_each(|warning| output::error(&format!("note: {warning}")));
        machine.serious.iter().for_each(|finding| output::error(&format!("here: {finding}")));
        findings.problems.iter().for_each(|problem| output::error(problem));
    }
    match (findings.problems.is_empty(), machine.serious.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(Failure { message: String::new(), code: FAILED }),
        (false, _) => Err(Failure { message: String::new(), code: WRONG_INPUT }),
    }
}

/// Returns the services that are open without a certificate.
fn exposed(config: &Config) -> Vec<String> {
    let beyond = |address: &SocketAddr| !address.ip().is_loopback();
    let forwards = config.forwards.iter().filter(|forward| beyond(&forward.listen)).map(|forward| {
        format!("whoever reaches {} can connect to {} behind {}", forward.listen, forward.to, forward.peer)
    });
    let socks =
        config.socks.iter().filter(|socks| beyond(&socks.listen)).map(|socks| {
            format!("whoever reaches {} can connect to everything behind the peers (SOCKS)", socks.listen)
        });
    let metrics =
        config.control.metrics.iter().filter(|address| beyond(address)).map(|address| {
            format!("whoever reaches {address} can read the metrics: names of peers, amounts of traffic")
        });
    forwards.chain(socks).chain(metrics).collect()
}

fn rate(rate: LineRate) -> String {
    match rate {
        LineRate::Fixed { rate, atm: false } => rate.to_string(),
        LineRate::Fixed { rate, atm: true } => format!("{rate} of cells"),
        LineRate::Auto { most: Some(most) } => format!("auto, at most {most}"),
        LineRate::Auto { most: None } => "auto".to_owned(),
    }
}

fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "-".to_owned() } else { items.join(", ") }
}

/// Describes the operation of a gateway with this configuration.
fn summary(config: &Config, findings: &Examined) -> String {
    let mut facts = output::table(&[], &[]);
    let mut fact = |what: &str, value: String| {
        facts.add_row(vec![what.to_owned(), value]);
    };
    fact("name", config.name.clone());
    if let Some(until) = &findings.until {
        fact("certificate", format!("until {until}"));
    }
    fact("listens", config.listen.map_or("no: it only dials".to_owned(), |listen| listen.address.to_string()));
    fact("local", list(&config.local));
    match &config.intercept {
        Some(intercept) => {
            let devices = match intercept.interfaces.is_empty() {
                true => "any device".to_owned(),
                false => intercept.interfaces.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            };
            let source = match intercept.source {
                Source::Client => "with the clients' addresses",
                Source::Gateway => "with its own address",
            };
            fact("intercepts", format!("what comes in through {devices}; connects {source}"));
        }
        None => fact("intercepts", "nothing".to_owned()),
    }
    for forward in &config.forwards {
        fact("forward", format!("{} to {} behind {}", forward.listen, forward.to, forward.peer));
    }
    if let Some(socks) = &config.socks {
        fact("socks", format!("{}, names behind {}", socks.listen, socks.peer.as_deref().unwrap_or("no peer")));
    }
    let limits = &config.limits;
    let window = limits.window.map_or("automatic".to_owned(), |window| window.to_string());
    fact("limits", format!("{} connections, {}, window {window}", limits.connections, limits.memory));
    fact("status", config.control.socket.as_ref().map_or("no socket".to_owned(), |path| path.display().to_string()));
    fact("metrics", config.control.metrics.map_or("not served".to_owned(), |address| address.to_string()));
    for column in facts.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut peers =
        output::table(&["peer", "address", "networks", "rate", "transport", "connect", "down", "outage"], &[]);
    for peer in &config.peers {
        peers.add_row(vec![
            peer.name.clone(),
            peer.address.clone().unwrap_or_else(|| "(dials us)".to_owned()),
            list(&peer.prefixes),
            rate(peer.rate),
            peer.transport.name().to_owned(),
            peer.connect.name().to_owned(),
            peer.down.name().to_owned(),
            peer.outage.to_string(),
        ]);
    }
    format!("{}\n{}", output::rows(&facts), output::rows(&peers))
}
