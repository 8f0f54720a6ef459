//! A key with a default and a range is one declaration: everything else follows from it.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic")]

use std::sync::LazyLock;

use cellway_settings::found::{Sources, error_of};
use cellway_settings::reference::Page;
use cellway_settings::schema::FileSchema;
use cellway_settings::section::OutOfRange;
use cellway_settings::tree::Node;
use cellway_settings::{section, shape};
use schemars::JsonSchema;
use serde::Deserialize;

section! {
    /// A printer.
    #[derive(Copy, Eq)]
    pub struct Printer, PrinterKeys {
        /// The pages that it prints in a minute.
        #[schemars(range(min = 1, max = 600))]
        pub pages_per_minute: u32 = 40,
    }
}

#[derive(Deserialize, JsonSchema)]
struct File {
    printer: Option<PrinterKeys>,
}

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(&[]));

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

#[test]
fn it_is_read_and_layered_and_written() {
    let file = read("[printer]\npages-per-minute = 12\n").unwrap();
    let profile = PrinterKeys { pages_per_minute: Some(30) };
    let printer = file.or(profile).resolve().unwrap();
    assert_eq!(printer.pages_per_minute, 12);
    assert_eq!(read("").unwrap().or(profile).resolve().unwrap().pages_per_minute, 30);
    assert_eq!(read("").unwrap().resolve().unwrap().pages_per_minute, 40);
    // What is written gives the same section again.
    let lines = PrinterKeys::from(printer).lines();
    assert_eq!(lines, ["pages-per-minute = 12"]);
    assert_eq!(read(&format!("[printer]\n{}\n", lines.join("\n"))).unwrap().resolve(), Some(printer));
}

#[test]
fn its_problems_are_told_with_their_locations() {
    assert_eq!(
        read("[printer]\npages-per-minute = 601\n").unwrap_err(),
        "p.toml:2:20: printer.pages-per-minute: 601 is out of range; accepted: a whole number from 1 to 600\n  \
         |\n2 | pages-per-minute = 601\n  |                    ^^^"
    );
    assert!(read("[printer]\npage-per-minute = 4\n").unwrap_err().contains("did you mean pages-per-minute?"));
}

#[test]
fn editors_and_readers_are_told() {
    let schema: serde_json::Value = serde_json::from_str(&SCHEMA.text()).unwrap();
    let key = &schema["$defs"]["PrinterKeys"]["properties"]["pages-per-minute"];
    assert_eq!((&key["default"], &key["maximum"]), (&40.into(), &600.into()));
    let page = Page { title: "Printers", command: "-", introduction: "", order: &[] };
    let row = "| `pages-per-minute` | The pages that it prints in a minute. | a whole number from 1 to 600 | `40` |";
    assert!(SCHEMA.reference(&page).contains(row), "{}", SCHEMA.reference(&page));
}

/// A section that no file gives is checked against the same range.
#[test]
fn values_of_a_program_are_checked_against_the_same_range() {
    assert_eq!(Printer { pages_per_minute: 600 }.in_range(), Ok(()));
    let OutOfRange { key, message, accepted } = Printer { pages_per_minute: 601 }.in_range().unwrap_err();
    assert_eq!([&*key, &message, &accepted], ["pages-per-minute", "601 is out of range", "from 1 to 600"]);
    assert!(Printer { pages_per_minute: 0 }.in_range().is_err());
}
