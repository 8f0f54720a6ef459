//! What a kind of application does: plain settings, with the tables inside.

use cellway_units::Bytes;

use crate::model::Draw;
use crate::tables::Tables;

/// The kinds of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AppKind {
    /// File transfers.
    Ftp,
    /// Network news.
    Nntp,
    /// Electronic mail.
    Smtp,
    /// Remote terminal sessions.
    Telnet,
    /// One transfer without pauses.
    Bulk,
}

impl AppKind {
    /// All kinds.
    pub const ALL: [AppKind; 5] = [AppKind::Ftp, AppKind::Nntp, AppKind::Smtp, AppKind::Telnet, AppKind::Bulk];

    /// The name in scenarios: `ftp`.
    pub const fn name(self) -> &'static str {
        match self {
            AppKind::Ftp => "ftp",
            AppKind::Nntp => "nntp",
            AppKind::Smtp => "smtp",
            AppKind::Telnet => "telnet",
            AppKind::Bulk => "bulk",
        }
    }
}

/// Request-and-reply exchanges, each a pause of one round trip between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshakes {
    /// Between the greeting and the first item.
    pub opening: u32,
    /// Before each item, besides the reply that follows it.
    pub per_item: u32,
}

/// A size that some items have instead of their drawn size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The size, 1 B or more.
    pub size: Bytes,
    /// The probability that an item has it, 0 to 1.
    pub weight: f64,
}

/// Which TCP connection carries the items of an FTP conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataConnection {
    /// The one that carries the control messages: one window over the whole conversation.
    #[default]
    Shared,
    /// A new one for each item, opened by the responder (RFC 959, active mode).
    PerItem,
}

/// File transfers: see [`Workload::Ftp`].
#[derive(Clone, Debug, PartialEq)]
pub struct FtpWorkload {
    /// Sizes and counts.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// An item size with a probability of its own.
    pub spike: Option<Spike>,
    /// 2 (user, password) and 1 (store) by default: RFC 959, section 5.4.
    pub handshakes: Handshakes,
    /// Where items flow.
    pub data_connection: DataConnection,
}

/// Network news: see [`Workload::Nntp`].
#[derive(Clone, Debug, PartialEq)]
pub struct NntpWorkload {
    /// Sizes and counts.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// 0 and 1 (offer) by default: RFC 977, section 4.5.
    pub handshakes: Handshakes,
}

/// Electronic mail: see [`Workload::Smtp`].
#[derive(Clone, Debug, PartialEq)]
pub struct SmtpWorkload {
    /// Sizes.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// 3 (hello, sender, recipient) and 1 (data) by default: RFC 821, section 3.
    pub handshakes: Handshakes,
}

/// Terminal sessions: see [`Workload::Telnet`].
#[derive(Clone, Debug, PartialEq)]
pub struct TelnetWorkload {
    /// Sizes and times.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// Whether the responder sends back what it receives.
    pub echo: bool,
}

/// One transfer: see [`Workload::Bulk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkWorkload {
    /// How much; without end if absent.
    pub size: Option<Bytes>,
    /// How much the application hands over at a time. It keeps between one and two such writes
    /// beyond what is acknowledged, so it never runs dry while a window is at most one write.
    pub write: Bytes,
}

/// A kind of application with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// The originator logs in and sends files to the responder, one by one.
    Ftp(FtpWorkload),
    /// The originator offers and sends articles to the responder, one by one.
    Nntp(NntpWorkload),
    /// The originator sends one message to the responder.
    Smtp(SmtpWorkload),
    /// The originator sends small packets at its own times; the responder echoes them.
    Telnet(TelnetWorkload),
    /// The originator sends as fast as it may.
    Bulk(BulkWorkload),
}

/// What a setting must not be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A weight that is no probability.
    #[error("spike weight is {weight}; it must be 0 to 1")]
    Weight {
        /// What was given.
        weight: f64,
    },
    /// An amount of nothing.
    #[error("{what} is 0 B; it must be 1 B or more")]
    Empty {
        /// The setting.
        what: &'static str,
    },
    /// More exchanges than any protocol has.
    #[error("{what} is {given} round trips; the limit is {limit}")]
    Handshakes {
        /// The setting.
        what: &'static str,
        /// What was given.
        given: u32,
        /// The limit.
        limit: u32,
    },
    /// A data connection that nothing asks for.
    #[error("a data connection per item needs at least 1 handshake per item, which asks for it")]
    Unannounced,
}

/// The most exchanges in a row, far above any protocol: a typing error, not a workload.
const MOST_HANDSHAKES: u32 = 1000;

impl Workload {
    /// The default settings of a kind, with the shipped tables.
    pub fn new(kind: AppKind) -> Workload {
        let (tables, draw) = (Tables::shipped(), Draw::Tcplib);
        match kind {
            AppKind::Ftp => Workload::Ftp(FtpWorkload {
                tables,
                draw,
                spike: None,
                handshakes: Handshakes { opening: 2, per_item: 1 },
                data_connection: DataConnection::Shared,
            }),
            AppKind::Nntp => {
                Workload::Nntp(NntpWorkload { tables, draw, handshakes: Handshakes { opening: 0, per_item: 1 } })
            }
            AppKind::Smtp => {
                Workload::Smtp(SmtpWorkload { tables, draw, handshakes: Handshakes { opening: 3, per_item: 1 } })
            }
            AppKind::Telnet => Workload::Telnet(TelnetWorkload { tables, draw, echo: true }),
            AppKind::Bulk => Workload::Bulk(BulkWorkload { size: None, write: Bytes(16 << 20) }),
        }
    }

    /// The kind.
    pub fn kind(&self) -> AppKind {
        match self {
            Workload::Ftp(_) => AppKind::Ftp,
            Workload::Nntp(_) => AppKind::Nntp,
            Workload::Smtp(_) => AppKind::Smtp,
            Workload::Telnet(_) => AppKind::Telnet,
            Workload::Bulk(_) => AppKind::Bulk,
        }
    }

    /// Checks that conversations can be made of it.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        match self {
            Workload::Ftp(ftp) => {
                if let Some(Spike { size, weight }) = ftp.spike {
                    if !(0.0..=1.0).contains(&weight) {
                        return Err(WorkloadError::Weight { weight });
                    }
                    filled("spike size", size)?;
                }
                if ftp.data_connection == DataConnection::PerItem && ftp.handshakes.per_item == 0 {
                    return Err(WorkloadError::Unannounced);
                }
                ftp.handshakes.validate()
            }
            Workload::Nntp(nntp) => nntp.handshakes.validate(),
            Workload::Smtp(smtp) => smtp.handshakes.validate(),
            Workload::Telnet(_) => Ok(()),
            Workload::Bulk(bulk) => {
                bulk.size.map_or(Ok(()), |size| filled("size", size))?;
                filled("write", bulk.write)
            }
        }
    }
}

impl Handshakes {
    fn validate(self) -> Result<(), WorkloadError> {
        for (what, given) in [("opening handshakes", self.opening), ("handshakes per item", self.per_item)] {
            if given > MOST_HANDSHAKES {
                return Err(WorkloadError::Handshakes { what, given, limit: MOST_HANDSHAKES });
            }
        }
        Ok(())
    }
}

fn filled(what: &'static str, size: Bytes) -> Result<(), WorkloadError> {
    if size.0 == 0 { Err(WorkloadError::Empty { what }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        for kind in AppKind::ALL {
            let workload = Workload::new(kind);
            assert_eq!(workload.kind(), kind);
            assert_eq!(workload.validate(), Ok(()));
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let ftp = |change: &dyn Fn(&mut FtpWorkload)| {
            let Workload::Ftp(mut ftp) = Workload::new(AppKind::Ftp) else { unreachable!() };
            change(&mut ftp);
            Workload::Ftp(ftp).validate().map_err(|e| e.to_string())
        };
        let spike = |bytes, weight| ftp(&|ftp| ftp.spike = Some(Spike { size: Bytes(bytes), weight }));
        assert_eq!(spike(74, 0.0), Ok(()));
        assert_eq!(spike(74, 1.0), Ok(()));
        assert_eq!(spike(74, 1.5), Err("spike weight is 1.5; it must be 0 to 1".into()));
        assert!(spike(74, f64::NAN).is_err());
        assert_eq!(spike(0, 0.5), Err("spike size is 0 B; it must be 1 B or more".into()));
        assert_eq!(
            ftp(&|ftp| ftp.handshakes.opening = 1001),
            Err("opening handshakes is 1001 round trips; the limit is 1000".into())
        );
        let unannounced = |ftp: &mut FtpWorkload| {
            ftp.data_connection = DataConnection::PerItem;
            ftp.handshakes.per_item = 0;
        };
        assert!(ftp(&unannounced).is_err());
        let bulk = |size, write| Workload::Bulk(BulkWorkload { size, write: Bytes(write) }).validate();
        assert_eq!(bulk(Some(Bytes(0)), 1), Err(WorkloadError::Empty { what: "size" }));
        assert_eq!(bulk(None, 0), Err(WorkloadError::Empty { what: "write" }));
    }
}
