//! Printed parts of a file cannot control the terminal, and names follow the rule of the guide.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{edited, refusal, scenario, with};

/// Escape sequences in keys, names, values and file names, both raw and as TOML escapes.
#[test]
fn control_characters_of_a_file_are_written_as_numbers() {
    let escape = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
    for text in [
        with("\n[\"ob\\u001b[31mserve\"]\n"),
        edited(&[("name = \"r2\"", "name = \"r2\\u001b[2J\"")]),
        edited(&[("\"reno\"", "\"re\\u009bno\"")]),
        edited(&[("\"8 KiB\"", "\"8\\u0007 KiB\"")]),
        edited(&[("\"8 KiB\"", "\"8 \u{202e}KiB\"")]),
        with("# \u{1b}[31m\n"),
    ] {
        let told = refusal(&text).to_string();
        assert!(!escape(&told) && !told.contains('\u{202e}'), "{told:?}");
    }
    // The caret is below the value, although the value is printed wider than in the file.
    let told = refusal(&edited(&[("\"8 KiB\"", "\"\u{9b}\u{202e} KiB\"")])).to_string();
    assert!(!escape(&told), "{told}");
}

#[test]
fn names_are_letters_digits_hyphens_and_underscores() {
    for (from, to) in [
        ("name = \"r2\"", "name = \"../r2\""),
        ("name = \"ftp\"", "name = \"f tp\""),
        ("rate = \"3 Mbit/s\"", "name = \"a/b\"\nrate = \"3 Mbit/s\""),
    ] {
        let error = refusal(&edited(&[(from, to)]));
        assert!(error.problems.iter().any(|p| p.message.ends_with("is not a name")), "{to}: {error}");
    }
    for (key, text) in [
        ("sweep", "\n[[sweep.variant]]\nname = \"a\\u001bb\"\nset = {}\n"),
        ("run", "\n[[run.command]]\nname = \"a b\"\nhost = \"ftp-1\"\nrun = [\"true\"]\n"),
    ] {
        assert!(refusal(&with(text)).to_string().contains("is not"), "{key}");
    }
    for title in ["../small", "small\\u0000", "a\\nb"] {
        let error = refusal(&edited(&[("\"small\"", &format!("\"{title}\""))]));
        assert!(error.to_string().contains("is not a title"), "{error}");
    }
    assert_eq!(scenario(&edited(&[("\"small\"", "\"A small one, 2\"")])).name, "A small one, 2");
}

/// The error about a key that is given twice names the key and a remedy, which TOML's parser does not.
#[test]
fn a_table_that_is_closed_is_told_with_its_line() {
    let told = |text: &str| {
        let error = refusal(text);
        let problem = &error.problems[0];
        (problem.line, problem.message.clone(), problem.accepted.clone().unwrap_or_default())
    };
    let closed = "version = 1\nrun = { duration = \"1 s\" }\n[[run.command]]\nname = \"a\"\n";
    let (line, message, accepted) = told(closed);
    assert_eq!(line, Some(3));
    assert_eq!(message, "run is complete in line 2, where it is written as run = { ... }");
    assert_eq!(accepted, "more keys inside those braces, or [run] in place of run = { ... }");
    let (line, message, _) = told("version = 1\nname = \"x\"\nname = \"y\"\n");
    assert_eq!((line, message.as_str()), (Some(3), "name is given already, in line 2"));
    let (_, message, accepted) = told("traffic = [{ name = \"a\" }]\n[[traffic]]\nname = \"b\"\n");
    assert_eq!(message, "traffic is complete in line 1, where it is written as traffic = [ ... ]");
    assert!(accepted.ends_with("or [[traffic]] in place of traffic = [ ... ]"), "{accepted}");
    // Not the first line of the file that begins so, but that of the same table.
    let (line, message, _) = told("version = 1\nname = \"x\"\n[[node]]\nname = \"a\"\nkind = \"host\"\nname = \"b\"\n");
    assert_eq!((line, message.as_str()), (Some(6), "name is given already, in line 4"));
    let (line, message, _) = told("[tcp]\nmss = \"1 B\"\n[buffer]\n[run]\n[tcp]\n");
    assert_eq!((line, message.as_str()), (Some(5), "tcp is given already, in line 1"));
    assert_eq!(told("run.duration = \"2 s\"\n[run]\nwarmup = \"1 s\"\n").1, "run is given already, in line 1");
}

/// A line or a key of any length is shown around what is at fault.
#[test]
fn what_is_long_is_shown_in_part() {
    let long = "k".repeat(100_000);
    let text = format!("version = 1\ntraffic = [{{ name = \"{long}\" }}, {{ {long} = 1, count = \"é\" }}]\n");
    let told = refusal(&text).to_string();
    assert!(told.len() < 20_000, "{} octets", told.len());
    let lines: Vec<&str> = told.lines().collect();
    let caret = lines.iter().position(|line| line.contains('^')).expect("a mark");
    let marked = lines[caret].chars().position(|c| c == '^').map(|at| lines[caret - 1].chars().nth(at));
    assert!(marked.flatten().is_some(), "{told}");
    assert!(lines.iter().all(|line| line.chars().count() < 2_000), "{told}");
}
