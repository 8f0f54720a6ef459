//! What conversations do.

use cellway_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the conversations of a group do, with the options of that application.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// File transfer, after tcplib.
    Ftp {
        /// Where the distributions come from.
        tables: Tables,
        /// An extra point mass on the item size.
        spike: Option<Spike>,
        /// Which connections carry the items.
        data_connection: DataConnection,
        /// Control round trips before each item.
        handshake: u32,
    },
    /// Network news, after tcplib.
    Nntp {
        /// Where the distributions come from.
        tables: Tables,
        /// Control round trips before each article.
        handshake: u32,
    },
    /// Electronic mail, after tcplib.
    Smtp {
        /// Where the distributions come from.
        tables: Tables,
        /// Control round trips before the message.
        handshake: u32,
    },
    /// Remote terminal, after tcplib.
    Telnet {
        /// Where the distributions come from.
        tables: Tables,
        /// Whether the responder echoes what it receives.
        echo: bool,
    },
    /// One transfer as fast as TCP allows.
    Bulk {
        /// Bytes to transfer; without end if absent.
        size: Option<Bytes>,
    },
}

impl App {
    /// The name in the file; conversations of equal names are of one type for
    /// [`Channel::PerType`](crate::Channel::PerType).
    pub const fn name(&self) -> &'static str {
        match self {
            App::Ftp { .. } => "ftp",
            App::Nntp { .. } => "nntp",
            App::Smtp { .. } => "smtp",
            App::Telnet { .. } => "telnet",
            App::Bulk { .. } => "bulk",
        }
    }
}

/// Where the distributions of a tcplib application come from, and how they are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// How a value is drawn from a table.
    pub draw: Draw,
    /// A folder of full tables, as written in the file (relative to it); the built-in models if
    /// absent.
    pub folder: Option<String>,
}

/// How a value is drawn from a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// As tcplib does: from 1000 equally likely probabilities, integers truncated.
    Tcplib,
    /// By continuous inversion of the interpolated distribution.
    Continuous,
}

/// An extra point mass: with probability `weight` an item has exactly `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The size of such an item, in bytes.
    pub size: Bytes,
    /// Its probability, from 0 to 1.
    pub weight: f64,
}

/// Which connections carry the items of a file transfer conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataConnection {
    /// Control and all items use one connection.
    Shared,
    /// Each item has a connection of its own, as RFC 959 has it.
    PerItem,
}
