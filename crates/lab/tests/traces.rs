//! Recorded links that a scenario names: found beside it, and refused with their place.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use cellway_lab::{check, plan_from_text};
use cellway_scenario::Override;

const TWO: &str = r#"version = 1
name = "two"
run = { duration = "10 s" }
buffer = { size = "100 kB", per = "port" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]

[[link]]
name = "line"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
forward = { trace = { csv = "link.csv" } }

[[traffic]]
name = "t"
app = "bulk"
from = "a"
to = "b"
access = { rate = "1 Gbit/s", delay = "0 s" }
"#;

fn told(folder: &Path, more: &str, set: &[(&str, &str)]) -> Result<usize, String> {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let plan = plan_from_text(&format!("{TWO}{more}"), "t.toml", &set).map_err(|error| error.to_string())?;
    check(&plan, folder).map(|checked| checked.points).map_err(|error| error.to_string())
}

#[test]
fn recordings_are_read_beside_the_file_and_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let error = told(folder.path(), "", &[]).unwrap_err();
    assert!(error.starts_with("t.toml:12:") && error.contains("link.line.forward.trace.csv: cannot read"), "{error}");
    write("link.csv", "time,rate,loss\n0,10 Mbit/s,0\n1,-1,0\n");
    let error = told(folder.path(), "", &[]).unwrap_err();
    assert!(error.contains("link.csv:3: rate \"-1\" is negative; accepted: a value for each column"), "{error}");
    write("link.csv", "time,rate,loss\n0,10 Mbit/s,0\n1,0,0.07\n");
    assert_eq!(told(folder.path(), "", &[]), Ok(1));
    let error = told(
        folder.path(),
        "",
        &[("link.line.forward", r#"{ loss = "1 %", burst = 3, trace = { csv = "link.csv" } }"#)],
    );
    assert!(error.unwrap_err().contains("the file has losses, and burst is given, too"));
    let change = "\n[[change]]\nat = \"1 s\"\nlink = \"line\"\nrate = \"1 Mbit/s\"\n";
    let error = told(folder.path(), change, &[]).unwrap_err();
    assert!(error.contains("the file has rates, and [[change]] changes that of the link, too"), "{error}");
    write("light", "0 20 0 1\n100\n");
    write("heavy", "5\n3\n");
    let loads = |light: &str| {
        let trace = format!(r#"{{ light = "{light}", heavy = "heavy" }}"#);
        told(folder.path(), "", &[("link.line.forward.trace", &trace)])
    };
    let error = loads("light").unwrap_err();
    assert!(error.contains("light:2: the line has only a time; accepted: in each line numbers of ms"), "{error}");
    write("light", "0 20 0 1\n100 20 0\n");
    let error = loads("light").unwrap_err();
    assert!(error.contains("link.line.forward.trace.heavy") && error.contains("heavy:2: 3 follows 5"), "{error}");
    assert!(error.contains("a packet of 1400 B can leave at each"), "{error}");
    write("heavy", "3\n5\n");
    assert_eq!(loads("light"), Ok(1));
    write("other.csv", "time,delay\n0,1 ms\n1,2 ms\n");
    let sweep = "\n[sweep]\naxes = { \"link.line.forward.trace.csv\" = [\"link.csv\", \"other.csv\", \"none.csv\"] }\n";
    let error = told(folder.path(), sweep, &[]).unwrap_err();
    assert!(error.contains("none.csv") && error.contains("in the sweep, with"), "{error}");
}
