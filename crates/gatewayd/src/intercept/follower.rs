//! Keeping the kernel in step with the rules beside the thread that moves packets: `nft` is a program that is started
//! for each change, and may take its time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::Rules;
use crate::config::Config;
use crate::error::Error;

/// The rules, and a thread that tells the kernel when they have changed.
#[derive(Debug)]
pub(crate) struct Follower {
    rules: Rules,
    orders: Sender<(u64, Rules)>,
    thread: JoinHandle<()>,
    /// How often the rules have changed.
    changes: u64,
    /// Up to which change the kernel has been told.
    told: u64,
}

impl Follower {
    /// Begins, in the network namespace of the present thread, with rules that the kernel knows already. `answer` is
    /// told which change has been done and how, on the other thread.
    pub(crate) fn start(
        rules: Rules,
        answer: impl Fn(u64, Result<(), Error>) + Send + 'static,
    ) -> Result<Follower, Error> {
        Follower::with(rules, Rules::settle, answer)
    }

    fn with(
        rules: Rules,
        settle: impl Fn(&Rules) -> Result<(), Error> + Send + 'static,
        answer: impl Fn(u64, Result<(), Error>) + Send + 'static,
    ) -> Result<Follower, Error> {
        let (orders, todo) = channel();
        let work = move || follow(&todo, settle, answer);
        let thread = std::thread::Builder::new().name("rules".into()).spawn(work);
        let thread = thread.map_err(|source| Error::Io { what: "start the thread of the rules".into(), source })?;
        Ok(Follower { rules, orders, thread, changes: 0, told: 0 })
    }

    /// A peer (its place in the configuration) can be reached, or no longer. The number of this change.
    pub(crate) fn peer(&mut self, peer: usize, up: bool) -> u64 {
        self.rules.peer(peer, up);
        self.change()
    }

    /// Another configuration with the same `[intercept]`.
    pub(crate) fn reload(&mut self, config: &Config) {
        self.rules.reload(config);
        self.change();
    }

    fn change(&mut self) -> u64 {
        self.changes += 1;
        // The thread goes on as long as there is somebody to order.
        let _ = self.orders.send((self.changes, self.rules.clone()));
        self.changes
    }

    /// What `answer` was told has been heard.
    pub(crate) fn heard(&mut self, change: u64) {
        self.told = change;
    }

    /// Whether the kernel has been told of this change, or refused it.
    pub(crate) fn has_told(&self, change: u64) -> bool {
        change <= self.told
    }

    /// Whether the kernel is still to be told of a change.
    pub(crate) fn is_behind(&self) -> bool {
        self.told < self.changes
    }

    /// Waits until the kernel has been told of everything.
    pub(crate) fn end(self) {
        drop(self.orders);
        // If it panicked the rules stay as they are: nothing is left to be done about it here.
        let _ = self.thread.join();
    }
}

/// An order is a whole state of the rules: of several that wait, the last is enough.
fn follow(
    todo: &Receiver<(u64, Rules)>,
    settle: impl Fn(&Rules) -> Result<(), Error>,
    answer: impl Fn(u64, Result<(), Error>),
) {
    while let Ok(next) = todo.recv() {
        let (change, rules) = todo.try_iter().last().unwrap_or(next);
        answer(change, settle(&rules));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{PATIENCE, config};
    use super::*;
    use crate::config::PeerDown;

    #[test]
    fn nobody_waits_for_the_kernel_and_the_last_of_several_changes_is_told() {
        let rules = Rules::of(&config(&["10.0.0.0/8"], PeerDown::Direct, &[]));
        let [up, down] = [true, false].map(|up| {
            let mut rules = rules.clone();
            rules.peer(0, up);
            rules
        });
        let (seen, shown) = channel();
        let (leave, left) = channel();
        let (answer, answers) = channel();
        // A kernel that takes as long as the test wishes.
        let settle = move |rules: &Rules| {
            seen.send(rules.clone()).unwrap();
            left.recv().unwrap()
        };
        let answer = move |change, result: Result<(), Error>| answer.send((change, result.is_ok())).unwrap();
        let mut follower = Follower::with(rules, settle, answer).unwrap();
        assert!(!follower.is_behind());
        assert_eq!(follower.peer(0, true), 1);
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), up);
        // While it works on the first.
        let changes = [false, true, false].map(|up| follower.peer(0, up));
        assert_eq!(changes, [2, 3, 4]);
        leave.send(Ok(())).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (1, true));
        assert!(!follower.has_told(1));
        follower.heard(1);
        assert!(follower.has_told(1) && !follower.has_told(2) && follower.is_behind());
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), down);
        leave.send(Err(Error::Config { what: "no".into() })).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (4, false));
        follower.heard(4);
        assert!(follower.has_told(4) && !follower.is_behind());
        // The end comes after what was ordered.
        leave.send(Ok(())).unwrap();
        follower.peer(0, true);
        follower.end();
        assert_eq!((shown.try_recv().unwrap(), answers.try_recv().unwrap()), (up, (5, true)));
        assert!(shown.try_recv().is_err(), "2 and 3 were not needed");
    }
}
