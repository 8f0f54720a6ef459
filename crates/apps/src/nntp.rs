//! Network news: articles offered and sent one by one. tcplib has no table of the messages around
//! them; their sizes are those of the dialogues printed in RFC 977, line ends included.

use crate::dialogue::{Exchange, Script};
use crate::model::Sampler;
use crate::random::{Named, Stream};
use crate::tables::Variable;
use crate::workload::NntpWorkload;

/// Greeting with code 200, in bytes: RFC 977, section 4.1.
const GREETING: u64 = 46;
/// A command before the first offer, in bytes: `SLAVE` and the reply with code 202.
const OPENING: Exchange = Exchange { request: 7, reply: 24 };
/// `IHAVE` with a message identifier and the reply with code 335, in bytes: RFC 977, section 4.5.
const OFFER: Exchange = Exchange { request: 26, reply: 38 };
/// The reply to an article, code 235, in bytes: RFC 977, section 4.5.
const ACCEPTED: u64 = 48;
/// `QUIT` and the reply with code 205, in bytes: RFC 977, section 4.1.
const FAREWELL: Exchange = Exchange { request: 6, reply: 45 };

/// The messages of one NNTP conversation.
#[derive(Debug)]
pub(crate) struct NntpScript {
    items: u64,
    item_size: (Sampler, Stream),
}

impl NntpScript {
    pub(crate) fn new(nntp: &NntpWorkload, named: &Named) -> NntpScript {
        let sampler = |variable| nntp.tables.sampler(variable, nntp.draw);
        NntpScript {
            items: sampler(Variable::NntpItems).count(&mut named.stream("items")),
            item_size: (sampler(Variable::NntpItemSize), named.stream("item-size")),
        }
    }
}

impl Script for NntpScript {
    fn items(&self) -> u64 {
        self.items
    }
    fn greeting(&mut self) -> u64 {
        GREETING
    }
    fn opening(&mut self, _index: u32) -> Exchange {
        OPENING
    }
    fn before_item(&mut self) -> Exchange {
        OFFER
    }
    fn item(&mut self) -> u64 {
        self.item_size.0.count(&mut self.item_size.1)
    }
    fn after_item(&mut self) -> u64 {
        ACCEPTED
    }
    fn farewell(&mut self) -> Exchange {
        FAREWELL
    }
}
