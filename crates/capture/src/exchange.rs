//! The exchanges of a conversation, in the model of tmix.
//!
//! A conversation is a sequence of requests and responses. The first octet of a request after a response begins the
//! next exchange. Source: M. C. Weigle and others, *Tmix: a tool for generating realistic TCP application workloads in
//! ns-2*, ACM SIGCOMM CCR 36(3), 2006; F. Hernández-Campos, *Generation and validation of empirically-derived TCP
//! application workloads*, University of North Carolina, 2006.

/// The quiet time after which further octets of the originator are another request, if all before them were
/// acknowledged: the threshold of Hernández-Campos, in ns.
pub(crate) const QUIET: u64 = 500_000_000;

/// A request and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exchange {
    /// Octets of the request; 0 if the responder speaks first.
    pub request: u64,
    /// Octets of the response; 0 if there is none.
    pub response: u64,
    /// From the end of the request to the first octet of the response, without the round trip to the responder, in s;
    /// `None` if there is no response or the round trip is unknown.
    pub pause: Option<f64>,
    /// From the last octet before the next request to that request, without the round trip to the originator, in s;
    /// `None` for the last exchange and if the round trip is unknown.
    pub think: Option<f64>,
}

/// The two parts of the round trip, on both sides of the tap, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Between the tap and the originator, there and back.
    pub originator: u64,
    /// Between the tap and the responder, there and back.
    pub responder: u64,
}

impl RoundTrip {
    /// Returns the whole round trip, in s.
    pub fn seconds(self) -> f64 {
        (self.originator + self.responder) as f64 / 1e9
    }
}

/// The exchange that goes on.
#[derive(Clone, Copy, Debug)]
struct Current {
    request: u64,
    response: u64,
    pause: Option<f64>,
    /// Time of the last octet of the request, or of the handshake if there is none, in ns.
    request_end: u64,
    /// Time of the last octet of the response, in ns.
    response_end: u64,
}

/// Collects the exchanges of one conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    current: Option<Current>,
    /// Exchanges that are complete.
    pub(crate) complete: Vec<Exchange>,
}

/// Returns the time between two packets without the round trip between, in s.
fn without(from: u64, to: u64, round_trip: u64) -> f64 {
    to.saturating_sub(from).saturating_sub(round_trip) as f64 / 1e9
}

impl Exchanges {
    /// Takes new octets of the originator. `is_acknowledged` is true if all that it sent before were acknowledged.
    pub(crate) fn request(&mut self, octets: u64, now: u64, path: Option<RoundTrip>, is_acknowledged: bool) {
        let fresh = |request| Current { request, response: 0, pause: None, request_end: now, response_end: now };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh(octets));
            return;
        };
        let is_quiet = is_acknowledged && now.saturating_sub(current.request_end) > QUIET;
        if current.response == 0 && !is_quiet {
            current.request += octets;
            current.request_end = now;
            return;
        }
        let think = if current.response > 0 {
            path.map(|path| without(current.response_end, now, path.originator))
        } else {
            Some(without(current.request_end, now, 0))
        };
        self.complete.push(current.complete(think));
        self.current = Some(fresh(octets));
    }

    /// Takes new octets of the responder. `established` is the time of the end of the handshake.
    pub(crate) fn response(&mut self, octets: u64, now: u64, path: Option<RoundTrip>, established: u64) {
        let current = self.current.get_or_insert(Current {
            request: 0,
            response: 0,
            pause: None,
            request_end: established,
            response_end: now,
        });
        if current.response == 0 {
            current.pause = path.map(|path| without(current.request_end, now, path.responder));
        }
        current.response += octets;
        current.response_end = now;
    }

    /// Notes that missing octets have come: the message of that side ends later.
    pub(crate) fn late(&mut self, is_originator: bool, now: u64) {
        if let Some(current) = &mut self.current {
            match is_originator {
                true if current.response == 0 => current.request_end = now,
                false if current.response > 0 => current.response_end = now,
                _ => {}
            }
        }
    }

    /// Completes the last exchange: the conversation has ended.
    pub(crate) fn finish(&mut self) {
        if let Some(current) = self.current.take() {
            self.complete.push(current.complete(None));
        }
    }
}

impl Current {
    fn complete(&self, think: Option<f64>) -> Exchange {
        Exchange { request: self.request, response: self.response, pause: self.pause, think }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PATH: Option<RoundTrip> = Some(RoundTrip { originator: 10 * MS, responder: 30 * MS });

    #[test]
    fn requests_and_responses_alternate() {
        let mut exchanges = Exchanges::default();
        exchanges.request(100, 0, PATH, true);
        exchanges.request(50, MS, PATH, false);
        exchanges.response(1000, 36 * MS, PATH, 0);
        exchanges.response(500, 40 * MS, PATH, 0);
        exchanges.request(70, 250 * MS, PATH, true);
        exchanges.finish();
        let first = Exchange { request: 150, response: 1500, pause: Some(0.005), think: Some(0.2) };
        let last = Exchange { request: 70, ..Exchange::default() };
        assert_eq!(exchanges.complete, [first, last]);
    }

    #[test]
    fn the_responder_may_speak_first() {
        let mut exchanges = Exchanges::default();
        exchanges.response(80, 131 * MS, PATH, MS);
        exchanges.request(20, 141 * MS, PATH, true);
        exchanges.finish();
        let greeting = Exchange { request: 0, response: 80, pause: Some(0.1), think: Some(0.0) };
        assert_eq!(exchanges.complete[0], greeting);
    }

    #[test]
    fn quiet_splits_requests_and_a_lost_segment_does_not() {
        let mut exchanges = Exchanges::default();
        exchanges.request(100, 0, PATH, true);
        exchanges.request(100, 700 * MS, PATH, false);
        exchanges.request(100, 1_500 * MS, PATH, true);
        exchanges.finish();
        let found: Vec<_> = exchanges.complete.iter().map(|e| (e.request, e.response, e.think)).collect();
        assert_eq!(found, [(200, 0, Some(0.8)), (100, 0, None)]);
    }
}
