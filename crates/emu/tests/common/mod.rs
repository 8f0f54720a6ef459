//! Helpers of all live tests: a check that they can run on this computer, and a lock so that one runs at a time.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cellway_emu::sys::{Reentry, Support, SysError, reenter, support};

/// Set in a test that was started again alone.
const AGAIN: &str = "CELLWAY_TEST_AGAIN";

static ONE: Mutex<()> = Mutex::new(());

/// Waits for the other tests of this program: two emulations at once make each other late.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the reason of a skipped test on the terminal. Not through the print macros, whose output the test harness
/// captures.
pub(crate) fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
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
