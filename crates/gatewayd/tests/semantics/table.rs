//! The table, as Markdown.

use std::fmt::Write;

use super::Known;
use super::scene::Seen;

/// The observations of one event.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) event: &'static str,
    /// Directly, by version of IP.
    pub(crate) direct: [Seen; 2],
    /// Through the pair, by version of IP.
    pub(crate) pair: [Seen; 2],
}

impl Row {
    /// Returns true if the results through the pair equal the direct ones.
    pub(crate) fn equal(&self) -> bool {
        self.direct == self.pair
    }

    /// Writes one line of the table, or one for each version of IP if they differ.
    fn write(&self, known: &[Known], out: &mut String) {
        let together = self.direct[0] == self.direct[1] && self.pair[0] == self.pair[1];
        let names = if together { &[""][..] } else { &[", IPv4", ", IPv6"] };
        for (version, name) in names.iter().enumerate() {
            let (direct, pair) = (&self.direct[version], &self.pair[version]);
            let reason = known.iter().find(|known| known.event == self.event).map_or("", |known| known.reason);
            let equal = if direct == pair { "yes".into() } else { format!("no: {reason}") };
            let cells = [direct, pair].map(|seen| seen.join("<br>"));
            writeln!(out, "| {}{name} | {} | {} | {equal} |", self.event, cells[0], cells[1]).unwrap();
        }
    }
}

const HEAD: &str = "\
# What hosts see

Each row is an event that a host can observe, as seen by real programs on Linux over the same network twice: with
the gateways as plain routers (direct), and with `cellway-gateway` running on them (through the pair). No row is
written by hand: `cargo test -p cellway-gatewayd --test semantics` observes all of them anew, for IPv4 and IPv6, and
fails if the two columns differ or this file is not what was observed (`UPDATE_GOLDEN=1` writes it).

The network is client - near gateway - far gateway - server. The pair has its defaults (`connect = \"late\"`,
`source = \"client\"`) but for `keepalive = \"1 s\"` and `window = \"1 MiB\"`. Where IPv4 and IPv6 give the same, they share a row. Numbered
octets are checked, so \"recv: 1000 B\" means the right ones. A row with \"no\" is a difference that is known, with
its reason; the test fails on any other, and on one that is no longer there.

Not in the table are times: the pair is there to change them.

| event | direct | through the pair | equal |
|---|---|---|---|
";

/// Returns the whole file.
pub(crate) fn table(rows: &[Row], known: &[Known]) -> String {
    let mut out = HEAD.to_owned();
    for row in rows {
        row.write(known, &mut out);
    }
    let equal = rows.iter().filter(|row| row.equal()).count();
    write!(out, "\n{equal} of {} events are equal.\n", rows.len()).unwrap();
    out
}
