//! Traffic: tcplib conversations and other applications, as state machines without I/O.
//!
//! A slot of a traffic group has conversations over TCP or a source of datagrams ([`GroupWorkload`]).
//!
//! A [`Workload`] describes a kind of application, a [`Conversation`] is one run of it between two hosts. The driver
//! reports the events of its connections to the conversation and executes the returned [`Action`]s; bytes are counted,
//! never stored. Sizes and pauses come from [`QuantileModel`]s of the tcplib tables and are drawn from named random
//! streams, so that conversation `k` of a slot is the same under every network.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod action;
mod animation;
mod bulk;
mod conversation;
mod datagrams;
mod dialogue;
mod error;
mod fit;
mod flow_file;
mod flow_sizes;
mod flows;
mod ftp;
mod ftp_get;
mod item;
mod measured;
mod model;
mod nntp;
mod open_loop;
mod page;
pub mod random;
mod request_response;
mod size_table;
mod smtp;
mod table;
mod tables;
mod telnet;
mod transfer;
mod validate;
mod video;
mod workload;
mod writer;
mod www;

pub use action::{Action, ConnId, FlowEvent, Side};
pub use cellway_spec::{AppKind, Arrivals, DataConnection, DatagramEcn, Draw, Family, Spike, UdpSource, Video};
pub use conversation::{Conversation, Outcome};
pub use datagrams::{DatagramMark, DatagramSource};
pub use error::TableError;
pub use fit::{Fit, FitError, FitOptions, fit, models_file};
pub use flow_file::{FlowFileError, parse_trace};
pub use flow_sizes::SizeLaw;
pub use flows::{FlowProcess, FlowsWorkload, TraceFlow};
pub use measured::{
    DatagramModel, Distribution, ExchangeModel, FittedLaw, Law, MOST_SECONDS, MeasuredArrivals, MeasuredDatagrams,
    MeasuredWorkload, Message, Recorded,
};
pub use model::{Knot, QuantileModel, Sampler};
pub use size_table::SizeTable;
pub use table::FullTable;
pub use tables::{Tables, Variable};
pub use validate::WorkloadError;
pub use workload::{
    AnimationWorkload, BulkWorkload, FtpGetWorkload, FtpWorkload, GroupWorkload, Handshakes, NntpWorkload,
    PageWorkload, RequestResponseWorkload, SmtpWorkload, TelnetWorkload, TtcpWorkload, Workload, WwwWorkload,
};
