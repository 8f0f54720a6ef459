//! Hosts that are real: packets come, conversations open and close and links change at instants that the network does not
//! know before. Windows up to each of them against the calendar.

use super::*;

/// Two networks: one in windows, as far as it can be.
struct Pair {
    networks: [Network; 2],
    /// The paths that each conversation has, by the number of those that had them first; `None` if it is closed.
    open: Vec<Option<usize>>,
    sent: u32,
    /// An instant before which no packet reaches a host, as windows have it.
    quiet_until: Time,
    counts: Counts,
}

/// The comparisons, those in windows, the packets, and the instants of deliveries that windows have known.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: usize,
    in_windows: usize,
    delivered: usize,
    known: usize,
}

impl Counts {
    fn and(self, other: Counts) -> Counts {
        Counts {
            all: self.all + other.all,
            in_windows: self.in_windows + other.in_windows,
            delivered: self.delivered + other.delivered,
            known: self.known + other.known,
        }
    }
}

/// Returns the instant behind `now`: all up to `now` happens before it.
fn behind(now: Time) -> Time {
    now + Span::from_ps(1)
}

impl Pair {
    /// Some of the conversations are closed at the beginning, so that windows do not know their paths.
    fn new(networks: [Network; 2], numbers: &mut Numbers) -> Pair {
        let open = (0..networks[0].hosts.len()).map(Some).collect();
        let (quiet_until, counts) = (Time::ZERO, Counts::default());
        let mut pair = Pair { networks, open, sent: 0, quiet_until, counts };
        for conversation in 0..pair.open.len() {
            if numbers.below(2) == 0 {
                pair.close(conversation);
            }
        }
        pair
    }

    fn close(&mut self, conversation: usize) {
        let closed = self.networks.each_mut().map(|network| network.net.close(conversation as u32));
        assert_eq!(closed[0], closed[1], "conversation {conversation}");
        if closed[0] {
            self.open[conversation] = None;
        }
    }

    /// Opens a conversation over the paths of any, now and then with a shaper, a policer or, where others have some, an ABR
    /// control loop.
    fn open(&mut self, numbers: &mut Numbers, conversation: usize) {
        let of = numbers.below(self.open.len() as u64) as usize;
        let class = pick(numbers, &[Class::Ubr, Class::Ubr, Class::Vbr, Class::Cbr]);
        let (peak, how) = (Rate::from_bps(1_000_000 + numbers.below(100_000_000)), numbers.below(6));
        let mut loops = [Vec::new(), Vec::new()];
        for (network, loops) in self.networks.iter_mut().zip(&mut loops) {
            let [there, back] = &network.paths[of];
            let (hosts, paths): (_, [&[PortId]; 2]) = (network.hosts[of], [there, back]);
            let (conversation, kind) = (conversation as u32, conversation as u32 % 2);
            network.net.open(ConversationSpec { conversation, kind, hosts, paths, share: None, class }).unwrap();
            let Some((channel, ports)) = network.net.channels(conversation, 0).first().cloned() else { continue };
            match how {
                0 => network.net.shape(ports[0], channel, ShaperSpec { peak, sustained: None }),
                1 => {
                    let (cdvt, action) = (Span::from_us(100), PolicerAction::Discard);
                    network.net.police(ports[0], channel, PolicerSpec { peak, cdvt, sustained: None, action });
                }
                2 if !network.loops.is_empty() => {
                    let back = network.net.channels(conversation, 1);
                    let last = ports[ports.len() - 1];
                    for (reverse, _) in back {
                        loops.push(network.net.abr(ports[0], channel, reverse, last, AbrParameters::new(peak)));
                    }
                }
                _ => {}
            }
        }
        assert_eq!(loops[0], loops[1], "conversation {conversation}");
        self.open[conversation] = Some(of);
    }

    /// Advances both to `now` and compares all that is seen.
    fn advance(&mut self, now: Time) {
        let seen = [0, 1].map(|which| {
            let Network { net, .. } = &mut self.networks[which];
            let (mut seen, mut delivered) = (Seen::default(), Vec::new());
            while let Some(at) = net.run_quietly(behind(now), &mut delivered) {
                for Delivery { packet, corrupted, .. } in delivered.drain(..) {
                    let to = packet.to.0;
                    seen.delivered.push((at, to, packet.conversation, packet.body, packet.ecn, corrupted));
                }
                net.serve(at);
            }
            self.networks[which].read(behind(now), &mut seen);
            let conversations = 0..self.open.len() as u32;
            let net = &self.networks[which].net;
            seen.conversations.extend(conversations.map(|number| net.conversation_counters(number)));
            seen
        });
        assert!(seen[0] == seen[1], "at {now}: {:?}\n{:?}", seen[0], seen[1]);
        if let Some(&(first, ..)) = seen[0].delivered.first() {
            assert!(first >= self.quiet_until, "{first} is before {}", self.quiet_until);
            self.counts.known += usize::from(first == self.quiet_until);
        }
        self.counts.all += 1;
        self.counts.delivered += seen[0].delivered.len();
        self.counts.in_windows += usize::from(self.networks[1].net.has_windows());
        self.knows(now);
    }

    /// Records the instant up to which windows know that no packet is due.
    fn knows(&mut self, now: Time) {
        let net = &self.networks[1].net;
        self.quiet_until = net.quiet_until().unwrap_or(Time::MAX);
        assert!(self.quiet_until > now || !net.has_windows(), "{} is not after {now}", self.quiet_until);
    }

    /// Lets hosts send, or changes something, at `now`.
    fn act(&mut self, now: Time, numbers: &mut Numbers) {
        let conversation = numbers.below(self.open.len() as u64) as usize;
        match (numbers.below(12), self.open[conversation]) {
            (0, Some(_)) => self.close(conversation),
            (0..=3, None) => self.open(numbers, conversation),
            (1, _) if numbers.below(4) == 0 => {
                let [mut first, mut second] = [(); 2].map(|()| numbers.clone());
                self.networks[0].change(now, &mut first);
                self.networks[1].change(now, &mut second);
                *numbers = first;
            }
            (_, Some(of)) => {
                for _ in 0..=numbers.below(5) {
                    let (way, octets) = (numbers.below(2) as usize, pick(numbers, &[40, 552, 1500, 9180]));
                    for Network { net, hosts, .. } in &mut self.networks {
                        let (from, to) = (hosts[of][way], hosts[of][1 - way]);
                        let (conversation, body) = (conversation as u32, self.sent);
                        let (flow, ecn, dscp) = (body % 3, Ecn::Ect0, 0);
                        net.send(now, Packet { conversation, from, to, flow, octets, ecn, dscp, body });
                    }
                    self.sent += 1;
                }
            }
            _ => {}
        }
        for Network { net, .. } in &mut self.networks {
            net.serve(now);
            net.settle();
        }
        self.knows(now);
    }
}

/// Drives both networks of a seed.
fn drive(network: fn(u64) -> Network, seed: u64) -> Counts {
    let numbers = &mut Numbers(seed ^ 0x11fe);
    let mut pair = Pair::new([network(seed), network(seed)], numbers);
    let mut now = Time::ZERO;
    for _ in 0..150 {
        let net = &mut pair.networks[1].net;
        if !net.has_windows() && net.deadline() != Some(now) {
            net.run_in_windows(now);
        }
        let most = pick(numbers, &[0, 2, 5_000_000, 100_000_000, 1_000_000_000]);
        let until = Some(pair.quiet_until).filter(|_| numbers.below(4) == 0);
        let next = until.filter(|&at| at < now + Span::from_ms(5)).unwrap_or(now);
        now = now.max(next) + Span::from_ps(numbers.below(most + 1));
        pair.advance(now);
        pair.act(now, numbers);
        if numbers.below(2) == 0 {
            pair.advance(now);
        }
    }
    pair.counts
}

#[test]
fn windows_up_to_the_present_and_the_calendar_agree() {
    agree_live(Network::new, &cases(4_000), [70, 25]);
}

#[test]
fn they_agree_up_to_the_present_with_control_loops_and_on_rings() {
    agree_live(Network::with_loops, &cases(1_000), [60, 20]);
    agree_live(Network::ring, &cases(1_000), [60, 25]);
}

/// Compares both: at least `share` of 100 instants are in windows, with `packets` deliveries in a network on average.
fn agree_live(network: fn(u64) -> Network, cases: &[u64], [share, packets]: [usize; 2]) {
    let counts = on_all_cores(cases, |seed| drive(network, seed)).into_iter().fold(Counts::default(), Counts::and);
    println!("{counts:?}");
    // A link whose delay has been changed is not for windows any more.
    let Counts { all, in_windows, delivered, known } = counts;
    let is_enough = 100 * in_windows > share * all && delivered > packets * cases.len();
    assert!(cases.len() < 100 || (is_enough && 10 * known > delivered), "{counts:?}");
}
