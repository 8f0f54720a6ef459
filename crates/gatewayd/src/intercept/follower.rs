//! Changes of the kernel's rules, on their own thread: each starts the program `nft`, which may be slow.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::rules::{Found, Rules};
use crate::config::Config;
use crate::error::Error;
use crate::peer_id::PeerId;

/// The reports of the thread.
#[derive(Debug)]
pub(crate) enum RulesReport {
    /// This change of the rules was passed to the kernel.
    Applied {
        /// The number of the change.
        change: u64,
        /// The result.
        result: Result<(), Error>,
    },
    /// The rules were checked: true if they had to be set again.
    Checked(Result<bool, Error>),
}

/// An order to the thread, with the rules that the kernel should have.
#[derive(Debug)]
struct Order {
    /// The number of a change to pass to the kernel; none: check the rules.
    change: Option<u64>,
    rules: Rules,
}

/// The rules, and a thread that passes their changes to the kernel.
#[derive(Debug)]
pub(crate) struct Follower {
    rules: Rules,
    orders: Sender<Order>,
    thread: JoinHandle<()>,
    /// The number of changes of the rules.
    changes: u64,
    /// The last change that was passed to the kernel.
    applied: u64,
    /// The reason for which the kernel does not have the rules, if it does not.
    lacking: Option<String>,
}

/// The interface to the kernel.
trait Kernel: Send + 'static {
    /// Sets the networks of `rules`.
    fn set_networks(&self, rules: &Rules) -> Result<(), Error>;
    /// Returns the parts of `rules` that the kernel has.
    fn found(&self, rules: &Rules) -> Result<Found, Error>;
    /// Sets all of `rules`.
    fn restore(&self, rules: &Rules) -> Result<(), Error>;
}

/// The kernel of this machine.
struct LocalKernel;

impl Kernel for LocalKernel {
    fn set_networks(&self, rules: &Rules) -> Result<(), Error> {
        rules.set_networks()
    }
    fn found(&self, rules: &Rules) -> Result<Found, Error> {
        rules.found()
    }
    fn restore(&self, rules: &Rules) -> Result<(), Error> {
        rules.restore()
    }
}

impl Follower {
    /// Starts the thread in the network namespace of the calling thread, where the kernel has `rules` already. The new
    /// thread calls `answer` with its reports.
    pub(crate) fn start(rules: Rules, answer: impl Fn(RulesReport) + Send + 'static) -> Result<Follower, Error> {
        Follower::with(rules, LocalKernel, answer)
    }

    fn with(
        rules: Rules,
        kernel: impl Kernel,
        answer: impl Fn(RulesReport) + Send + 'static,
    ) -> Result<Follower, Error> {
        let (orders, todo) = channel();
        let first = rules.clone();
        let work = move || follow(&first, &todo, &kernel, answer);
        let thread = std::thread::Builder::new().name("rules".into()).spawn(work);
        let thread = thread.map_err(|source| Error::Io { what: "start the thread of the rules".into(), source })?;
        Ok(Follower { rules, orders, thread, changes: 0, applied: 0, lacking: None })
    }

    /// Orders the change for a peer that can be reached, or no longer. Returns the number of this change.
    pub(crate) fn peer(&mut self, peer: PeerId, up: bool) -> u64 {
        self.rules.peer(peer, up);
        self.change()
    }

    /// Applies another configuration with the same `[intercept]`.
    pub(crate) fn reload(&mut self, config: &Config) {
        self.rules.reload(config);
        self.change();
    }

    fn change(&mut self) -> u64 {
        self.changes += 1;
        self.order(Some(self.changes));
        self.changes
    }

    /// Orders a check of the rules, after a deletion or a failure to set them; they are set again if a part is missing.
    pub(crate) fn check(&mut self) {
        self.order(None);
    }

    fn order(&self, change: Option<u64>) {
        // The thread runs as long as orders can be sent.
        let _ = self.orders.send(Order { change, rules: self.rules.clone() });
    }

    /// Processes a report of the thread.
    pub(crate) fn process(&mut self, report: &RulesReport) {
        match report {
            RulesReport::Applied { change, .. } => self.applied = *change,
            RulesReport::Checked(result) => self.lacking = result.as_ref().err().map(ToString::to_string),
        }
    }

    /// Returns the reason for which the kernel does not have the rules, if any.
    pub(crate) fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
    }

    /// Returns true if this change was passed to the kernel, even if the kernel refused it.
    pub(crate) fn has_applied(&self, change: u64) -> bool {
        change <= self.applied
    }

    /// Returns true if a change is still to be passed to the kernel.
    pub(crate) fn is_behind(&self) -> bool {
        self.applied < self.changes
    }

    /// Waits until all changes were passed to the kernel.
    pub(crate) fn end(self) {
        drop(self.orders);
        // If it panicked the rules do not change: there is nothing left to do about it here.
        let _ = self.thread.join();
    }
}

/// Executes orders. Each has the whole state of the rules: of several that wait, the last is enough.
fn follow(first: &Rules, todo: &Receiver<Order>, kernel: &impl Kernel, answer: impl Fn(RulesReport)) {
    // The complete rules, as the kernel lists them. Nothing counts as missing until they were found once.
    let mut whole = kernel.found(first).ok();
    while let Ok(next) = todo.recv() {
        let all: Vec<Order> = std::iter::once(next).chain(todo.try_iter()).collect();
        let Some(Order { rules, .. }) = all.last() else { continue };
        if all.iter().any(|order| order.change.is_none()) {
            let there = whole.is_none() || kernel.found(rules).ok() == whole;
            answer(RulesReport::Checked(if there { Ok(false) } else { restore(rules, kernel, &mut whole) }));
        }
        let Some(change) = all.iter().filter_map(|order| order.change).next_back() else { continue };
        answer(RulesReport::Applied { change, result: kernel.set_networks(rules) });
        // The check comes after the report, as connections wait for that. The networks were just set: only the rules
        // are compared.
        let found = kernel.found(rules).ok();
        if whole.as_ref().is_some_and(|whole| found.as_ref().is_none_or(|found| found.rules != whole.rules)) {
            answer(RulesReport::Checked(restore(rules, kernel, &mut whole)));
        } else {
            whole = found.or(whole);
        }
    }
}

/// Sets all of `rules` again, and `whole` to the result.
fn restore(rules: &Rules, kernel: &impl Kernel, whole: &mut Option<Found>) -> Result<bool, Error> {
    kernel.restore(rules)?;
    // Without this nothing could be found to be missing later.
    *whole = Some(kernel.found(rules)?);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::Hold;
    use super::super::testbed::{PATIENCE, Three, config, possible};
    use super::*;
    use crate::config::PeerDown;

    /// A kernel whose calls return when the test permits.
    struct Slow {
        seen: Sender<Rules>,
        left: Receiver<Result<(), Error>>,
    }

    impl Kernel for Slow {
        fn set_networks(&self, rules: &Rules) -> Result<(), Error> {
            self.seen.send(rules.clone()).unwrap();
            self.left.recv().unwrap()
        }
        fn found(&self, _: &Rules) -> Result<Found, Error> {
            Err(Error::NoRules)
        }
        fn restore(&self, _: &Rules) -> Result<(), Error> {
            panic!("there were none")
        }
    }

    #[test]
    fn no_call_waits_for_the_kernel_and_the_last_of_several_changes_is_applied() {
        let rules = Rules::of(&config(&["10.0.0.0/8"], PeerDown::Direct, &[]));
        let [up, down] = [true, false].map(|up| {
            let mut rules = rules.clone();
            rules.peer(PeerId::at(0), up);
            rules
        });
        let (seen, shown) = channel();
        let (leave, left) = channel();
        let (answer, answers) = channel();
        let answer = move |report| match report {
            RulesReport::Applied { change, result } => answer.send((change, result.is_ok())).unwrap(),
            RulesReport::Checked(_) => panic!("nothing was deleted"),
        };
        let mut follower = Follower::with(rules, Slow { seen, left }, answer).unwrap();
        assert!(!follower.is_behind());
        assert_eq!(follower.peer(PeerId::at(0), true), 1);
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), up);
        // During the first one.
        let changes = [false, true, false].map(|up| follower.peer(PeerId::at(0), up));
        assert_eq!(changes, [2, 3, 4]);
        leave.send(Ok(())).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (1, true));
        assert!(!follower.has_applied(1));
        let process =
            |follower: &mut Follower, change| follower.process(&RulesReport::Applied { change, result: Ok(()) });
        process(&mut follower, 1);
        assert!(follower.has_applied(1) && !follower.has_applied(2) && follower.is_behind());
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), down);
        leave.send(Err(Error::Config { what: "no".into() })).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (4, false));
        process(&mut follower, 4);
        assert!(follower.has_applied(4) && !follower.is_behind());
        // The end is processed after the orders.
        leave.send(Ok(())).unwrap();
        follower.peer(PeerId::at(0), true);
        follower.end();
        assert_eq!((shown.try_recv().unwrap(), answers.try_recv().unwrap()), (up, (5, true)));
        assert!(shown.try_recv().is_err(), "2 and 3 were not needed");
    }

    /// Returns the report of a check.
    fn checked(follower: &mut Follower, answers: &Receiver<RulesReport>) -> Result<bool, String> {
        follower.check();
        match answers.recv_timeout(PATIENCE).unwrap() {
            RulesReport::Checked(result) => result.map_err(|error| error.to_string()),
            RulesReport::Applied { .. } => panic!("nothing has changed"),
        }
    }

    #[test]
    fn missing_rules_are_set_again() {
        if !possible() {
            return;
        }
        let three = Three::new();
        let config = config(&["10.0.1.0/24"], PeerDown::Refuse, &[]);
        let intercept = config.intercept.clone().unwrap();
        let (answer, answers) = channel();
        let (mut follower, _hold) = three.gateway.run(move || {
            let rules = Rules::of(&config);
            rules.apply().unwrap();
            let hold = Hold::open(&intercept).unwrap();
            (Follower::start(rules, move |report| answer.send(report).unwrap()).unwrap(), hold)
        });
        assert_eq!(checked(&mut follower, &answers), Ok(false));
        for deletion in ["nft flush ruleset", "ip rule del pref 11602", "ip route flush table 161"] {
            let everything = "nft list ruleset; ip rule; ip -6 rule; ip route show table all";
            let before = Three::output(&three.gateway, everything);
            Three::output(&three.gateway, deletion);
            assert_eq!(checked(&mut follower, &answers), Ok(true), "{deletion}");
            assert_eq!(checked(&mut follower, &answers), Ok(false), "{deletion}");
            assert_eq!(Three::output(&three.gateway, everything), before, "{deletion}");
        }
        // A change detects it as well.
        Three::output(&three.gateway, "nft flush chain inet cellway_gateway_hold0 passing");
        follower.peer(PeerId::at(0), true);
        assert!(matches!(answers.recv_timeout(PATIENCE).unwrap(), RulesReport::Applied { change: 1, result: Ok(()) }));
        assert!(matches!(answers.recv_timeout(PATIENCE).unwrap(), RulesReport::Checked(Ok(true))));
        Three::output(&three.gateway, "nft flush set inet cellway_gateway_hold0 taken4");
        assert_eq!(checked(&mut follower, &answers), Ok(true));
        // Rules that cannot be set are reported each time.
        Three::output(&three.gateway, "ip link set dev hold0 down");
        let why = checked(&mut follower, &answers).unwrap_err();
        assert!(why.contains("`ip "), "{why}");
        assert_eq!(checked(&mut follower, &answers), Err(why));
        Three::output(&three.gateway, "ip link set dev hold0 up");
        assert_eq!(checked(&mut follower, &answers), Ok(true));
    }
}
