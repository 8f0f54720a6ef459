//! Sweeps that add replications until intervals are narrow, or a budget is spent.

use super::*;

/// Damage is no failed run: the choice of replications does not depend on it.
#[test]
fn damage_does_not_change_the_choice_of_replications() {
    let folder = tempfile::tempdir().unwrap();
    let until = || {
        let mut sweep = sweep(TEXT, Some(4));
        let store = Store::open_part(folder.path(), "sweep").unwrap();
        let criteria = ["ci95(goodput[subject=t-1]) < 12 %".parse().unwrap()];
        let limits = Limits { max_seeds: 9, budget: None };
        sweep.fill_until(&store, &criteria, limits, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
        sweep.ends().to_vec()
    };
    let first = until();
    damage(folder.path());
    assert_eq!(until(), first);
}

/// A budget that ends in the middle of a point counts what that point has, and its plan can be read again.
#[test]
fn a_budget_keeps_the_replications_that_have_finished() {
    let folder = tempfile::tempdir().unwrap();
    let axes = TEXT.find("[sweep]").unwrap();
    let (mut one, store) = (sweep(&TEXT[..axes], Some(40)), Store::open(folder.path()).unwrap());
    let limits = Limits { max_seeds: 40, budget: Some(Duration::ZERO) };
    let criteria = ["ci95(goodput[subject=t-1]) < 0.001 %".parse().unwrap()];
    let done = |sweep: &mut Sweep, budget| {
        let (mut progress, mut stop) = (|_: cellway_lab::Progress<'_>| {}, || false);
        let limits = Limits { budget, ..limits };
        let mut settings = settings(&mut progress, &mut stop);
        sweep.fill_until(&store, &criteria, limits, false, &mut settings).map(|filled| filled.finished)
    };
    let over = done(&mut one, limits.budget);
    match over {
        Ok(finished) => {
            assert!(finished < 40 && one.ends()[0].replications > 0 && one.ends()[0].replications <= finished);
            assert_eq!(one.ends()[0].reason, StopReason::Budget);
            one.save(folder.path()).unwrap();
            assert_eq!(Sweep::open(folder.path()).unwrap().runs(), one.runs());
        }
        Err(error) => assert!(error.to_string().contains("accepted: a longer time"), "{error}"),
    }
    let mut again = sweep(&TEXT[..axes], Some(40));
    done(&mut again, None).unwrap();
    assert_eq!((again.ends()[0].replications, again.ends()[0].reason), (40, StopReason::MaxSeeds));
}

#[test]
fn replications_are_added_until_intervals_are_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let criteria = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Criterion>>();
    let limits = Limits { max_seeds: 60, budget: None };
    let until = |texts: &[&str], limits| {
        let mut sweep = sweep(TEXT, Some(4));
        sweep
            .fill_until(&store, &criteria(texts), limits, false, &mut settings(&mut |_| {}, &mut || false))
            .map(|_| sweep)
    };
    let wanted = "ci95(goodput[subject=t-1]) < 12 %";
    let first = until(&[wanted], limits).unwrap();
    let counts: Vec<u64> = first.ends().iter().map(|end| end.replications).collect();
    assert!(counts.iter().any(|count| *count > 4) && first.runs() == counts.iter().sum::<u64>(), "{counts:?}");
    for end in first.ends() {
        let half = end.halves[0].unwrap();
        assert!(
            if end.reason == StopReason::Met { half <= 0.12 } else { half > 0.12 && end.replications == 60 },
            "{end:?}"
        );
    }
    // The plan in the folder has the numbers, and the tables have those runs.
    first.save(folder.path()).unwrap();
    let again = Sweep::open(folder.path()).unwrap();
    assert_eq!((again.ends(), again.runs()), (first.ends(), first.runs()));
    let merged = again.merge(&store, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    assert_eq!(merged.results.runs.num_rows() as u64, first.runs());
    // The same choice from the store alone.
    let before = store.totals().unwrap();
    assert_eq!(until(&[wanted], limits).unwrap().ends(), first.ends());
    assert_eq!(store.totals().unwrap(), before);
    // A difference of the same seeds; the point that it is taken to has as many runs as the others.
    let paired = until(&["ci95(goodput[subject=t-1] against tcp.variant=reno) < 20000"], limits).unwrap();
    for pair in paired.ends().chunks(2) {
        assert!(pair[0].replications >= pair[1].replications && pair[0].halves == [Some(0.0)], "{pair:?}");
    }
    // One that no number of runs meets.
    let hard = until(&["ci95(goodput[subject=t-1]) < 0.001 %"], Limits { max_seeds: 6, budget: None }).unwrap();
    assert!(hard.ends().iter().all(|end| end.reason == StopReason::MaxSeeds && end.replications == 6));
    let over =
        until(&["ci95(goodput[subject=t-1]) < 0.001 %"], Limits { budget: Some(Duration::ZERO), ..limits }).unwrap();
    assert!(
        over.ends().iter().all(|end| end.reason == StopReason::Budget && end.replications == 4),
        "{:?}",
        over.ends()
    );
    for (wrong, told) in [
        ("ci95(goodputt[subject=t-1]) < 2 %", "accepted: one of t-1: "),
        ("ci95(goodput[subject=u]) < 2 %", "accepted: a subject with goodput: "),
        ("ci95(goodput[subject=t-1] against tcp.variant=bbr) < 2 %", "accepted: tcp.variant = one of reno, cubic"),
        (
            "ci95(goodput[subject=t-1] against tcp.window=1) < 2 %",
            "accepted: an axis of the sweep: link.a-b.delay, tcp.variant",
        ),
    ] {
        let Err(refused) = until(&[wrong], limits) else { panic!("{wrong}") };
        assert!(refused.to_string().contains(told), "{refused}");
    }
}

/// A run counts once, also if it was added in an earlier round; and the plan says that the search goes on.
#[test]
fn a_search_counts_runs_once_and_has_a_plan_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let wanted: Criterion = "ci95(goodput[subject=t-1]) < 0.01 %".parse().unwrap();
    let limits = Limits { max_seeds: 9, budget: None };
    let search = |most: u64| {
        // Long enough that threads do not end all before it is stopped.
        let mut sweep = sweep(&TEXT.replace("\"1 s\"", "\"20 s\""), Some(4));
        let mut labels = Vec::new();
        let mut progress = |progress: cellway_lab::Progress<'_>| labels.push(progress.label.to_owned());
        let mut stop = || store.totals().unwrap().finished >= most;
        let filled = sweep.fill_until(
            &store,
            std::slice::from_ref(&wanted),
            limits,
            false,
            &mut settings(&mut progress, &mut stop),
        );
        (filled.unwrap(), sweep, labels)
    };
    let (broken_off, _, _) = search(1);
    assert!(broken_off.stopped, "{broken_off:?}");
    let plan = Sweep::open(folder.path()).unwrap();
    assert_eq!((plan.search(), plan.ends()), (&[wanted.to_string()][..], &[][..]));
    let before = store.totals().unwrap().finished;
    assert!(before < 24, "{before}");
    let (filled, sweep, labels) = search(u64::MAX);
    assert_eq!((filled.found, filled.finished), (before, sweep.runs() - before));
    assert!(
        labels.iter().any(|label| label.contains("half width up to ") && label.ends_with(" of 0.01 %")),
        "{labels:?}"
    );
    sweep.save(folder.path()).unwrap();
    let plan = Sweep::open(folder.path()).unwrap();
    assert_eq!((plan.search(), plan.ends()), (&[][..], sweep.ends()));
    let (again, sweep, _) = search(u64::MAX);
    assert_eq!((again.found, again.finished), (sweep.runs(), 0));
}
