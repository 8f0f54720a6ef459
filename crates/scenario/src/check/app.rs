//! Applications and their options.

use cellway_units::{Bytes, Span};

use crate::check::Check;
use crate::file::{TrafficFile, WorkloadFile};
use crate::found::Found;
use crate::model::{App, AppKind, DataConnection, Draw, Spike, Tables};
use crate::quantity::Quantity;
use crate::tree::at;

/// The most that one transfer may be (bytes): 1 PiB, which no link here carries within the longest run.
const MAX_TRANSFER: u64 = 1 << 50;

/// What ttcp writes at once if nothing else is said.
const TTCP_WRITE: Bytes = Bytes(8192);

/// A request of HTTP/1.0 with the headers of a browser of 1996, about.
const WWW_REQUEST: Bytes = Bytes(300);

impl Check<'_> {
    pub(super) fn app(&mut self, i: usize, group: &TrafficFile) -> Option<App> {
        let kind = group.app?;
        let none = WorkloadFile::default();
        let options = group.workload.as_ref().unwrap_or(&none);
        let before = self.found.len();
        self.only_options_of(i, kind, options);
        let bad = self
            .tree
            .find(&at!["traffic", i, "workload"])
            .and_then(|w| w.table())
            .is_some_and(|workload| workload.entries().iter().any(|e| e.node.value == crate::tree::Value::Bad));
        let tables = Tables { draw: options.draw.unwrap_or(Draw::Tcplib), folder: options.tables.clone() };
        let handshake = options.handshake.unwrap_or(1);
        let write_cost = options.write_cost.map_or(Span::ZERO, |q| q.0);
        let app = match kind {
            AppKind::Ftp => {
                let spike = match &options.spike {
                    Some(spike) => Some(Spike { size: spike.size?.0, weight: spike.weight? }),
                    None => None,
                };
                let data_connection = options.data_connection.unwrap_or(DataConnection::Shared);
                App::Ftp { tables, spike, data_connection, handshake }
            }
            AppKind::Nntp => App::Nntp { tables, handshake },
            AppKind::Smtp => App::Smtp { tables, handshake },
            AppKind::Telnet => App::Telnet { tables, echo: options.echo.unwrap_or(true) },
            AppKind::Bulk => {
                let size = options.size.map(|q| q.0);
                let write = options.write.map(|q| q.0);
                App::Bulk { size, write, write_cost }
            }
            AppKind::Ttcp => {
                let write = options.write.map_or(TTCP_WRITE, |q| q.0);
                let buffers = options.buffers.unwrap_or(2048);
                if write.0.checked_mul(buffers).is_none_or(|size| size > MAX_TRANSFER) {
                    let message = format!("{buffers} writes of {} B are too much", write.0);
                    let accepted = format!("at most {MAX_TRANSFER} B ({} GiB) in all", MAX_TRANSFER >> 30);
                    self.refuse(&at!["traffic", i, "workload", "buffers"], message, accepted);
                }
                App::Ttcp { write, buffers, write_cost }
            }
            AppKind::FtpGet => {
                let size = self.option(i, "size", options.size)?;
                let disk_rate = self.limit(&at!["traffic", i, "workload", "disk-rate"], options.disk_rate)?;
                App::FtpGet { size, disk_rate, handshake }
            }
            AppKind::Www => {
                let sizes = self.sizes(i, options.sizes.as_deref());
                let request = options.request.map_or(WWW_REQUEST, |q| q.0);
                let display_rate = self.limit(&at!["traffic", i, "workload", "display-rate"], options.display_rate);
                App::Www { sizes: sizes?, request, display_rate: display_rate? }
            }
            AppKind::Animation => {
                let frame = self.option(i, "frame", options.frame);
                let rate = self.frames_a_second(i, options.rate);
                let duration = options.duration.map(|q| q.0);
                App::Animation { frame: frame?, rate: rate?, duration }
            }
        };
        (self.found.len() == before && !bad).then_some(app)
    }

    /// A size that the application must have.
    fn option(&mut self, i: usize, key: &str, given: Option<Quantity<Bytes>>) -> Option<Bytes> {
        if given.is_none() {
            self.needs(i, key, "a size, like \"1 MiB\"");
        }
        given.map(|Quantity(size)| size)
    }

    fn sizes(&mut self, i: usize, given: Option<&[Quantity<Bytes>]>) -> Option<Vec<Bytes>> {
        let Some(given) = given else {
            self.needs(i, "sizes", "the sizes of the files, like [\"4 kB\", \"570 kB\"]");
            return None;
        };
        for (k, Quantity(size)) in given.iter().enumerate() {
            let path = at!["traffic", i, "workload", "sizes", k];
            if !(1..=MAX_TRANSFER).contains(&size.0) {
                let accepted = format!("from \"1 B\" to \"{} GiB\", like \"4 kB\"", MAX_TRANSFER >> 30);
                self.refuse_value(&path, "is out of range", accepted);
            }
        }
        Some(given.iter().map(|q| q.0).collect())
    }

    fn frames_a_second(&mut self, i: usize, given: Option<f64>) -> Option<f64> {
        if given.is_none() {
            self.needs(i, "rate", "frames a second, like 50");
        }
        given
    }

    /// Reports an option that is missing, unless it has been refused.
    fn needs(&mut self, i: usize, key: &str, accepted: &str) {
        let path = at!["traffic", i, "workload", key];
        if !self.is_bad(&path) {
            self.refuse(&path, "is missing: this application needs it", accepted);
        }
    }

    fn only_options_of(&mut self, i: usize, kind: AppKind, options: &WorkloadFile) {
        use AppKind::{Animation, Bulk, Ftp, FtpGet, Nntp, Smtp, Telnet, Ttcp, Www};
        let tcplib: &[AppKind] = &[Ftp, Nntp, Smtp, Telnet];
        let given: [(&str, bool, &[AppKind]); 17] = [
            ("draw", options.draw.is_some(), tcplib),
            ("tables", options.tables.is_some(), tcplib),
            ("spike", options.spike.is_some(), &[Ftp]),
            ("data-connection", options.data_connection.is_some(), &[Ftp]),
            ("handshake", options.handshake.is_some(), &[Ftp, Nntp, Smtp, FtpGet]),
            ("echo", options.echo.is_some(), &[Telnet]),
            ("size", options.size.is_some(), &[Bulk, FtpGet]),
            ("write", options.write.is_some(), &[Bulk, Ttcp]),
            ("buffers", options.buffers.is_some(), &[Ttcp]),
            ("write-cost", options.write_cost.is_some(), &[Bulk, Ttcp]),
            ("disk-rate", options.disk_rate.is_some(), &[FtpGet]),
            ("sizes", options.sizes.is_some(), &[Www]),
            ("request", options.request.is_some(), &[Www]),
            ("display-rate", options.display_rate.is_some(), &[Www]),
            ("frame", options.frame.is_some(), &[Animation]),
            ("rate", options.rate.is_some(), &[Animation]),
            ("duration", options.duration.is_some(), &[Animation]),
        ];
        let own: Vec<&str> = given.iter().filter(|(.., apps)| apps.contains(&kind)).map(|(key, ..)| *key).collect();
        for (key, is_given, apps) in &given {
            if *is_given && !apps.contains(&kind) {
                let path = at!["traffic", i, "workload", *key];
                let found = Found::in_tree(self.tree, &path, format!("is not an option of {}", kind.name()));
                self.push(found.accepted(own.join(", ")));
            }
        }
    }
}
