//! File transfers. All control messages have sizes of tcplib's `ctlsize`, which was measured on
//! FTP control connections; which message it is does not matter to it.

use cellway_spec::Spike;

use crate::dialogue::{Exchange, Script};
use crate::model::Sampler;
use crate::random::{Named, Stream};
use crate::tables::Variable;
use crate::workload::FtpWorkload;

/// The messages of one FTP conversation.
#[derive(Debug)]
pub(crate) struct FtpScript {
    items: u64,
    item_size: (Sampler, Stream),
    control_size: (Sampler, Stream),
    spike: Option<(Spike, Stream)>,
}

impl FtpScript {
    pub(crate) fn new(ftp: &FtpWorkload, named: &Named) -> FtpScript {
        let sampler = |variable| ftp.tables.sampler(variable, ftp.draw);
        FtpScript {
            items: sampler(Variable::FtpItems).count(&mut named.stream("items")),
            item_size: (sampler(Variable::FtpItemSize), named.stream("item-size")),
            control_size: (sampler(Variable::FtpControlSize), named.stream("control-size")),
            // Its own stream: with the spike or without, all other draws are the same.
            spike: ftp.spike.map(|spike| (spike, named.stream("spike"))),
        }
    }

    fn control(&mut self) -> u64 {
        self.control_size.0.count(&mut self.control_size.1)
    }

    fn exchange(&mut self) -> Exchange {
        Exchange { request: self.control(), reply: self.control() }
    }
}

impl Script for FtpScript {
    fn items(&self) -> u64 {
        self.items
    }
    fn greeting(&mut self) -> u64 {
        self.control()
    }
    fn opening(&mut self, _index: u32) -> Exchange {
        self.exchange()
    }
    fn before_item(&mut self) -> Exchange {
        self.exchange()
    }
    fn item(&mut self) -> u64 {
        let drawn = self.item_size.0.count(&mut self.item_size.1);
        let spiked =
            self.spike.as_mut().and_then(|(spike, stream)| (stream.uniform() < spike.weight).then_some(spike.size.0));
        spiked.unwrap_or(drawn)
    }
    fn after_item(&mut self) -> u64 {
        self.control()
    }
    fn farewell(&mut self) -> Exchange {
        self.exchange()
    }
}
