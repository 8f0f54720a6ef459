//! The rows as a page of the documentation. The same rows give the same text: no dates, times or machines.

use super::row::{ClaimRow, Verdict, tally, tally_text};
use super::run::{PaperResult, Reproduced};
use crate::study::VERSION;

/// The path of the page in the repository.
pub const PAGE: &str = "docs/validation/papers.md";

const HEAD: &str = "\
# The numbers of the papers

<!-- Generated: cellway reproduce --markdown FILE. What is written here by hand is lost. -->

Each row is a number or a sentence of a paper, with the prediction of an equation, the value of the simulator or the
emulator, and a verdict. *Given* parameters are printed in the paper, *inferred* ones follow from other statements of
it, *fitted* ones were tuned to a number of that paper, so that the row is no test. [JSON
outputs](../reference/json.md#verdicts) defines the verdicts. Measured values are those of simulated runs; where the
source is *emulate*, of runs in real time with the TCP of the kernel of one machine; where it is *measure*, with the
real gateways between such hosts, too. They have their 95 % confidence interval, unless a study is deterministic. The
deviation is that of the measured value, or else of the predicted one, from the published number.
";

/// Returns the page for `result`.
pub fn markdown(result: &Reproduced) -> String {
    let mut page = HEAD.to_owned();
    let few = if result.quick { " with few seeds (`--quick`): intervals are wide" } else { "" };
    page += &format!("\nFrom version {VERSION}{few}. In all: {}.\n\n", tally_text(&result.tally()));
    let verdicts: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.words()).collect();
    page += &format!("| paper | claims | {} |\n", verdicts.join(" | "));
    page += &format!("|---|{}\n", "---|".repeat(verdicts.len() + 1));
    for paper in &result.papers {
        let counts: Vec<String> = tally(&paper.claims).values().map(usize::to_string).collect();
        let link = format!("[{0}](#{0})", paper.paper);
        page += &format!("| {link} | {} | {} |\n", paper.claims.len(), counts.join(" | "));
    }
    result.papers.iter().for_each(|paper| page += &section(paper));
    page
}

fn section(paper: &PaperResult) -> String {
    let citation = wrapped(&format!("{}.", paper.citation.trim_end_matches('.')));
    let mut text = format!("\n## {}\n\n{citation}\n", paper.paper);
    for remark in &paper.remarks {
        text += &format!("\n{}\n", wrapped(remark));
    }
    if paper.claims.is_empty() {
        return text + "\nNo claim is judged.\n";
    }
    text +=
        "\n| place | claim | published | accepted | predicted | measured | source | deviation | verdict | remarks |\n";
    text += &format!("|{}\n", "---|".repeat(10));
    paper.claims.iter().for_each(|row| text += &line(row));
    text
}

/// Returns the text in lines of less than 120 characters.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let more = word.chars().count();
        let breaks = length + 1 + more >= 120;
        if length > 0 {
            lines.push(if breaks { '\n' } else { ' ' });
        }
        lines.push_str(word);
        length = if breaks || length == 0 { more } else { length + 1 + more };
    }
    lines
}

fn line(row: &ClaimRow) -> String {
    let seeds = match (row.measured, row.seeds < row.of_seeds) {
        (Some(_), true) => format!("; {} of {} seeds", row.seeds, row.of_seeds),
        _ => String::new(),
    };
    let verdict = match row.verdict {
        Verdict::NotReproduced => format!("**{}**", row.verdict.words()),
        verdict => verdict.words().to_owned(),
    };
    let cells = [
        row.place.clone(),
        format!("{} `{}`", row.claim, row.id),
        row.published_text.clone(),
        row.expected.clone(),
        row.predicted_text.clone(),
        format!("{}{seeds}", row.measured_text),
        row.source.word().to_owned(),
        row.deviation.map_or_else(String::new, |d| format!("{:+.1} %", 100.0 * d)),
        verdict,
        remarks(row),
    ];
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the remarks on a row: its parameters by kind, its equation, and the attempted explanations.
fn remarks(row: &ClaimRow) -> String {
    let list = |name: &str, parts: &[String]| (!parts.is_empty()).then(|| format!("{name}: {}.", parts.join(", ")));
    let text = |name: &str, text: &str| {
        let end = if text.ends_with('.') { "" } else { "." };
        (!text.is_empty()).then(|| format!("{name}{text}{end}"))
    };
    let parts = [
        list("Given", &row.given),
        list("Inferred", &row.inferred),
        list("Fitted", &row.fitted),
        row.equation.as_ref().map(|equation| format!("Equation: `{equation}`.")),
        text("Caveats: ", &row.caveats.join("; ")),
        text("", &row.note),
        text("Not run: ", &row.not_run),
        text("Tried: ", &row.tried),
        text("Unexplained: ", &row.unexplained),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::claim::{Claim, Form};
    use super::super::row::ClaimRow;
    use super::*;

    fn row(lines: &str) -> ClaimRow {
        let text = format!("id = \"c\"\nfigure = \"Table 1\"\nclaim = \"So | so.\"\nform = \"number\"\n{lines}\n");
        toml::from_str::<Claim>(&text).unwrap().judge("p", None, None, None)
    }

    #[test]
    fn lines_of_the_page_are_below_120_characters() {
        let text = wrapped(&"éé ".repeat(100));
        assert_eq!(text.lines().next().map(|line| line.chars().count()), Some(119));
        assert!(text.lines().all(|line| line.chars().count() < 120), "{text}");
        assert_eq!(wrapped("a  b\nc"), "a b c");
    }

    #[test]
    fn a_row_shows_its_parameters_and_equation() {
        let mut shown = row(
            "published = 1.5\nwithin = 0.1\nunit = \"Mbit/s\"\ngiven = [\"window = 8 KiB\"]\nfitted = [\"cost = 1 ms\"]\nunexplained = \"why\"",
        );
        (shown.measured, shown.deviation) = (Some(1.65), Some(0.1));
        (shown.measured_text, shown.verdict, shown.form) = ("1.65 Mbit/s".into(), Verdict::NotReproduced, Form::Number);
        let line = line(&shown);
        assert_eq!(
            line,
            "| Table 1 | So \\| so. `c` | 1.5 Mbit/s | 1.35 to 1.65 Mbit/s |  | 1.65 Mbit/s | predict | +10.0 % | **not reproduced** \
             | Given: window = 8 KiB. Fitted: cost = 1 ms. Unexplained: why. |\n"
        );
    }
}
