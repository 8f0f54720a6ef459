//! Help that depends on the built-in papers, and the rule for the width of all help.

use std::fmt::Write;

use cellway_lab::reproduce::papers;

use crate::table::{Kind, Table};

/// The width of a narrow terminal, in which the lines of examples and lists must fit. Help wraps paragraphs by itself.
const NARROW: usize = 80;

/// Returns the examples of `cellway reproduce` and the built-in papers, by name.
pub(crate) fn reproduce() -> String {
    let mut examples = vec![
        ("--out out/papers".to_owned(), "all papers, with reports"),
        ("--json".to_owned(), "one row per claim"),
        ("path/to/folder --out out/own".to_owned(), "a study of your own"),
    ];
    if let Some(first) = papers().first() {
        examples.insert(1, (format!("{} --quick", first.name), "one paper, with few seeds"));
        let only = format!("{} --only ID,ID", first.name);
        examples.insert(2, (only, "some of its claims"));
    }
    let mut help = "Examples:\n".to_owned();
    for (words, what) in examples {
        let _ = writeln!(help, "  cellway reproduce {words:<28}  {what}");
    }
    help += "\nPapers:\n";
    let mut list = Table::new(&["", ""].map(str::to_owned), |_| Kind::Text);
    papers().iter().for_each(|paper| list.add_row([paper.name.to_owned(), paper.description()]));
    let lines = list.lines(NARROW - 2);
    lines.iter().filter(|line| !line.is_empty()).for_each(|line| help += &format!("  {line}\n"));
    help.truncate(help.trim_end().len());
    help
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::args::Args;

    /// Calls `check` with each command, and its name.
    fn each(command: &Command, name: &str, check: &mut impl FnMut(&Command, &str)) {
        let name = format!("{name} {}", command.get_name());
        check(command, name.trim());
        command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(|sub| each(sub, &name, check));
    }

    /// The lines of examples and lists are as they were written; paragraphs are single lines, which wrap anywhere.
    #[test]
    fn examples_are_unbroken_at_any_width() {
        let mut examples = 0;
        for width in [NARROW, 100] {
            let root = Args::command().term_width(width).max_term_width(width);
            each(&root, "", &mut |command, name| {
                let given = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                let shown = command.clone().term_width(width).render_long_help().to_string();
                // The usage of `shell` has one word of all the options of which one is required.
                for line in shown.lines().filter(|line| !line.starts_with("Usage:")) {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                }
                for pair in given.lines().collect::<Vec<_>>().windows(2) {
                    let wraps = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
                    assert!(!(wraps(pair[0]) && wraps(pair[1])), "{name}: a paragraph of several lines: {pair:?}");
                }
                for line in given.lines().filter(|line| line.starts_with("  ")) {
                    assert!(shown.lines().any(|shown| shown == line), "{name} at {width} breaks: {line}\n{shown}");
                    examples += usize::from(line.starts_with("  cellway "));
                }
            });
        }
        assert!(examples > 100, "{examples} lines");
    }
}
