//! The exchanges of a conversation, drawn as its two ends proceed.

use std::collections::VecDeque;
use std::sync::Arc;

use cellway_units::Span;

use super::ExchangeModel;
use crate::random::Stream;

/// The most exchanges of a conversation, far above any measured one.
const MOST_EXCHANGES: u64 = 1_000_000;

/// One exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Octets from the originator.
    pub(super) request: u64,
    /// Octets from the responder.
    pub(super) response: u64,
    /// From the whole request to the response.
    pub(super) pause: Span,
    /// From the whole response to the next request.
    pub(super) think: Span,
}

/// The exchanges of one conversation. Both ends read them in order; one that both have left is forgotten.
#[derive(Debug)]
pub(super) struct Script {
    model: Arc<ExchangeModel>,
    fits: bool,
    stream: Stream,
    count: u64,
    /// The number of the first exchange of `drawn`, from 0.
    first: u64,
    drawn: VecDeque<Exchange>,
}

impl Script {
    /// Draws the number of exchanges, at least 1.
    pub(super) fn new(model: Arc<ExchangeModel>, fits: bool, mut stream: Stream) -> Script {
        let exchanges = model.exchanges.as_ref().map_or(1, |exchanges| exchanges.whole(fits, &mut stream));
        let count = exchanges.clamp(1, MOST_EXCHANGES);
        Script { model, fits, stream, count, first: 0, drawn: VecDeque::new() }
    }

    /// Returns exchange `number`, from 0; `None` behind the last one.
    pub(super) fn exchange(&mut self, number: u64) -> Option<Exchange> {
        if number >= self.count {
            return None;
        }
        let place = number.checked_sub(self.first)? as usize;
        while self.drawn.len() <= place {
            let exchange = self.draw();
            self.drawn.push_back(exchange);
        }
        self.drawn.get(place).copied()
    }

    /// Returns true if exchange `number` is the last.
    pub(super) fn is_last(&self, number: u64) -> bool {
        number + 1 >= self.count
    }

    /// Forgets the exchanges before `number`.
    pub(super) fn forget_before(&mut self, number: u64) {
        while self.first < number && self.drawn.pop_front().is_some() {
            self.first += 1;
        }
    }

    fn draw(&mut self) -> Exchange {
        let (fits, stream) = (self.fits, &mut self.stream);
        // Values that no variant of the class draws would shift the others: all are drawn in this order.
        Exchange {
            request: self.model.request.as_ref().map_or(0, |octets| octets.whole(fits, stream)),
            response: self.model.response.as_ref().map_or(0, |octets| octets.whole(fits, stream)),
            pause: self.model.pause.as_ref().map_or(Span::ZERO, |time| time.span(fits, stream)),
            think: self.model.think.as_ref().map_or(Span::ZERO, |time| time.span(fits, stream)),
        }
    }
}
