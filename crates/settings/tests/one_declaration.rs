//! A key with its default and its range, or without them, is one declaration: everything else follows from it.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic")]

use std::sync::LazyLock;

use cellway_settings::found::{Sources, error_of};
use cellway_settings::in_file::InFile;
use cellway_settings::quantity::Format;
use cellway_settings::range::OutOfRange;
use cellway_settings::reference::Page;
use cellway_settings::schema::FileSchema;
use cellway_settings::tree::Node;
use cellway_settings::{section, shape, table};
use cellway_units::{Bytes, Span};

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

table! {
    /// A tray with paper.
    struct Tray {
        /// Its content.
        #[length(min = 1)]
        paper: String,
        /// The numbers of the printers that draw from it.
        #[range(min = 1, max = 9)]
        #[length(min = 1, max = 3)]
        printers: Vec<u32>,
        /// The sheets that fit.
        #[range(min = 1)]
        sheets: u32 = 250,
        /// The time after which it is filled up.
        #[range(max = "24 h")]
        filled: Span = Span::from_secs(3600),
        /// Its colour. Default: that of the printer.
        colour: Option<String>,
    }
}

table! {
    /// An office.
    struct File as "Office" {
        printer: Option<PrinterKeys>,
        /// Its trays.
        #[length(min = 1)]
        tray: Option<Vec<Tray>>,
    }
}

const FORMATS: &[Format] = &[Format::of::<Bytes>(), Format::of::<Span>()];
static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// Returns what is right in `text`, and the problems.
fn file(text: &str) -> (File, Option<String>) {
    let told = |found| error_of(&Sources::of_file("p.toml", text), found).to_string();
    let mut tree = Node::parse(text, 0).unwrap();
    let found = shape::check(&mut tree, SCHEMA.root());
    (File::read(tree.to_json()).unwrap(), Some(found).filter(|found| !found.is_empty()).map(told))
}

/// Returns the keys of the printer in `text`, or the problems.
fn read(text: &str) -> Result<PrinterKeys, String> {
    let (file, problems) = file(text);
    problems.map_or(Ok(file.printer.flatten().unwrap_or(PrinterKeys::NONE)), Err)
}

/// Returns the only tray in `text`, and the problems.
fn tray(text: &str) -> (Tray, Option<String>) {
    let (file, problems) = file(&format!("[[tray]]\n{text}"));
    (file.tray.unwrap().unwrap().remove(0), problems)
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
    // The written section gives the same one again.
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
    assert!(message.ends_with(", like \"2 MiB\"; from \"1 B\" to \"64 MiB\""), "{message}");
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
    let tray = &schema["$defs"]["Tray"];
    let keys = &tray["properties"];
    let (paper, printers) = (&keys["paper"], &keys["printers"]);
    assert_eq!(tray["required"], serde_json::json!(["paper", "printers"]));
    assert_eq!((&paper["minLength"], &printers["minItems"], &printers["maxItems"]), (&1.into(), &1.into(), &3.into()));
    assert_eq!((&printers["items"]["minimum"], &printers["items"]["maximum"]), (&1.into(), &9.into()));
    assert_eq!((&keys["sheets"]["default"], &keys["filled"]["default"]), (&250.into(), &"3600 s".into()));
    assert_eq!((&schema["title"], &schema["properties"]["tray"]["minItems"]), (&"Office".into(), &1.into()));
    let page = SCHEMA.reference(&Page { title: "Printers", command: "-", introduction: "", order: &[] });
    for row in [
        "| `pages-per-minute` | The pages that it prints in a minute. | a whole number from 1 to 600 | `40` |"
            .to_owned(),
        "| `memory` | The memory for a page. | a quantity like \"2 MiB\"; from \"1 B\" to \"64 MiB\" | `\"2 MiB\"` |".to_owned(),
        "| `sleep` | The time after which it sleeps. Default: never. | a quantity like \"22.5 ms\"; more than \"0 s\" | - |".to_owned(),
        "| `coverage` | The part of a page that is printed. | a number above 0, at most 1 | `0.8` |".to_owned(),
        "| `paper` | Its content. | a string in quotes, not empty | required |".to_owned(),
        "| `filled` | The time after which it is filled up. | a quantity like \"3600 s\"; at most \"24 h\" | `\"3600 s\"` |".to_owned(),
        "| `colour` | Its colour. Default: that of the printer. | a string in quotes | - |".to_owned(),
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

#[test]
fn a_table_has_the_defaults_of_the_keys_that_it_leaves_out() {
    let (Tray { paper, printers, sheets, filled, colour }, problems) = tray("paper = \"A4\"\nprinters = [1, 3]\n");
    assert_eq!((problems, paper.as_deref(), printers), (None, Some("A4"), Some(vec![1, 3])));
    assert_eq!((sheets, filled, colour), (Some(250), Some(Span::from_secs(3600)), Some(None)));
    let (given, _) = tray("paper = \"A4\"\nprinters = [2]\nsheets = 9\nfilled = \"2 min\"\ncolour = \"red\"\n");
    assert_eq!((given.sheets, given.filled), (Some(9), Some(Span::from_secs(120))));
    assert_eq!(given.colour, Some(Some("red".to_owned())));
    // Without a file, a required key has no value.
    let none = Tray::default();
    assert_eq!((none.paper, none.printers, none.sheets, none.colour), (None, None, Some(250), Some(None)));
}

/// A refused or missing key has no value, not its default either; the rest of the table is read.
#[test]
fn all_problems_of_a_table_are_told_and_the_rest_is_read() {
    let (read, problems) = tray("printers = [1, 10]\nsheets = 0\nfilled = \"25 h\"\ncolour = \"red\"\nsize = 3\n");
    let problems = problems.unwrap();
    for problem in [
        "tray.1.paper: is missing: its content; accepted: a string in quotes",
        "p.toml:2:16: tray.1.printers[2]: 10 is out of range; accepted: a whole number from 1 to 9",
        "p.toml:3:10: tray.1.sheets: 0 is out of range; accepted: a whole number of at least 1",
        "p.toml:4:10: tray.1.filled: \"25 h\" is out of range; accepted: at most \"24 h\", like \"3600 s\"",
        "tray.1.size: there is no such key",
    ] {
        assert!(problems.contains(problem), "{problem}\n{problems}");
    }
    assert_eq!((read.paper, read.printers, read.sheets, read.filled), (None, None, None, None));
    assert_eq!(read.colour, Some(Some("red".to_owned())));
    for (printers, problem) in [("[]", "is empty"), ("[1, 2, 3, 4]", "has 4 elements"), ("3", "does not fit here")] {
        let (read, problems) = tray(&format!("paper = \"A4\"\nprinters = {printers}\n"));
        assert_eq!(read.printers, None);
        assert!(problems.clone().unwrap().contains(problem), "{problems:?}");
    }
}
