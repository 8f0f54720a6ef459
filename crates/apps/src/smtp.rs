//! Electronic mail: one message a conversation. tcplib has no table of the commands around it;
//! their sizes are those of the dialogues printed in RFC 821, line ends included.

use crate::dialogue::{Exchange, Script};
use crate::model::Sampler;
use crate::random::{Named, Stream};
use crate::tables::Variable;
use crate::workload::SmtpWorkload;

/// Greeting with code 220, in bytes: RFC 821, appendix F.
const GREETING: u64 = 54;
/// `HELO`, in bytes: RFC 821, section 3.5.
const HELLO: Exchange = Exchange { request: 20, reply: 19 };
/// `MAIL FROM`, in bytes: RFC 821, section 3.1.
const SENDER: Exchange = Exchange { request: 33, reply: 8 };
/// `RCPT TO`, in bytes: RFC 821, section 3.1. Every handshake after the second is one of these.
const RECIPIENT: Exchange = Exchange { request: 31, reply: 8 };
/// `DATA` and the reply with code 354, in bytes: RFC 821, section 3.1.
const DATA: Exchange = Exchange { request: 6, reply: 46 };
/// The reply to a message, code 250, in bytes: RFC 821, section 3.1.
const ACCEPTED: u64 = 8;
/// `QUIT` and the reply with code 221, in bytes: RFC 821, section 3.5.
const FAREWELL: Exchange = Exchange { request: 6, reply: 56 };

/// The messages of one SMTP conversation.
#[derive(Debug)]
pub(crate) struct SmtpScript {
    item_size: (Sampler, Stream),
}

impl SmtpScript {
    pub(crate) fn new(smtp: &SmtpWorkload, named: &Named) -> SmtpScript {
        let sampler = smtp.tables.sampler(Variable::SmtpItemSize, smtp.draw);
        SmtpScript { item_size: (sampler, named.stream("item-size")) }
    }
}

impl Script for SmtpScript {
    fn items(&self) -> u64 {
        1
    }
    fn greeting(&mut self) -> u64 {
        GREETING
    }
    fn opening(&mut self, index: u32) -> Exchange {
        match index {
            0 => HELLO,
            1 => SENDER,
            _ => RECIPIENT,
        }
    }
    fn before_item(&mut self) -> Exchange {
        DATA
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
