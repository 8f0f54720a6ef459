//! Views of a running emulation each second: drawn on a terminal, lines of JSON elsewhere.

use std::io::{IsTerminal, Write};

use cellway_lab::Span;
use cellway_lab::emulate::EmulationView;

use crate::output;
use crate::table::Table;

/// The interval of views.
pub(crate) const EVERY: Span = Span::from_secs(1);
/// Conversations shown; the fastest come first.
const SHOWN: usize = 20;

/// Draws views over each other.
pub(crate) struct Top {
    terminal: bool,
    /// Lines of the last view.
    lines: usize,
}

impl Top {
    pub(crate) fn new() -> Top {
        Top { terminal: std::io::stdout().is_terminal(), lines: 0 }
    }

    pub(crate) fn show(&mut self, view: &EmulationView) {
        if !self.terminal {
            if let Ok(json) = serde_json::to_string(view) {
                output::json_line(&json);
            }
            return;
        }
        // A row that wraps would be two, and the next view would go up too little.
        let width = output::terminal_width().unwrap_or(80).max(20);
        let text: String = draw(view, width).lines().map(|line| output::cut(line, width) + "\n").collect();
        let mut out = std::io::stdout().lock();
        // Moves up over the last view, and clears below; works on any terminal with ANSI sequences.
        let up = if self.lines > 0 { format!("\r\x1b[{}A\x1b[J", self.lines) } else { String::new() };
        output::keep(write!(out, "{up}{text}").and_then(|()| out.flush()));
        self.lines = text.lines().count();
    }
}

/// Formats the view as lines of text.
fn draw(view: &EmulationView, width: usize) -> String {
    let late = view.lateness_p99 * 1e6;
    let verdict = if view.valid { "" } else { "   INVALID: too late" };
    let mut text = format!("{:.0} s   lateness p99 {late:.0} us{verdict}\n", view.t);
    let header = ["port", "utilisation", "queue", "dropped"].map(str::to_owned);
    let mut ports = Table::with_numbers(&header, |column| column > 0);
    for port in &view.ports {
        ports.add_row([
            port.name.clone(),
            format!("{:.1} %", port.utilisation * 100.0),
            format!("{} {}", port.queue, port.unit),
            port.dropped.to_string(),
        ]);
    }
    let header = ["conversation", "type", "there", "back", "queue", "dropped", "idle"].map(str::to_owned);
    let mut table = Table::with_numbers(&header, |column| column > 1);
    for c in view.conversations.iter().take(SHOWN) {
        table.add_row([
            format!("{} {} > {}", c.protocol, c.from, c.to),
            c.kind.to_owned(),
            rate(c.rate[0]),
            rate(c.rate[1]),
            c.queue.to_string(),
            c.dropped.to_string(),
            format!("{:.0} s", c.idle),
        ]);
    }
    for row in [ports, table].iter().flat_map(|table| table.lines(width)) {
        text += &row;
        text += "\n";
    }
    if view.conversations.len() > SHOWN {
        text += &format!("and {} slower ones\n", view.conversations.len() - SHOWN);
    }
    text
}

/// Formats a rate with three digits.
fn rate(bps: f64) -> String {
    let (value, unit) = match bps {
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps => (bps / 1e3, "kbit/s"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        let shown = [0.0, 999.0, 12_345.0, 1.5e6, 149.76e6, 2.4e9].map(rate);
        assert_eq!(shown, ["0.00 kbit/s", "1.00 kbit/s", "12.3 kbit/s", "1.50 Mbit/s", "150 Mbit/s", "2.40 Gbit/s"]);
    }
}
