//! Runs that fail or are wrong, and stores and plans that a sweep does not use.

use super::*;

#[test]
fn a_sweep_without_a_finished_run_has_no_tables_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let sweep = sweep(TEXT, Some(1));
    let merge = |partial| sweep.merge(&store, partial, &mut settings(&mut |_| {}, &mut || false)).map(|_| ());
    for partial in [true, false] {
        assert!(matches!(merge(partial), Err(Error::Incomplete { missing: 6, total: 6, .. })));
    }
    (0..6).for_each(|run| store.put(sweep.stored(run), &Outcome::Failed(format!("no route {run}"))).unwrap());
    for partial in [true, false] {
        let refused = merge(partial).unwrap_err().to_string();
        assert_eq!(refused, "run 0, seed 1: no route 0");
    }
}

/// A stored run that differs from what the simulator says is found.
#[test]
fn a_wrong_run_is_found_by_verification() {
    let folder = tempfile::tempdir().unwrap();
    let right = sweep(TEXT, None);
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    fill(&right, &store, Shard::ALL);
    let verify = |share| right.verify(&store, share, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    let all = verify(1.0);
    assert_eq!((all.finished, all.checked, all.differing.len()), (18, 18, 0));
    assert_eq!(verify(0.01).checked, 1);
    let other = store.get(right.stored(8)).unwrap().unwrap();
    store.put(right.stored(7), &other).unwrap();
    assert_eq!(verify(1.0).differing, [7]);
}

#[test]
fn a_run_that_fails_is_kept_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let sweep = sweep(TEXT, None);
    store.put(sweep.stored(4), &Outcome::Failed("no route".to_owned())).unwrap();
    let filled = fill(&sweep, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished, filled.failed), (1, 17, 0));
    let failures = sweep.failures(&store).unwrap();
    assert_eq!(failures, [(4, 2, "no route".to_owned())]);
    let status = sweep.status(&store);
    assert_eq!((status[1].planned, status[1].finished, status[1].failed), (3, 2, 1));
    assert_eq!(status[1].axes, ["link.a-b.delay = 5 ms", "tcp.variant = cubic"]);
    let merged = sweep.merge(&store, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    assert_eq!(merged.results.runs.num_rows(), 17);
    assert!(merged.warnings.iter().any(|warning| warning.starts_with("1 of 18 runs failed")), "{:?}", merged.warnings);
    // It was not stopped.
    assert!(!merged.warnings.iter().any(|warning| warning.contains("stopped")), "{:?}", merged.warnings);
    store.forget_failures();
    let filled = fill(&sweep, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished, filled.failed), (17, 1, 0));
    let store = Store::read(folder.path()).unwrap();
    assert!(sweep.failures(&store).unwrap().is_empty());
    assert_eq!(self::merged(&sweep, &store), simulated(TEXT, None));
}

/// Two divisions of the runs overlap, so they take turns.
#[test]
fn shards_of_another_division_are_refused_while_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let shard = |text: &str| text.parse::<Shard>().unwrap();
    let one = shard("1/2").open(folder.path()).unwrap();
    let two = shard("2/2").open(folder.path()).unwrap();
    for other in [shard("1/3"), Shard::ALL] {
        let refused = other.open(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("-of-2.runs is in use by another process"), "{refused}");
    }
    drop((one, two));
    let all = Shard::ALL.open(folder.path()).unwrap();
    let refused = shard("1/2").open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("sweep.runs is in use by another process"), "{refused}");
    drop(all);
    shard("1/2").open(folder.path()).unwrap();
}

/// The plan is of the sizes that the file had.
#[test]
fn a_file_that_has_changed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = folder.path().join("sizes.csv");
    let text = TEXT.replace("app = \"bulk\"", "flows = { load = 0.5, sizes = \"table\", file = \"sizes.csv\" }");
    let (plan, store) = (cellway_lab::plan_from_text(&text, "small.toml", &[]).unwrap(), folder.path().join("store"));
    std::fs::write(&sizes, "size,probability\n1000,0.5\n2000,1\n").unwrap();
    Sweep::new(plan, folder.path(), None).unwrap().save(&store).unwrap();
    assert_eq!(Sweep::open(&store).unwrap().runs(), 18);
    std::fs::write(&sizes, "size,probability\n1000,0.5\n3000,1\n").unwrap();
    let refused = Sweep::open(&store).err().unwrap().to_string();
    assert!(refused.contains("sizes.csv, which its scenario names, has changed; accepted: "), "{refused}");
}

#[test]
fn plans_of_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| {
        let Err(error) = Sweep::open(folder) else { panic!("{}", folder.display()) };
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    assert!(refused(folder.path()).contains("has no plan of a sweep; accepted:"));
    sweep(TEXT, None).save(folder.path()).unwrap();
    let file = folder.path().join("plan.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, told) in [
        ("\"format\": 1", "\"format\": 2", "format 2; accepted: 1"),
        ("\"results\": 2", "\"results\": 9", "results of version 9"),
        ("2 %", "3 %", "its scenario has changed in plan.json"),
        ("\"replications\": [\n    3\n  ]", "\"replications\": [3, 4]", "other points"),
        ("\"replications\": [\n    3\n  ]", "\"replications\": []", "other points"),
        (
            "\"replications\": [\n    3\n  ]",
            "\"replications\": [1, 1, 1, 1, 1, 18446744073709551615]",
            "replications of a point",
        ),
        ("\"replications\": [\n    3\n  ]", "\"replications\": [1, 1, 1, 1, 1, -1]", "plan.json"),
        ("{", "", "plan.json"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let told_now = refused(folder.path());
        assert!(told_now.contains(told), "{from}: {told_now}");
    }
    // Neither is one of another program replaced.
    for other in ["{\"mine\": 1}", "no plan"] {
        std::fs::write(&file, other).unwrap();
        let kept = sweep(TEXT, None).save(folder.path()).unwrap_err().to_string();
        assert!(kept.contains("is not replaced; accepted:"), "{kept}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
    }
    std::fs::write(&file, text.replace("\"results\": 1", "\"results\": 9")).unwrap();
    let set = [Override::new("run.duration", "\"100 ms\"")];
    let plan = cellway_lab::plan_from_text(TEXT, "small.toml", &set).unwrap();
    Sweep::new(plan, Path::new("."), Some(2)).unwrap().save(folder.path()).unwrap();
    assert_eq!(Sweep::open(folder.path()).unwrap().runs(), 12);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As of any other file, so that the shards of others can read it.
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        let modes = [&file, &other].map(|file| std::fs::metadata(file).unwrap().permissions().mode());
        assert_eq!(modes[0], modes[1]);
    }
}
