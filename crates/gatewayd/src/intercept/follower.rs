//! Keeping the kernel in step with the rules beside the thread that moves packets: `nft` is a program that is started
//! for each change, and may take its time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::rules::{Found, Rules};
use crate::config::Config;
use crate::error::Error;
use crate::peer_id::PeerId;

/// What the thread tells.
#[derive(Debug)]
pub(crate) enum News {
    /// The kernel has been told of this change of the rules.
    Followed {
        /// Its number.
        change: u64,
        /// How it went.
        result: Result<(), Error>,
    },
    /// The rules were looked at: true if they had to be set anew.
    Looked(Result<bool, Error>),
}

/// What the thread is asked for, with the rules as they are to be.
#[derive(Debug)]
struct Order {
    /// The number of a change that the kernel has not been told of.
    change: Option<u64>,
    rules: Rules,
}

/// The rules, and a thread that tells the kernel when they have changed.
#[derive(Debug)]
pub(crate) struct Follower {
    rules: Rules,
    orders: Sender<Order>,
    thread: JoinHandle<()>,
    /// How often the rules have changed.
    changes: u64,
    /// Up to which change the kernel has been told.
    told: u64,
    /// Why the kernel does not have the rules, if it does not.
    lacking: Option<String>,
}

/// How the kernel is told.
trait Kernel: Send + 'static {
    /// Takes the networks of `rules`.
    fn settle(&self, rules: &Rules) -> Result<(), Error>;
    /// What is there of `rules`.
    fn found(&self, rules: &Rules) -> Result<Found, Error>;
    /// Sets all of `rules`.
    fn restore(&self, rules: &Rules) -> Result<(), Error>;
}

/// The one of this machine.
struct Machine;

impl Kernel for Machine {
    fn settle(&self, rules: &Rules) -> Result<(), Error> {
        rules.settle()
    }
    fn found(&self, rules: &Rules) -> Result<Found, Error> {
        rules.found()
    }
    fn restore(&self, rules: &Rules) -> Result<(), Error> {
        rules.restore()
    }
}

impl Follower {
    /// Begins, in the network namespace of the present thread, with rules that the kernel knows already. `answer` is
    /// given the news on the other thread.
    pub(crate) fn start(rules: Rules, answer: impl Fn(News) + Send + 'static) -> Result<Follower, Error> {
        Follower::with(rules, Machine, answer)
    }

    fn with(rules: Rules, kernel: impl Kernel, answer: impl Fn(News) + Send + 'static) -> Result<Follower, Error> {
        let (orders, todo) = channel();
        let first = rules.clone();
        let work = move || follow(&first, &todo, &kernel, answer);
        let thread = std::thread::Builder::new().name("rules".into()).spawn(work);
        let thread = thread.map_err(|source| Error::Io { what: "start the thread of the rules".into(), source })?;
        Ok(Follower { rules, orders, thread, changes: 0, told: 0, lacking: None })
    }

    /// A peer (its place in the configuration) can be reached, or no longer. The number of this change.
    pub(crate) fn peer(&mut self, peer: PeerId, up: bool) -> u64 {
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
        self.order(Some(self.changes));
        self.changes
    }

    /// Has the rules looked at, as something was deleted, or set anew if they are lacking.
    pub(crate) fn look(&mut self) {
        self.order(None);
    }

    fn order(&self, change: Option<u64>) {
        // The thread goes on as long as there is somebody to order.
        let _ = self.orders.send(Order { change, rules: self.rules.clone() });
    }

    /// News have been heard.
    pub(crate) fn heard(&mut self, news: &News) {
        match news {
            News::Followed { change, .. } => self.told = *change,
            News::Looked(result) => self.lacking = result.as_ref().err().map(ToString::to_string),
        }
    }

    /// Why the kernel does not have the rules, if it does not.
    pub(crate) fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
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

/// An order has a whole state of the rules: of several that wait, the last is enough.
fn follow(first: &Rules, todo: &Receiver<Order>, kernel: &impl Kernel, answer: impl Fn(News)) {
    // What is there when it is as it should be. Where nobody has set the rules, none are missed.
    let mut whole = kernel.found(first).ok();
    while let Ok(next) = todo.recv() {
        let all: Vec<Order> = std::iter::once(next).chain(todo.try_iter()).collect();
        let Some(Order { rules, .. }) = all.last() else { continue };
        if all.iter().any(|order| order.change.is_none()) {
            let there = whole.is_none() || kernel.found(rules).ok() == whole;
            answer(News::Looked(if there { Ok(false) } else { restore(rules, kernel, &mut whole) }));
        }
        let Some(change) = all.iter().filter_map(|order| order.change).next_back() else { continue };
        answer(News::Followed { change, result: kernel.settle(rules) });
        // Not before: connections wait for it. The networks are what was just settled.
        let found = kernel.found(rules).ok();
        if whole.as_ref().is_some_and(|whole| found.as_ref().is_none_or(|found| found.rules != whole.rules)) {
            answer(News::Looked(restore(rules, kernel, &mut whole)));
        } else {
            whole = found.or(whole);
        }
    }
}

/// Sets all of `rules` anew; `whole` becomes what is there then.
fn restore(rules: &Rules, kernel: &impl Kernel, whole: &mut Option<Found>) -> Result<bool, Error> {
    kernel.restore(rules)?;
    // Without it nothing could be missed later.
    *whole = Some(kernel.found(rules)?);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::Hold;
    use super::super::testbed::{PATIENCE, Three, config, possible};
    use super::*;
    use crate::config::PeerDown;

    /// A kernel that takes as long as the test wishes.
    struct Slow {
        seen: Sender<Rules>,
        left: Receiver<Result<(), Error>>,
    }

    impl Kernel for Slow {
        fn settle(&self, rules: &Rules) -> Result<(), Error> {
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
    fn nobody_waits_for_the_kernel_and_the_last_of_several_changes_is_told() {
        let rules = Rules::of(&config(&["10.0.0.0/8"], PeerDown::Direct, &[]));
        let [up, down] = [true, false].map(|up| {
            let mut rules = rules.clone();
            rules.peer(PeerId::at(0), up);
            rules
        });
        let (seen, shown) = channel();
        let (leave, left) = channel();
        let (answer, answers) = channel();
        let answer = move |news| match news {
            News::Followed { change, result } => answer.send((change, result.is_ok())).unwrap(),
            News::Looked(_) => panic!("nothing was deleted"),
        };
        let mut follower = Follower::with(rules, Slow { seen, left }, answer).unwrap();
        assert!(!follower.is_behind());
        assert_eq!(follower.peer(PeerId::at(0), true), 1);
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), up);
        // While it works on the first.
        let changes = [false, true, false].map(|up| follower.peer(PeerId::at(0), up));
        assert_eq!(changes, [2, 3, 4]);
        leave.send(Ok(())).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (1, true));
        assert!(!follower.has_told(1));
        let heard = |follower: &mut Follower, change| follower.heard(&News::Followed { change, result: Ok(()) });
        heard(&mut follower, 1);
        assert!(follower.has_told(1) && !follower.has_told(2) && follower.is_behind());
        assert_eq!(shown.recv_timeout(PATIENCE).unwrap(), down);
        leave.send(Err(Error::Config { what: "no".into() })).unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), (4, false));
        heard(&mut follower, 4);
        assert!(follower.has_told(4) && !follower.is_behind());
        // The end comes after what was ordered.
        leave.send(Ok(())).unwrap();
        follower.peer(PeerId::at(0), true);
        follower.end();
        assert_eq!((shown.try_recv().unwrap(), answers.try_recv().unwrap()), (up, (5, true)));
        assert!(shown.try_recv().is_err(), "2 and 3 were not needed");
    }

    /// What is told after a look.
    fn looked(follower: &mut Follower, answers: &Receiver<News>) -> Result<bool, String> {
        follower.look();
        match answers.recv_timeout(PATIENCE).unwrap() {
            News::Looked(result) => result.map_err(|error| error.to_string()),
            News::Followed { .. } => panic!("nothing has changed"),
        }
    }

    #[test]
    fn what_is_lacking_is_set_again() {
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
            (Follower::start(rules, move |news| answer.send(news).unwrap()).unwrap(), hold)
        });
        assert_eq!(looked(&mut follower, &answers), Ok(false));
        for deletion in ["nft flush ruleset", "ip rule del pref 11602", "ip route flush table 161"] {
            let everything = "nft list ruleset; ip rule; ip -6 rule; ip route show table all";
            let before = Three::output(&three.gateway, everything);
            Three::output(&three.gateway, deletion);
            assert_eq!(looked(&mut follower, &answers), Ok(true), "{deletion}");
            assert_eq!(looked(&mut follower, &answers), Ok(false), "{deletion}");
            assert_eq!(Three::output(&three.gateway, everything), before, "{deletion}");
        }
        // A change that comes first finds out as well.
        Three::output(&three.gateway, "nft flush chain inet cellway_gateway_hold0 passing");
        follower.peer(PeerId::at(0), true);
        assert!(matches!(answers.recv_timeout(PATIENCE).unwrap(), News::Followed { change: 1, result: Ok(()) }));
        assert!(matches!(answers.recv_timeout(PATIENCE).unwrap(), News::Looked(Ok(true))));
        Three::output(&three.gateway, "nft flush set inet cellway_gateway_hold0 taken4");
        assert_eq!(looked(&mut follower, &answers), Ok(true));
        // And what cannot be set.
        Three::output(&three.gateway, "ip link set dev hold0 down");
        let why = looked(&mut follower, &answers).unwrap_err();
        assert!(why.contains("`ip "), "{why}");
        assert_eq!(looked(&mut follower, &answers), Err(why));
        Three::output(&three.gateway, "ip link set dev hold0 up");
        assert_eq!(looked(&mut follower, &answers), Ok(true));
    }
}
