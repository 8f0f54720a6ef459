//! The program and the Python package contain no study: everything special to a paper is in its folder.
//!
//! The test searches `crates/*/src` and `python/cellway`, comments included, for:
//! - the name of a folder of `papers` as a whole word; if it is also an ordinary word, in the forms in which a paper is
//!   cited or requested (`` `name` ``, `"name"`, `name/claim`, `name section 2`, `papers/name`);
//! - in code, and in the documentation of Python, a port (`"a>b"`), a conversation (`"group-1"`) or an axis
//!   (`traffic.group.`) of a scenario of a paper.
//!
//! Tests and examples in the documentation of Rust may name papers, and pages in `docs/models` are named after them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::repository;
use regex::Regex;

/// Names of papers that are words of the field or of the language.
const ORDINARY: [&str; 3] = ["l4s", "magic", "spacing"];

/// Names of papers that are values of keys, too, and parts of the names of sources: in quotes, or before "section", they
/// are those.
const VALUES: [&str; 1] = ["bbr"];

/// The names of the papers, and the names in their scenarios.
#[derive(Default)]
struct Names {
    papers: BTreeSet<String>,
    nodes: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Names {
    fn read() -> Names {
        let mut names = Names::default();
        for folder in entries(&repository("papers")) {
            if !folder.join("study.toml").is_file() {
                continue;
            }
            names.papers.insert(folder.file_name().unwrap().to_str().unwrap().to_owned());
            for file in entries(&folder).iter().filter(|path| path.extension().is_some_and(|e| e == "toml")) {
                let scenario: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
                names.nodes.extend(called(&scenario, "node"));
                names.groups.extend(called(&scenario, "traffic"));
            }
        }
        names
    }

    /// Forms of a name in text, comments included.
    fn cited(&self) -> Regex {
        let forms = self.papers.iter().map(|name| {
            let requested = [format!(r"\b{name}/[a-z]"), format!(r"\bpapers?[/ ]{name}\b")].join("|");
            if VALUES.contains(&&name[..]) {
                requested
            } else if ORDINARY.contains(&&name[..]) {
                let quoted = [format!("`{name}`"), format!("[\"']{name}[\"']")].join("|");
                let cited = format!(r"\b{name},? (sections?|[Tt]ables?|[Ff]igures?|[Tt]heorems?|equations?|§)");
                [quoted, requested, cited].join("|")
            } else {
                format!(r"(?i:\b{name}\b)")
            }
        });
        Regex::new(&forms.collect::<Vec<_>>().join("|")).unwrap()
    }

    /// Ports, conversations and axes of their scenarios, as strings in code.
    fn used(&self) -> Regex {
        let any = |names: &BTreeSet<String>| names.iter().map(|n| regex::escape(n)).collect::<Vec<_>>().join("|");
        let (nodes, groups) = (any(&self.nodes), any(&self.groups));
        Regex::new(&format!(r#""(?:(?:{nodes})>(?:{nodes})|(?:{groups})-[0-9]+|traffic\.(?:{groups})\.[a-z.-]+)""#))
            .unwrap()
    }
}

fn called(scenario: &toml::Table, list: &str) -> Vec<String> {
    let found = scenario.get(list).and_then(toml::Value::as_array).into_iter().flatten();
    found.filter_map(|item| item.get("name")?.as_str().map(str::to_owned)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

/// Returns a Rust file without the module of tests at its end.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |end| &text[..end])
}

/// Returns true for files that are compiled for tests only: `#[cfg(test)] mod name;` in a neighbouring file, or
/// `tests.rs`.
fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let declared = Regex::new(&format!(r"#\[cfg\(test\)\]\s*mod {stem};")).unwrap();
    let folder = path.parent().unwrap();
    let parent = folder.with_extension("rs");
    let neighbours = entries(folder).into_iter().chain([parent]).filter(|p| p.extension().is_some_and(|e| e == "rs"));
    let mut neighbours = neighbours.filter(|p| p.is_file());
    let inside = path.components().any(|part| part.as_os_str() == "tests");
    inside || neighbours.any(|p| declared.is_match(&std::fs::read_to_string(p).unwrap()))
}

/// Returns a file without comments. Examples in the documentation of Python remain: users copy them.
fn code(text: &str, is_python: bool) -> String {
    let comment = if is_python { "#" } else { "//" };
    text.lines().map(|line| line.split(comment).next().unwrap_or_default().to_owned() + "\n").collect()
}

fn faults(names: &Names, text: &str, is_python: bool) -> Vec<String> {
    // Pages about a model may be called after the paper that it is from.
    let text = text.replace("docs/models/", "docs/models/the-page-");
    let page = Regex::new(r"the-page-[a-z]+\.md").unwrap();
    let text = page.replace_all(&text, "page");
    let cited = names.cited().find_iter(&text).map(|found| found.as_str().to_owned()).collect::<Vec<_>>();
    let code = code(&text, is_python);
    let used = names.used().find_iter(&code).map(|found| found.as_str().to_owned()).collect::<Vec<_>>();
    [cited, used].concat()
}

#[test]
fn no_name_of_a_paper_of_its_nodes_or_of_its_traffic_is_outside_its_folder() {
    let names = Names::read();
    assert!(names.papers.len() >= 5 && names.nodes.len() >= 10 && names.groups.len() >= 5);
    let mut found = Vec::new();
    let mut rust = Vec::new();
    for folder in entries(&repository("crates")) {
        files(&folder.join("src"), "rs", &mut rust);
    }
    let mut python = Vec::new();
    files(&repository("python/cellway"), "py", &mut python);
    assert!(rust.len() > 100 && python.len() > 30);
    for path in rust.iter().filter(|path| !is_test(path)).chain(&python) {
        let text = std::fs::read_to_string(path).unwrap();
        let is_python = path.extension().is_some_and(|e| e == "py");
        let text = if is_python { &text } else { without_tests(&text) };
        let message = faults(&names, text, is_python);
        if !message.is_empty() {
            found.push(format!("{}: {}", path.display(), message.join(", ")));
        }
    }
    assert!(found.is_empty(), "cite a paper by its authors, and leave choices to its folder:\n{}", found.join("\n"));
}

/// A test of the test.
#[test]
fn the_scan_finds_planted_names() {
    let names = Names::read();
    let rust = |text: &str| faults(&names, text, false);
    assert_eq!(rust("/// As the paper `kdd` says."), ["kdd"]);
    assert_eq!(rust("source: \"magic Table 1\","), ["magic Table"]);
    assert_eq!(rust("/// (`spacing` sections 3 and 4)"), ["`spacing`"]);
    assert_eq!(rust("/// The spacing rate; a magic number; see docs/models/spacing.md."), Vec::<String>::new());
    assert_eq!(rust("const PORT: &str = \"r1>s1\"; // \"ftp-1\""), ["\"r1>s1\""]);
    let python = |text: &str| faults(&names, text, true);
    assert_eq!(python("def f(subject=\"telnet-1\", x='y'): ..."), ["\"telnet-1\""]);
    assert_eq!(python("COUNT = \"traffic.ftp.count\""), ["\"traffic.ftp.count\""]);
    assert_eq!(python("\"\"\"As in `series(at=\"ftp-1\")`.\"\"\""), ["\"ftp-1\""]);
    assert_eq!(python("# As in \"ftp-1\"."), Vec::<String>::new());
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n"), "a\n");
    assert!(is_test(&repository("crates/lab/src/reproduce/judging.rs")));
    assert!(!is_test(&repository("crates/lab/src/reproduce/judge.rs")));
}
