//! The content of a workload file.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_apps::{DatagramModel, Distribution, ExchangeModel, Recorded};

use crate::file::Transport;
use crate::kinds::DistributionKind;

/// A workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadFile {
    /// The classes, in the order of the file; no two have the same name.
    pub classes: Vec<Class>,
}

/// A class of conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The name.
    pub name: String,
    /// Conversations from which the distributions were made.
    pub conversations: u64,
    /// Conversations that were left out, by the reason.
    pub left_out: BTreeMap<String, u64>,
    /// The distributions, by the protocol.
    pub model: ClassModel,
    /// Round-trip times (s), of a class over TCP. For the reader only: a simulated path has its own.
    pub rtt: Option<Distribution>,
}

/// The distributions of a class, by the protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassModel {
    /// Exchanges over TCP.
    Tcp(Arc<ExchangeModel>),
    /// Datagrams.
    Udp(Arc<DatagramModel>),
}

impl ClassModel {
    /// Makes the model of a protocol. `take` returns the distribution of a name in files, if there is one. Returns `None`
    /// without one that the protocol requires; whole conversations over TCP, `recorded`, require none.
    pub fn of(
        transport: Transport,
        mut take: impl FnMut(&str) -> Option<Distribution>,
        recorded: Vec<Arc<Recorded>>,
    ) -> Option<ClassModel> {
        let has = |of: Option<Distribution>| if recorded.is_empty() { of.map(Some) } else { Some(of) };
        Some(match transport {
            Transport::Tcp => ClassModel::Tcp(Arc::new(ExchangeModel {
                arrival_gap: take("arrival_gap"),
                exchanges: has(take("exchanges"))?,
                request: has(take("request"))?,
                response: take("response"),
                pause: take("pause"),
                think: take("think"),
                recorded,
            })),
            Transport::Udp => ClassModel::Udp(Arc::new(DatagramModel {
                arrival_gap: take("arrival_gap"),
                packets: take("packets")?,
                packets_back: take("packets_back"),
                size: take("size")?,
                size_back: take("size_back"),
                gap: take("gap"),
                gap_back: take("gap_back"),
            })),
        })
    }

    /// Returns the protocol.
    pub fn transport(&self) -> Transport {
        match self {
            ClassModel::Tcp(_) => Transport::Tcp,
            ClassModel::Udp(_) => Transport::Udp,
        }
    }
}

impl WorkloadFile {
    /// Returns the class of a name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}

impl Class {
    /// Returns the distributions that it has, with their names in the file, in the order of the documentation.
    pub fn distributions(&self) -> Vec<(&'static str, &Distribution)> {
        let all = match &self.model {
            ClassModel::Tcp(tcp) => vec![
                ("arrival_gap", tcp.arrival_gap.as_ref()),
                ("exchanges", tcp.exchanges.as_ref()),
                ("request", tcp.request.as_ref()),
                ("response", tcp.response.as_ref()),
                ("pause", tcp.pause.as_ref()),
                ("think", tcp.think.as_ref()),
                ("rtt", self.rtt.as_ref()),
            ],
            ClassModel::Udp(udp) => vec![
                ("arrival_gap", udp.arrival_gap.as_ref()),
                ("packets", Some(&udp.packets)),
                ("packets_back", udp.packets_back.as_ref()),
                ("size", Some(&udp.size)),
                ("size_back", udp.size_back.as_ref()),
                ("gap", udp.gap.as_ref()),
                ("gap_back", udp.gap_back.as_ref()),
            ],
        };
        all.into_iter().filter_map(|(name, distribution)| Some((name, distribution?))).collect()
    }

    /// Returns a distribution by its name in the file.
    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions().into_iter().find(|(known, _)| *known == name).map(|(_, distribution)| distribution)
    }

    /// Returns the protocol as it is in files.
    pub fn transport(&self) -> &'static str {
        self.model.transport().name()
    }

    /// Returns the unit of the distribution of a name: "s", "B", or nothing for a count.
    pub fn unit(name: &str) -> &'static str {
        DistributionKind::named(name).map_or("", |kind| kind.unit)
    }
}
