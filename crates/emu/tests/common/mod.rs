//! Helpers of all live tests: a check that they can run on this computer, and a lock so that one runs at a time.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cellway_emu::sys::{Reentry, Support, SysError, find_program, reenter, support};
use cellway_emu::{Control, Emulated, Error, emulate};
use cellway_scenario::{Override, Plan};

/// Set in a test that was started again alone.
const AGAIN: &str = "CELLWAY_TEST_AGAIN";

static ONE: Mutex<()> = Mutex::new(());

/// Waits for the other tests of this program: two emulations at once make each other late.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Emulates the scenario in `text` with some of its keys set.
pub(crate) fn run(text: &str, set: &[(&str, &str)], control: Control<'_>) -> Result<Emulated, Error> {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let plan = Plan::parse_with(text, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}"));
    let scenario = plan.base();
    let workloads: Vec<_> =
        scenario.traffic.iter().map(|traffic| cellway_testbed::workload(traffic, None).unwrap()).collect();
    emulate(scenario, &workloads, 1, control)
}

/// Returns a figure of the summary.
pub(crate) fn figure(emulated: &Emulated, subject: &str, metric: &str) -> f64 {
    let mut rows = emulated.record.summary.iter();
    let row = rows.find(|row| &*row.subject == subject && row.metric == metric);
    row.unwrap_or_else(|| panic!("no {metric} of {subject}: {:?}", emulated.notes)).value
}

/// Prints the reason of a skipped test on the terminal. Not through the print macros, whose output the test harness
/// captures.
pub(crate) fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

/// Returns true if a program exists; prints a message if not.
pub(crate) fn has(program: &str, package: &str) -> bool {
    let found = find_program(program).is_some();
    if !found {
        skip(&format!("the program `{program}` is missing (package {package})"));
    }
    found
}

/// Returns true if the test `name` can continue in this process. If only a user namespace allows it, runs it there, in
/// its own process.
pub(crate) fn possible(name: &str) -> bool {
    match support() {
        Support::Direct => return true,
        Support::UserNamespace if std::env::var_os(AGAIN).is_some() => match reenter().unwrap() {
            Reentry::Ended(status) => std::process::exit(status.into()),
            Reentry::Here => return true,
        },
        Support::UserNamespace => {
            let _one = one_at_a_time();
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", name, "--test-threads=1"]).env(AGAIN, "1");
            let output = again.output().unwrap();
            let [said, complained] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
            let passed = output.status.success() && said.contains("1 passed");
            assert!(passed, "in a user namespace: {said}{complained}");
            complained.lines().filter_map(|line| line.strip_prefix("skipped: ")).for_each(skip);
        }
        Support::Missing(missing) => skip(&SysError::Unsupported(missing).to_string()),
    }
    false
}
