//! `cellway-gateway status`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellway_gateway::DEFAULT_CLASS;

use super::args::{Running, Status};
use super::output::{age, rows, scaled, table};
use super::{Failure, output, read};
use crate::control::ask;
use crate::status::states::{self, State, explained};
use crate::status::{ConnectionStatus, PeerStatus, Snapshot};

/// The interval between two snapshots, for rates.
const INTERVAL: Duration = Duration::from_millis(500);
/// The interval of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

pub(super) fn run(options: &Status) -> Result<(), Failure> {
    let socket = socket_of(&options.running)?;
    let mut before = request(&socket, options)?;
    if options.json && !options.watch {
        let text = serde_json::to_value(&before).map_err(|error| Failure::failed(error.to_string()))?;
        output::json(&text);
        return Ok(());
    }
    loop {
        std::thread::sleep(if options.watch { WATCH } else { INTERVAL });
        let now = request(&socket, options)?;
        let goes_on = if options.json {
            output::json_line(&now).map_err(|error| Failure::failed(error.to_string()))?
        } else {
            // Clears the terminal and begins at its top (ECMA-48: ED, CUP).
            let clear = if options.watch { "\x1b[2J\x1b[H" } else { "" };
            output::refresh(clear, &text(&before, &now, options.connections))
        };
        if !goes_on || !options.watch {
            return Ok(());
        }
        before = now;
    }
}

/// Returns the control socket of a gateway: the one that its configuration names, or that of the command line.
pub(super) fn socket_of(running: &Running) -> Result<PathBuf, Failure> {
    let Some(file) = &running.config else { return Ok(running.socket.clone()) };
    read(file)?
        .control
        .socket
        .map(|path| path.0)
        .ok_or_else(|| Failure::input(format!("{}: names no socket; accepted: control.socket = PATH", file.display())))
}

fn request(socket: &Path, options: &Status) -> Result<Snapshot, Failure> {
    let path: &PathBuf = &socket.to_owned();
    ask(socket, options.connections).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "; is it running, with control.socket in its configuration? (--socket PATH)",
            ErrorKind::ConnectionRefused => "; it has ended",
            ErrorKind::PermissionDenied => "; the socket is for its owner and group",
            ErrorKind::WouldBlock => "; it does not answer",
            _ => "",
        };
        Failure::failed(format!("{}: {error}{hint}", path.display()))
    })
}

/// Returns the text of `status`, from two snapshots.
fn text(before: &Snapshot, now: &Snapshot, connections: bool) -> String {
    let mut out = format!("{}, up {}\n", now.name, age(now.uptime));
    if let Some(left) = now.draining {
        out.push_str(&format!("drains: it accepts no new connections, and ends after the {left} that are left\n"));
    }
    out.push('\n');
    let header = ["peer", "state", "address", "rtt", "rate", "use", "lost", "held", "connections"];
    let mut peers = table(&header, &["rtt", "rate", "use", "lost", "held", "connections"]);
    for peer in &now.peers {
        let earlier = before.peers.iter().find(|other| other.name == peer.name);
        peers.add_row(row(peer, earlier, now.uptime - before.uptime).to_vec());
    }
    out.push_str(&rows(&peers));
    let remarks = remarks(&now.peers);
    if !remarks.is_empty() {
        out.push_str(&format!("\n{remarks}"));
    }
    if now.peers.iter().any(has_classes) {
        out.push_str(&format!("\n{}", rows(&classes(before, now))));
    }
    let total = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>();
    let counters = &now.counters;
    out.push_str(&format!(
        "\n{} opened, {} refused, {} ended, {} errors\n",
        total(&counters.opened),
        total(&counters.refused),
        total(&counters.ended),
        total(&counters.errors),
    ));
    if now.receive_drops > 0 {
        out.push_str(&format!(
            "\n{} packets of peers were lost here, not on the line: this machine did not read them in time. The peers show \
             them as lost.\nGive it more processor, or a larger net.core.rmem_max.\n",
            now.receive_drops
        ));
    }
    if connections {
        out.push('\n');
        out.push_str(&rows(&list(&now.connections)));
        let seen = |state: &State| now.connections.iter().any(|one| one.state == state.name);
        let states = explained(states::CONNECTION.into_iter().filter(seen));
        if !states.is_empty() {
            out.push_str(&format!("\n{states}"));
        }
    }
    out
}

/// Returns remarks about each peer: its state and the reason for it, unless it is `quic`, and a rate that is too high.
fn remarks(peers: &[PeerStatus]) -> String {
    let mut out = String::new();
    for peer in peers {
        let State { name, meaning } = peer.state();
        let mut remark = |text: String| out.push_str(&format!("{}: {text}\n", peer.name));
        if name != "quic" {
            remark(format!("{name}: {meaning}"));
        }
        let why = if peer.up && !peer.detached { &peer.why_tls } else { &peer.why_down };
        if !why.is_empty() {
            remark(why.clone());
        }
        let lost = peer.downs > 0 && !peer.why_last_down.is_empty() && peer.why_last_down != *why;
        if lost && !peer.up {
            remark(format!("it was lost, as {}", peer.why_last_down));
        }
        if let Some(fits) = peer.fits {
            let (rate, fits) = (scaled(peer.rate, "bit/s"), scaled(fits, "bit/s"));
            let sent = scaled(peer.sending_rate, "bit/s");
            remark(format!("`rate` is {rate}, above what the line carries: {fits} fits, and {sent} is sent"));
        }
    }
    out
}

fn row(peer: &PeerStatus, earlier: Option<&PeerStatus>, seconds: f64) -> [String; 9] {
    let octets = peer.line_octets.saturating_sub(earlier.map_or(peer.line_octets, |p| p.line_octets));
    let share = octets as f64 * 8.0 / seconds / peer.sending_rate;
    let lost = peer.packets_lost as f64 / peer.packets_sent as f64;
    let percent = |share: f64, digits: usize| match share.is_finite() {
        true => format!("{:.digits$} %", share * 100.0),
        false => "-".to_owned(),
    };
    [
        peer.name.clone(),
        peer.state().name.to_owned(),
        peer.address.map_or("-".to_owned(), |address| address.to_string()),
        if peer.up { format!("{:.1} ms", peer.rtt * 1e3) } else { "-".to_owned() },
        if peer.sending_rate > 0.0 { scaled(peer.sending_rate, "bit/s") } else { "-".to_owned() },
        percent(share, 0),
        percent(lost, 2),
        scaled(peer.buffered_bytes as f64, "B"),
        match peer.opening {
            0 => peer.connections.to_string(),
            opening => format!("{} + {opening} opening", peer.connections),
        },
    ]
}

/// Returns true if classes are configured for a peer.
fn has_classes(peer: &PeerStatus) -> bool {
    match &peer.classes[..] {
        [] => false,
        [all] => (&*all.name, all.share, all.ceiling) != (DEFAULT_CLASS, 1, None),
        _ => true,
    }
}

/// Returns the classes of each peer for which some are configured, with the traffic between the two snapshots.
fn classes(before: &Snapshot, now: &Snapshot) -> comfy_table::Table {
    let header = ["peer", "class", "share", "ceiling", "sends", "at ceiling", "connections"];
    let mut table = table(&header, &["share", "ceiling", "sends", "at ceiling", "connections"]);
    let seconds = now.uptime - before.uptime;
    for peer in now.peers.iter().filter(|peer| has_classes(peer)) {
        let earlier = before.peers.iter().find(|other| other.name == peer.name);
        for class in &peer.classes {
            let old = earlier.and_then(|peer| peer.classes.iter().find(|other| other.name == class.name));
            let old = old.unwrap_or(class);
            let octets = class.line_octets.saturating_sub(old.line_octets) as f64;
            let held = (class.at_ceiling - old.at_ceiling).max(0.0) / seconds;
            table.add_row(vec![
                peer.name.clone(),
                class.name.clone(),
                class.share.to_string(),
                class.ceiling.map_or("-".to_owned(), |ceiling| scaled(ceiling, "bit/s")),
                if seconds > 0.0 { scaled(octets * 8.0 / seconds, "bit/s") } else { "-".to_owned() },
                if held.is_finite() { format!("{:.0} %", held.min(1.0) * 100.0) } else { "-".to_owned() },
                class.connections.to_string(),
            ]);
        }
    }
    table
}

fn list(connections: &[ConnectionStatus]) -> comfy_table::Table {
    let header = ["peer", "from", "client", "server", "state", "age", "sent", "received", "held"];
    let mut table = table(&header, &["age", "sent", "received", "held"]);
    for one in connections {
        table.add_row(vec![
            one.peer.clone(),
            if one.opened_here { "here" } else { "peer" }.to_owned(),
            one.client.map_or("-".to_owned(), |client| client.to_string()),
            one.server.clone(),
            one.state.clone(),
            age(one.age),
            scaled(one.sent_bytes as f64, "B"),
            scaled(one.received_bytes as f64, "B"),
            scaled(one.buffered_bytes as f64, "B"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::ClassStatus;

    #[test]
    fn a_table_shows_the_rates_between_two_snapshots() {
        let up = PeerStatus {
            name: "tokyo".to_owned(),
            up: true,
            transport: "quic".to_owned(),
            address: Some("192.0.2.1:4433".parse().unwrap()),
            rtt: 0.175,
            rate: 30e6,
            sending_rate: 30e6,
            line_octets: 1_000_000,
            packets_sent: 200,
            packets_lost: 1,
            buffered_bytes: 1_210_000,
            connections: 3,
            opening: 2,
            ..PeerStatus::default()
        };
        let down = PeerStatus {
            name: "lima".to_owned(),
            downs: 1,
            why_down:
                "its certificate is refused: it expired on Nov 1 12:00:00 2026 +00:00 (the clock here says Nov 23)"
                    .to_owned(),
            why_last_down: "nothing arrived from it for 60 s".to_owned(),
            ..PeerStatus::default()
        };
        let blocked = PeerStatus {
            name: "oslo".to_owned(),
            up: true,
            transport: "tls".to_owned(),
            downs: 2,
            why_last_down: "it began another connection".to_owned(),
            why_tls: "QUIC to 192.0.2.3:4433: no answer; TLS is used".to_owned(),
            rate: 30e6,
            fits: Some(24.5e6),
            sending_rate: 24.5e6,
            ..PeerStatus::default()
        };
        let before = Snapshot { uptime: 10.0, peers: vec![up.clone(), down.clone()], ..Snapshot::default() };
        let later = PeerStatus { line_octets: 1_000_000 + 937_500, ..up };
        let connection = ConnectionStatus {
            peer: "tokyo".to_owned(),
            opened_here: true,
            client: Some("10.0.0.2:4000".parse().unwrap()),
            server: "10.1.0.2:80".to_owned(),
            state: "open".to_owned(),
            age: 75.0,
            sent_bytes: 1500,
            received_bytes: 999,
            buffered_bytes: 0,
        };
        let now = Snapshot {
            name: "paris".to_owned(),
            uptime: 10.5,
            receive_drops: 7,
            peers: vec![later, down, blocked],
            connections: vec![connection],
            ..Snapshot::default()
        };
        // 937 500 octets in half a second are 15 Mbit/s, half of the rate.
        let expected = "\
paris, up 10 s

peer   state  address            rtt         rate   use    lost     held    connections
tokyo  quic   192.0.2.1:4433  175.0 ms  30.0 Mbit/s  50 %  0.50 %  1.21 MB  3 + 2 opening
lima   down   -                      -            -     -       -      0 B              0
oslo   tls    -                 0.0 ms  24.5 Mbit/s  0 %      -      0 B              0

lima: down: not connected: new connections to it go direct or are refused, as `down` in the file says
lima: its certificate is refused: it expired on Nov 1 12:00:00 2026 +00:00 (the clock here says Nov 23)
lima: it was lost, as nothing arrived from it for 60 s
oslo: tls: connected by TLS over TCP: a loss holds all connections up
oslo: QUIC to 192.0.2.3:4433: no answer; TLS is used
oslo: `rate` is 30.0 Mbit/s, above what the line carries: 24.5 Mbit/s fits, and 24.5 Mbit/s is sent

0 opened, 0 refused, 0 ended, 0 errors

7 packets of peers were lost here, not on the line: this machine did not read them in time. The peers show them as lost.
Give it more processor, or a larger net.core.rmem_max.

peer   from  client         server       state      age     sent  received  held
tokyo  here  10.0.0.2:4000  10.1.0.2:80  open   1 min 15 s  1.50 kB     999 B   0 B

  open  bytes flow in both directions
";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let shown = text(&before, &now, true);
        assert_eq!(words(&shown), words(expected), "{shown}");
        // Columns are aligned.
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].find("address"), lines[3].find("192.0.2.1"), "{shown}");
        assert!(lines[2..6].iter().all(|line| line.len() < 110), "no reason widens the table: {shown}");
    }

    #[test]
    fn classes_are_shown_where_some_are_configured() {
        let class = |name: &str, ceiling, line_octets, at_ceiling| ClassStatus {
            name: name.to_owned(),
            share: 3,
            ceiling,
            connections: 2,
            line_octets,
            at_ceiling,
            ..ClassStatus::default()
        };
        let picture = |uptime, classes| Snapshot {
            uptime,
            peers: vec![PeerStatus { name: "tokyo".to_owned(), classes, ..PeerStatus::default() }],
            ..Snapshot::default()
        };
        let none = picture(1.0, vec![ClassStatus { share: 1, ..class("default", None, 0, 0.0) }]);
        assert!(!text(&none, &none, false).contains("class"), "all connections are in one class");
        for one in [class("default", None, 0, 0.0), class("default", Some(2e6), 0, 0.0), class("all", None, 0, 0.0)] {
            let one = picture(1.0, vec![one]);
            assert!(text(&one, &one, false).contains("at ceiling"), "it is configured");
        }
        let before = picture(1.0, vec![class("a", Some(2e6), 1_000, 1.0), class("default", None, 0, 0.0)]);
        let now = picture(3.0, vec![class("a", Some(2e6), 501_000, 2.5), class("default", None, 250_000, 0.0)]);
        let shown = text(&before, &now, false);
        let cells = |line: &str| {
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<String>> = shown.lines().filter(|line| line.contains("bit/s")).map(cells).collect();
        assert_eq!(rows.len(), 2, "{shown}");
        assert_eq!(rows[0], ["tokyo", "a", "3", "2.00 Mbit/s", "2.00 Mbit/s", "75 %", "2"], "{shown}");
        assert_eq!(rows[1], ["tokyo", "default", "3", "-", "1.00 Mbit/s", "0 %", "2"], "{shown}");
    }

    #[test]
    fn every_state_is_explained_on_the_page_and_in_the_help() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway/operations.md");
        let page = std::fs::read_to_string(page).unwrap();
        let help = crate::cli::args::status_help();
        for State { name, meaning } in states::PEER.into_iter().chain(states::CONNECTION) {
            assert!(page.contains(&format!("| `{name}` | {meaning} |")), "{name} is not on the page: {meaning}");
            assert!(help.contains(meaning), "{name} is not in the help: {meaning}");
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(scaled(999.4, "B"), "999 B");
        assert_eq!(scaled(999.6, "B"), "1.00 kB");
        assert_eq!(scaled(12_345_678.0, "B"), "12.3 MB");
        assert_eq!(age(59.9), "59 s");
        assert_eq!(age(90_000.0), "1 d 1 h");
    }
}
