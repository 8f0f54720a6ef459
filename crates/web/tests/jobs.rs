//! Runs of a page, natively: the functions behind the file of WebAssembly. `tests/python/test_web.py` compares the file
//! itself with the command line.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_web::{Job, Request, check, keys, written};
use serde_json::{Value, json};

const SMALL: &str = r#"
version = 1
name = "small"
run = { duration = "2 s", warmup = "1 s", seed = 7, seeds = 2 }
buffer = { size = "30 cell" }
tcp = { profile = "classic", mss = "512 B" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "1.5 Mbit/s", delay = "5 ms" }]
traffic = [{ name = "t", app = "ftp", from = "a", to = "b", access = { rate = "10 Mbit/s", delay = "0 s" } }]
sweep = { axes = { "traffic.t.count" = [1, 3] } }
"#;

fn request() -> Request {
    Request { text: SMALL.to_owned(), point: 1, ..Request::default() }
}

/// Runs to the end; returns the parts of the time after each slice, and the tables.
fn run(request: &Request, instants: u64) -> (Vec<f64>, Vec<u8>) {
    let mut job = Job::begin(request).unwrap();
    let mut done = Vec::new();
    while done.last() != Some(&1.0) {
        assert!(job.tables().is_none());
        done.push(job.advance(instants).unwrap());
    }
    (done, job.tables().unwrap())
}

/// The contents of tables, and their numbers.
fn read(octets: &[u8]) -> (Value, Vec<f64>) {
    let (length, rest) = octets.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let (contents, numbers) = rest.split_at(length);
    let numbers = numbers.chunks_exact(8).map(|octets| f64::from_le_bytes(octets.try_into().unwrap()));
    (serde_json::from_slice(contents).unwrap(), numbers.collect())
}

/// The series so far are the beginning of those of the whole run, bins and changes alike.
#[test]
fn the_series_so_far_are_the_beginning_of_the_series() {
    let mut request = request();
    request.set =
        vec![("observe.queue".to_owned(), "[\"a>b\"]".to_owned()), ("observe.interval".to_owned(), "0.1 s".to_owned())];
    let mut job = Job::begin(&request).unwrap();
    while job.advance(20).unwrap() < 0.5 {}
    let (so_far, numbers) = read(&job.so_far().unwrap());
    assert_eq!((&so_far["summary"], &so_far["duration_s"]), (&json!([]), &json!(2.0)));
    while job.advance(20).unwrap() < 1.0 {}
    assert!(job.so_far().is_none());
    let (whole, all) = read(&job.tables().unwrap());
    let mut at = 0;
    let mut of_all = whole["summary"].as_array().unwrap().len();
    let rows = |series: &Value| series[3].as_u64().unwrap() as usize;
    let mut known = so_far["series"].as_array().unwrap().iter();
    let mut next = known.next();
    for series in whole["series"].as_array().unwrap() {
        let total = rows(series);
        if let Some(part) = next.filter(|part| part[0] == series[0] && part[1] == series[1]) {
            let some = rows(part);
            assert!(some <= total, "{part}");
            assert_eq!(numbers[at..at + some], all[of_all..of_all + some], "times of {part}");
            assert_eq!(
                numbers[at + some..at + 2 * some],
                all[of_all + total..of_all + total + some],
                "values of {part}"
            );
            at += 2 * some;
            next = known.next();
        }
        of_all += 2 * total;
    }
    assert!(
        next.is_none() && at == numbers.len() && at < all.len() && at > 40,
        "all were compared; first left: {next:?}"
    );
    assert!(so_far["series"].as_array().unwrap().iter().any(|series| series[1] == "queue"));
}

#[test]
fn settings_are_written_into_the_text() {
    let mut request = request();
    request.set = vec![("run.seed".to_owned(), "9".to_owned())];
    let text = written(&request)["text"].as_str().unwrap().to_owned();
    assert_eq!(text, SMALL.replace("seed = 7", "seed = 9"));
    let found = keys(&Request { text, ..Request::default() });
    let seed = found.as_array().unwrap().iter().find(|key| key["path"] == "run.seed").unwrap();
    assert_eq!((&seed["value"], &seed["line"], &seed["kind"]), (&json!("9"), &json!(4), &json!("integer")));
    request.set[0].0 = "run.sed".to_owned();
    assert_eq!(written(&request)["problems"][0]["suggestion"], "seed");
}

#[test]
fn slices_have_no_effect_on_the_tables() {
    let (whole, tables) = run(&request(), u64::MAX);
    assert_eq!(whole, [1.0]);
    for instants in [1, 20] {
        let (done, sliced) = run(&request(), instants);
        assert!(done.len() > 10 && done.is_sorted() && done[done.len() / 2] < 0.9, "{done:?}");
        assert_eq!(sliced, tables);
    }
}

#[test]
fn the_tables_say_which_run_they_are_of() {
    let (contents, numbers) = read(&run(&Request { replication: 1, ..request() }, u64::MAX).1);
    assert_eq!([&contents["point"], &contents["seed"]], [1, 8]);
    assert_eq!(contents["axes"], json!([["traffic.t.count", 3.0]]));
    let rows = |table: &str| contents[table].as_array().unwrap().clone();
    let of_series: u64 = rows("series").iter().map(|row| row[3].as_u64().unwrap()).sum();
    assert!(of_series > 0);
    assert_eq!(numbers.len() as u64, rows("summary").len() as u64 + 2 * of_series);
    let place = rows("summary").iter().position(|row| row[0] == "a>b" && row[1] == "utilisation").unwrap();
    assert!((0.01..=1.0).contains(&numbers[place]), "{}", numbers[place]);
    // The other replication is another run.
    assert_ne!(read(&run(&request(), u64::MAX).1).1, numbers);
}

#[test]
fn a_request_that_cannot_be_run_says_why() {
    let first = |request: &Request| Job::begin(request).err().unwrap()["problems"][0].clone();
    let set = vec![("traffic.t.from".to_owned(), "nowhere".to_owned())];
    let problem = first(&Request { set, ..request() });
    assert_eq!(
        (&problem["key"], &problem["setting"]),
        (&json!("traffic.t.from"), &json!("override traffic.t.from = nowhere"))
    );
    assert_eq!(first(&Request { point: 2, ..request() })["message"], "there is no point 2; accepted: 0 to 1");
    let replication = first(&Request { replication: 2, ..request() });
    assert_eq!(replication["message"], "there is no replication 2; accepted: 0 to 1");
    let counts: Vec<u32> = (1..=2001).collect();
    let many = Request { text: SMALL.replace("[1, 3]", &format!("{counts:?}")), ..request() };
    let words = "the sweep has 2001 points; accepted: at most 2000 in a page; the command line runs this scenario";
    assert_eq!([&first(&many)["message"], &check(&many)["problems"][0]["message"]], [words; 2]);
    let tables = "app = \"ftp\", workload = { tables = \"mine\" },";
    let problem = first(&Request { text: SMALL.replace("app = \"ftp\",", tables), ..request() });
    assert_eq!(problem["key"], "traffic.t.workload.tables");
    let problem =
        first(&Request { text: SMALL.replace("app = \"ftp\",", "app = \"workload:a.toml#web\","), ..request() });
    assert_eq!(problem["key"], "traffic.t.app");
    assert_eq!(
        [&problem["message"], &problem["accepted"]],
        [
            "\"a.toml\" is a file, and a page reads none",
            "an application without a file; the command line runs this scenario"
        ]
    );
}
