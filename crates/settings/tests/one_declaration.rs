//! A key with a default and a range is one declaration: everything else follows from it.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic")]

use std::sync::LazyLock;

use cellway_settings::found::{Sources, error_of};
use cellway_settings::quantity::Format;
use cellway_settings::range::OutOfRange;
use cellway_settings::reference::Page;
use cellway_settings::schema::FileSchema;
use cellway_settings::tree::Node;
use cellway_settings::{section, shape};
use cellway_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

section! {
    /// A printer.
    #[derive(Copy)]
    pub struct Printer, PrinterKeys {
        /// The pages that it prints in a minute.
        #[range(min = 1, max = 600)]
        pub pages_per_minute: u32 = 40,
        /// The memory for a page.
        #[range(min = "1 B", max = "64 MiB")]
        pub memory: Bytes = Bytes(2 << 20),
        /// The time after which it sleeps. Default: never.
        #[range(above = "0 s")]
        pub sleep: Option<Span>,
        /// The part of a page that is printed.
        #[range(above = 0, max = 1)]
        pub coverage: f64 = 0.8,
    }
}

#[derive(Deserialize, JsonSchema)]
struct File {
    printer: Option<PrinterKeys>,
}

const FORMATS: &[Format] = &[Format::of::<Bytes>(), Format::of::<Span>()];
static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// Returns the keys in `text`, or the problems.
fn read(text: &str) -> Result<PrinterKeys, String> {
    let told = |found| error_of(&Sources::of_file("p.toml", text), found).to_string();
    let mut tree = Node::parse(text, 0).map_err(told)?;
    match shape::check(&mut tree, SCHEMA.root()) {
        found if found.is_empty() => {
            let file: File = serde_json::from_value(tree.to_json()).unwrap();
            Ok(file.printer.unwrap_or(PrinterKeys::NONE))
        }
        found => Err(told(found)),
    }
}

fn printer(change: impl FnOnce(&mut Printer)) -> Printer {
    let mut printer = PrinterKeys::NONE.resolve().unwrap();
    change(&mut printer);
    printer
}

#[test]
fn it_is_read_and_layered_and_written() {
    let file = read("[printer]\npages-per-minute = 12\nmemory = \"3 MiB\"\n").unwrap();
    let profile = PrinterKeys {
        pages_per_minute: Some(30),
        memory: Some(Bytes(1)),
        sleep: Some(Span::from_secs(5)),
        coverage: None,
    };
    let expected =
        Printer { pages_per_minute: 12, memory: Bytes(3 << 20), sleep: Some(Span::from_secs(5)), coverage: 0.8 };
    let given = file.or(profile).resolve().unwrap();
    assert_eq!(given, expected);
    assert_eq!(read("").unwrap().or(profile).resolve().unwrap().pages_per_minute, 30);
    let default = read("").unwrap().resolve().unwrap();
    assert_eq!((default.pages_per_minute, default.memory, default.sleep), (40, Bytes(2 << 20), None));
    // What is written gives the same section again.
    let lines = PrinterKeys::from(given).lines();
    assert_eq!(lines, ["pages-per-minute = 12", "memory = \"3 MiB\"", "sleep = \"5 s\"", "coverage = 0.8"]);
    assert_eq!(read(&format!("[printer]\n{}\n", lines.join("\n"))).unwrap().resolve(), Some(given));
}

/// Returns the problem of one line in the section: the message, and the part of the line that is marked.
fn problem(line: &str) -> (String, String) {
    let text = read(&format!("[printer]\n{line}\n")).unwrap_err();
    let lines: Vec<&str> = text.lines().collect();
    let marked = lines[2].chars().zip(lines[3].chars()).filter(|(_, mark)| *mark == '^').map(|(c, _)| c).collect();
    (lines[0].split_once(": ").unwrap().1.to_owned(), marked)
}

#[test]
fn its_problems_are_told_with_their_locations() {
    assert_eq!(
        read("[printer]\npages-per-minute = 601\n").unwrap_err(),
        "p.toml:2:20: printer.pages-per-minute: 601 is out of range; accepted: a whole number from 1 to 600\n  \
         |\n2 | pages-per-minute = 601\n  |                    ^^^"
    );
    assert!(read("[printer]\npage-per-minute = 4\n").unwrap_err().contains("did you mean pages-per-minute?"));
    assert_eq!(
        read("[printer]\nmemory = \"65 MiB\"\n").unwrap_err(),
        "p.toml:2:10: printer.memory: \"65 MiB\" is out of range; accepted: from \"1 B\" to \"64 MiB\", like \"2 MiB\"\n  \
         |\n2 | memory = \"65 MiB\"\n  |          ^^^^^^^^"
    );
    let refused =
        |line, message: &str, marked: &str| assert_eq!(problem(line), (message.to_owned(), marked.to_owned()));
    refused(
        "memory = \"0 B\"",
        "printer.memory: \"0 B\" is out of range; accepted: from \"1 B\" to \"64 MiB\", like \"2 MiB\"",
        "\"0 B\"",
    );
    refused(
        "sleep = \"0 ms\"",
        "printer.sleep: \"0 ms\" is out of range; accepted: more than \"0 s\", like \"22.5 ms\"; without the key: never",
        "\"0 ms\"",
    );
    refused("coverage = 0", "printer.coverage: 0 is out of range; accepted: a number above 0, at most 1", "0");
    for edge in
        ["memory = \"1 B\"", "memory = \"64 MiB\"", "sleep = \"1 ps\"", "coverage = 1", "pages-per-minute = 600"]
    {
        read(&format!("[printer]\n{edge}\n")).unwrap();
    }
    // The range is also named for a value of another form.
    let (message, _) = problem("memory = \"2 pages\"");
    assert!(message.ends_with(", like \"8 KiB\"; from \"1 B\" to \"64 MiB\""), "{message}");
}

#[test]
fn editors_and_readers_are_told() {
    let schema: serde_json::Value = serde_json::from_str(&SCHEMA.text()).unwrap();
    let keys = &schema["$defs"]["PrinterKeys"]["properties"];
    let (pages, memory, sleep) = (&keys["pages-per-minute"], &keys["memory"], &keys["sleep"]);
    assert_eq!((&pages["default"], &pages["minimum"], &pages["maximum"]), (&40.into(), &1.into(), &600.into()));
    assert_eq!((&memory["x-minimum"], &memory["x-maximum"]), (&"1 B".into(), &"64 MiB".into()));
    assert_eq!((&memory["default"], &sleep["x-above"]), (&"2 MiB".into(), &"0 s".into()));
    assert_eq!(keys["coverage"]["exclusiveMinimum"], 0);
    let page = SCHEMA.reference(&Page { title: "Printers", command: "-", introduction: "", order: &[] });
    let sizes = "a number and one of B, kB, KiB, MB, MiB, GB, GiB, like \"8 KiB\"";
    let times = "a number and one of ps, ns, us, µs, ms, s, min, h, like \"22.5 ms\"";
    for row in [
        "| `pages-per-minute` | The pages that it prints in a minute. | a whole number from 1 to 600 | `40` |"
            .to_owned(),
        format!("| `memory` | The memory for a page. | {sizes}; from \"1 B\" to \"64 MiB\" | `\"2 MiB\"` |"),
        format!("| `sleep` | The time after which it sleeps. Default: never. | {times}; more than \"0 s\" | - |"),
        "| `coverage` | The part of a page that is printed. | a number above 0, at most 1 | `0.8` |".to_owned(),
    ] {
        assert!(page.contains(&row), "{row}\n{page}");
    }
}

/// A section that no file gives is checked against the same range.
#[test]
fn values_of_a_program_are_checked_against_the_same_range() {
    let refused = |printer: Printer| {
        let OutOfRange { key, message, accepted } = printer.in_range().unwrap_err();
        [key, message, accepted]
    };
    assert_eq!(printer(|p| (p.pages_per_minute, p.memory) = (600, Bytes(64 << 20))).in_range(), Ok(()));
    assert_eq!(printer(|p| p.sleep = Some(Span::from_ps(1))).in_range(), Ok(()));
    assert_eq!(
        refused(printer(|p| p.pages_per_minute = 601)),
        ["pages-per-minute", "601 is out of range", "from 1 to 600"]
    );
    assert_eq!(refused(printer(|p| p.pages_per_minute = 0))[0], "pages-per-minute");
    assert_eq!(refused(printer(|p| p.memory = Bytes(0))), ["memory", "0 B is out of range", "from 1 B to 64 MiB"]);
    assert_eq!(refused(printer(|p| p.memory = Bytes((64 << 20) + 1)))[0], "memory");
    assert_eq!(refused(printer(|p| p.sleep = Some(Span::ZERO))), ["sleep", "0 s is out of range", "more than 0 s"]);
    assert_eq!(refused(printer(|p| p.coverage = 0.0)), ["coverage", "0 is out of range", "more than 0, at most 1"]);
    assert_eq!(refused(printer(|p| p.coverage = f64::NAN))[1], "NaN is out of range");
}
