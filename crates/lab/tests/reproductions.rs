//! Reproductions of papers, by claims that need no runs and by a study that takes none of the time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::reproduce::{Live, Paper, ReproduceOptions, Reproduced, Source, Verdict, markdown, reproduce};
use cellway_lab::{Error, Manifest, Results, Settings};
use serde_json::Value;

/// Two claims that equations judge, and one of a study without draws.
const TWO: [&str; 2] = ["kdd/eq1-200ms", "spacing/eq24-high"];

fn run(papers: &[&str], only: &[&str], out: Option<&Path>, force: bool) -> Result<Reproduced, Error> {
    let only: Vec<String> = only.iter().map(|&o| o.to_owned()).collect();
    let options = ReproduceOptions { only: &only, quick: true, out, force, ..ReproduceOptions::default() };
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    reproduce(&Paper::find_all(papers)?, &options, &mut settings)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn papers_are_found_by_name() {
    let Err(refused) = Paper::find("celsim") else { panic!("found") };
    let known = "bbr, cellsim, kdd, l4s, magic, nasa, spacing";
    assert_eq!(
        refused.to_string(),
        format!("no paper is called \"celsim\"; accepted: {known}, or the path of a folder with study.toml")
    );
    assert!(refused.is_input());
    let found = |names: &[&str]| Paper::find_all(names).unwrap().iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    assert_eq!(found(&[]), known);
    assert_eq!(found(&["nasa", "kdd", "nasa"]), "nasa, kdd", "as asked for, each once");
}

#[test]
fn several_papers_are_in_a_folder_with_an_index() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("papers");
    let done = run(&[], &TWO, Some(&out), false).unwrap();
    assert_eq!(done.papers.iter().map(|p| p.paper).collect::<Vec<_>>(), ["kdd", "spacing"], "no other is wanted");
    assert_eq!(names(&out), ["index.json", "kdd", "manifest.json", "spacing"]);
    assert_eq!(names(&out.join("kdd")), ["claims.json", "figures.py", "manifest.json", "study.json"]);
    assert!(Manifest::read(&out).is_ok() && Manifest::read(&out.join("spacing")).is_ok());
    let index = json(&out.join("index.json"));
    let documented = include_str!("../../../docs/reference/json.md");
    for key in index.as_object().unwrap().keys().chain(index["papers"][0].as_object().unwrap().keys()) {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/reference/json.md");
    }
    assert_eq!((&index["papers"][1]["paper"], &index["papers"][1]["folder"]), (&"spacing".into(), &"spacing".into()));
    let rows = index["claims"].as_array().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["eq1-200ms", "eq24-high"]);
    assert_eq!(rows[0], json(&out.join("kdd/claims.json"))[0]);
    let predicted = rows[0]["predicted"].as_f64().unwrap();
    // 8 x 8192 bit / (200 ms + 8 x 9188 bit / 6 Mbit/s), in kbit/s.
    assert!((predicted - 65.536 / (0.2 + 0.073504 / 6.0)).abs() < 1e-9, "{predicted}");
    assert_eq!(
        (&rows[0]["verdict"], &rows[0]["source"], &rows[0]["simulated"]),
        (&"reproduced".into(), &"predict".into(), &Value::Null)
    );
    assert_eq!((&index["tally"]["reproduced"], &index["tally"]["not-measured"]), (&2.into(), &0.into()));
    // A result is replaced only with `force`, and then completely.
    let Err(refused) = run(&["kdd"], &TWO[..1], Some(&out), false) else { panic!("replaced") };
    assert!(refused.is_input() && refused.to_string().contains("papers"), "{refused}");
    run(&["kdd"], &TWO[..1], Some(&out), true).unwrap();
    assert_eq!(
        names(&out),
        ["claims.json", "figures.py", "manifest.json", "study.json"],
        "one paper stands in the folder itself"
    );
    assert_eq!(names(place.path()), ["papers"]);
}

/// The control of `cellsim` needs one study of eight.
#[test]
fn only_the_studies_that_a_claim_needs_are_run() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("some");
    let done = run(&["cellsim", "spacing"], &["control-fair-endless", "spacing/eq24-high"], Some(&out), false).unwrap();
    assert_eq!(names(&out.join("cellsim/tables")), ["endless"]);
    assert_eq!(json(&out.join("cellsim/study.json"))["studies"].as_array().unwrap().len(), 1);
    let (results, manifest) = Results::read(&out.join("cellsim/tables/endless")).unwrap();
    assert_eq!((manifest.runs, results.run_keys().unwrap().len() as u64, done.runs), (6, 6, 6));
    let rows: Vec<_> = done.claims().map(|row| (&row.id[..], row.verdict)).collect();
    assert_eq!(rows, [("control-fair-endless", Verdict::Reproduced), ("eq24-high", Verdict::Reproduced)]);
}

#[test]
fn the_same_rows_give_the_same_page() {
    let [one, two] = [(); 2].map(|()| markdown(&run(&["kdd", "spacing"], &TWO, None, false).unwrap()));
    assert_eq!(one, two);
    for words in [
        "| [kdd](#kdd) | 1 | 1 | 0 |",
        "## spacing\n",
        "| § 2.1 | ",
        "| 310 kbit/s | 305 to 315 kbit/s | ",
        "308.8 kbit/s",
        "-0.4 %",
    ] {
        assert!(one.contains(words), "{words:?} is missing:\n{one}");
    }
    assert!(one.lines().all(|line| !line.starts_with("| ") || line.ends_with(" |")), "{one}");
}

#[test]
fn unknown_names_are_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    for (papers, only, words) in [
        (&["kdd"][..], &["eq1-300ms"][..], "did you mean kdd/eq1-"),
        (&["kdd"], &["spacing/eq24-high"], "no claim of kdd"),
        (&["kkd"], &[], "accepted: bbr, cellsim"),
    ] {
        let Err(refused) = run(papers, only, Some(&out), false) else { panic!("{only:?}") };
        assert!(refused.is_input() && refused.to_string().contains(words), "{refused}");
        assert_eq!(names(place.path()), Vec::<String>::new());
    }
}

/// A misspelled name has no value, and its claim would be "not measured".
#[test]
fn a_claim_with_a_name_that_its_study_does_not_have_is_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("mine");
    std::fs::create_dir(&folder).unwrap();
    let study = "title = \"T\"\ncitation = \"C.\"\n[[study]]\nid = \"s\"\ntitle = \"S\"\nscenario = \"s.toml\"\nseeds = 2\n\
                 [[study.axes]]\nkey = \"traffic.ftp.count\"\nvalues = [1, 2]\n";
    for (name, text) in [("study.toml", study), ("s.toml", common::single())] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let out = place.path().join("out");
    let refuse = |lines: &str| {
        let claim = "[[claim]]\nid = \"c\"\nclaim = \"So.\"\nform = \"number\"\nmin = 0\nstudy = \"s\"\n";
        std::fs::write(folder.join("expected.toml"), format!("{claim}{lines}\n")).unwrap();
        run(&[folder.to_str().unwrap()], &[], Some(&out), false).map(|done| done.runs).map_err(|error| {
            assert!(error.is_input());
            error.to_string()
        })
    };
    let right = "subject = \"ftp\"\nmetric = \"goodput_total\"\nat = { \"traffic.ftp.count\" = 2 }";
    let file = folder.join("expected.toml").display().to_string();
    for (from, to, message) in [
        ("goodput_total", "goodput_totl", "no metric is called \"goodput_totl\"; did you mean \"goodput_total\"?"),
        (
            "\"ftp\"",
            "\"fpt\"",
            "study \"s\" has no subject \"fpt\"; did you mean \"ftp\"?; accepted: ftp, ftp-1, ftp-2, ",
        ),
        ("\"ftp\"", "\"ftp-3\"", "study \"s\" has no subject \"ftp-3\"; did you mean \"ftp-1\"?"),
        ("\"ftp\"", "\"r1>r2\"", "study \"s\" has no subject \"r1>r2\"; did you mean "),
        ("\"ftp\"", "\"r1>s1\"", "no metric \"goodput_total\" of \"r1>s1\" (a port); accepted: "),
        (
            "ftp.count",
            "fpt.count",
            "no axis \"traffic.fpt.count\"; did you mean \"traffic.ftp.count\"?; accepted: traffic.ftp",
        ),
        ("= 2", "= 3", "no point of study \"s\" lies at { traffic.ftp.count = 3 }; accepted: traffic.ftp.count = 1, 2"),
        ("\"traffic.ftp.count\" = 2", "", "2 points of study \"s\" lie at {  }"),
        (
            "at = { \"traffic.ftp.count\" = 2 }",
            "measure = \"crossing\"\naxis = \"count\"\nthreshold = 1",
            "study \"s\" has no axis \"count\"; accepted: traffic.ftp.count",
        ),
        (
            "at =",
            "predict = { equation = \"widow-over-rtt\" }\nat =",
            "predict: there is no equation \"widow-over-rtt\"; did you mean \"window-over-rtt\"?; accepted: window-limited, ",
        ),
        ("at =", "predict = { equation = \"window-over-rtt\" }\nat =", "predict: window-over-rtt: window is missing"),
    ] {
        let refused = refuse(&right.replace(from, to)).unwrap_err();
        assert!(refused.starts_with(&format!("{file}: claim \"c\": ")) && refused.contains(message), "{refused}");
        assert_eq!(names(place.path()), ["mine"]);
    }
    assert_eq!(refuse(right), Ok(4));
}

/// Returns a paper of one emulated study: a transfer that takes a fifth of a second.
fn emulated_paper(folder: &Path) -> &'static Paper {
    let study = "title = \"T\"\ncitation = \"C.\"\n[[study]]\nid = \"live\"\ntitle = \"L\"\nscenario = \"s.toml\"\n\
                 driver = \"emulate\"\nseeds = 2\n";
    let claim = "[[claim]]\nid = \"sends\"\nfigure = \"1\"\nclaim = \"It sends.\"\nform = \"trend\"\nstudy = \"live\"\n\
                 subject = \"t\"\nmetric = \"goodput_total\"\nmin = 0\n";
    let scenario = "version = 1\nname = \"s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"r\", kind = \"switch\" }, { name = \"b\", kind = \"host\" }]\n\
        [run]\nduration = \"0.3 s\"\nwarmup = \"0.1 s\"\n[run.emulate]\nlateness-limit = \"10 s\"\n\
        [buffer]\nsize = \"1000 cell\"\nper = \"port\"\n[tcp]\nprofile = \"linux-6\"\n\
        [[link]]\nbetween = [\"a\", \"r\"]\nrate = \"10 Mbit/s\"\nframing = \"atm\"\ndelay = \"2 ms\"\n\
        [[link]]\nbetween = [\"r\", \"b\"]\nrate = \"10 Mbit/s\"\nframing = \"atm\"\ndelay = \"2 ms\"\n\
        [[traffic]]\nname = \"t\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n";
    for (name, text) in [("study.toml", study), ("expected.toml", claim), ("s.toml", scenario)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    Paper::open(folder).unwrap()
}

fn emulate(live: Live, quick: bool, out: Option<&Path>) -> Reproduced {
    let place = tempfile::tempdir().unwrap();
    let mut settings = Settings { threads: Some(1), progress: &mut |_| {}, stop: &mut || false, store: None };
    let options = ReproduceOptions { quick, live, out, ..ReproduceOptions::default() };
    reproduce(&[emulated_paper(place.path())], &options, &mut settings).unwrap()
}

#[test]
fn emulated_studies_are_left_out_if_not_requested() {
    for (live, quick, message) in [(Live::Never, false, "--no-emulate"), (Live::Unless, true, "--emulate")] {
        let done = emulate(live, quick, None);
        let row = done.claims().next().unwrap();
        assert_eq!((row.verdict, row.source, done.runs), (Verdict::NotRun, Source::Emulate, 0));
        assert!(row.not_run.contains(message), "{}", row.not_run);
        assert_eq!((done.tally()[&Verdict::NotRun], done.tally()[&Verdict::Shape]), (1, 0));
        assert!(markdown(&done).contains("| not run | emulate |"), "{}", markdown(&done));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_emulated_study_is_run_and_judged() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let done = emulate(Live::Always, true, Some(&out));
    let row = done.claims().next().unwrap();
    if let Some(missing) = cellway_lab::emulate::missing() {
        return common::skip(&missing);
    }
    if row.verdict == Verdict::NotRun && (row.not_run.contains("too busy") || row.not_run.contains("this process")) {
        return common::skip(&row.not_run);
    }
    assert_eq!((row.verdict, row.source, row.of_seeds, done.runs), (Verdict::Shape, Source::Emulate, 2, 2));
    // The capacity of the link, in octets of TCP.
    assert!((1e6..10e6).contains(&row.emulated.unwrap()) && row.simulated.is_none(), "{row:?}");
    assert_eq!(json(&out.join("study.json"))["studies"][0]["driver"], "emulate");
    let (results, _) = Results::read(&out.join("tables/live")).unwrap();
    let mut rows = results.summary.observations().unwrap();
    assert!(rows.all(|row| row.source == "emulate"));
}
