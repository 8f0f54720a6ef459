//! The table of profiles in the documentation of TCP: a key with the value that it lists changes nothing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{Plan, TcpSpec};
use common::repository;

/// A path of one group with these keys of `[tcp]`.
fn tcp(keys: &str) -> TcpSpec {
    let text = format!(
        "version = 1\nname = \"profiles\"\nrun = {{ duration = \"60 s\" }}\nbuffer = {{ size = \"1 MiB\" }}\n\
         node = [{{ name = \"a\", kind = \"router\" }}, {{ name = \"b\", kind = \"router\" }}]\n\
         link = [{{ between = [\"a\", \"b\"], rate = \"8 Mbit/s\", delay = \"20 ms\" }}]\n\
         traffic = [{{ name = \"t\", app = \"bulk\", from = \"a\", to = \"b\", access = {{ rate = \"1 Gbit/s\", delay = \"0 s\" }} }}]\n\
         [tcp]\n{keys}"
    );
    let plan = Plan::parse(&text, "t.toml").unwrap_or_else(|error| panic!("{error}\n{keys}"));
    plan.base().traffic[0].tcp().unwrap().tcp
}

/// The value in a cell as TOML, if it is one: not "of the path", "as `window`" or "one tick".
fn value(cell: &str) -> Option<String> {
    let plain = cell.split([':', ';']).next()?.split(", ").next()?.replace(',', "");
    let is_words = ["of the", "as ", "one "].iter().any(|words| plain.starts_with(words));
    let is_bare = plain.parse::<u32>().is_ok() || ["true", "false"].contains(&&plain[..]);
    (!is_words).then(|| if is_bare { plain } else { format!("\"{plain}\"") })
}

#[test]
fn the_table_of_profiles_has_their_values() {
    let page = std::fs::read_to_string(repository("docs/models/tcp.md")).unwrap();
    let (_, table) = page.split_once("| | linux-6 | classic |").expect("the table is there");
    let mut checked = 0;
    for row in table.lines().skip(2).take_while(|row| row.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        for key in cells[0].split(", ").map(|key| key.trim_matches('`')) {
            for (profile, cell) in ["linux-6", "classic"].into_iter().zip(&cells[1..]) {
                let Some(value) = value(cell) else { continue };
                let alone = format!("profile = \"{profile}\"\n");
                assert_eq!(tcp(&format!("{alone}{key} = {value}\n")), tcp(&alone), "{profile}: {key} = {value}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 49, "values of the table");
}
