//! Help that depends on the built-in papers.

use std::fmt::Write;

use cellway_lab::reproduce::papers;

/// Returns the examples of `cellway reproduce` and the built-in papers, by name.
pub(crate) fn reproduce() -> String {
    let examples = [
        ("--out out/papers", "all papers, all seeds: tables and reports"),
        ("--json", "one row per claim: id, published, predicted, simulated, interval, verdict"),
        ("path/to/folder --out out/own", "a study of your own: study.toml, expected.toml, scenarios"),
    ];
    let mut examples: Vec<(String, &str)> = examples.map(|(words, what)| (words.to_owned(), what)).into();
    if let Some(first) = papers().first() {
        examples.insert(1, (format!("{} --quick", first.name), "one paper, with few seeds"));
        let only = format!("{} --only ID,ID", first.name);
        examples.insert(2, (only, "some of its claims, with the runs that they need"));
    }
    let mut help = "Examples:\n".to_owned();
    for (words, what) in examples {
        let _ = writeln!(help, "  cellway reproduce {words:<32}  {what}");
    }
    let widest = papers().iter().map(|paper| paper.name.len()).max().unwrap_or_default();
    help += "\nPapers:\n";
    for paper in papers() {
        let _ = writeln!(help, "  {:<widest$}  {}", paper.name, paper.description());
    }
    help.truncate(help.trim_end().len());
    help
}
