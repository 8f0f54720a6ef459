//! Applications and their options.

use cellway_spec::{PageSpec, SHORT_REQUEST, TTCP_WRITE, WWW_REQUEST};

use crate::check::Check;
use crate::file::{TrafficFile, WorkloadFile};
use crate::model::{App, AppKind, Spike, Tables};
use crate::quantity::AppName;
use crate::tree::at;

/// The most that one transfer may be (bytes): 1 PiB, which no link here carries within the longest run.
pub(crate) const MAX_TRANSFER: u64 = 1 << 50;

impl Check<'_> {
    pub(super) fn app(&mut self, i: usize, group: &TrafficFile) -> Option<App> {
        let name = group.app.clone()??;
        let kind = name.kind();
        let options = group.workload.clone()?.unwrap_or_default();
        let WorkloadFile { handshake, write_cost, data_connection, .. } = options;
        let before = self.found.len();
        self.only_options_of(i, kind);
        let tables = || Some(Tables { draw: options.draw?, folder: options.tables.clone()? });
        let app = match kind {
            AppKind::Ftp => {
                let spike = match options.spike.as_ref()? {
                    Some(spike) => Some(Spike { size: spike.size?, weight: spike.weight? }),
                    None => None,
                };
                App::Ftp { tables: tables()?, spike, data_connection: data_connection?, handshake: handshake? }
            }
            AppKind::Nntp => App::Nntp { tables: tables()?, handshake: handshake? },
            AppKind::Smtp => App::Smtp { tables: tables()?, handshake: handshake? },
            AppKind::Telnet => App::Telnet { tables: tables()?, echo: options.echo? },
            AppKind::Bulk => App::Bulk { size: options.size?, write: options.write?, write_cost: write_cost? },
            AppKind::Ttcp => {
                let (write, buffers) = (options.write?.unwrap_or(TTCP_WRITE), options.buffers?);
                if write.0.checked_mul(buffers).is_none_or(|size| size > MAX_TRANSFER) {
                    let message = format!("{buffers} writes of {} B are too much", write.0);
                    let accepted = format!("at most {MAX_TRANSFER} B ({} GiB) in all", MAX_TRANSFER >> 30);
                    self.refuse(&at!["traffic", i, "workload", "buffers"], message, accepted);
                }
                App::Ttcp { write, buffers, write_cost: write_cost? }
            }
            AppKind::FtpGet => {
                let size = self.needed_option(i, "size", options.size, "a size, like \"1 MiB\"")?;
                App::FtpGet { size, disk_rate: options.disk_rate?, handshake: handshake? }
            }
            AppKind::Www => {
                let accepted = "the sizes of the files, like [\"4 kB\", \"570 kB\"]";
                let sizes = self.needed_option(i, "sizes", options.sizes, accepted)?;
                let request = options.request?.unwrap_or(WWW_REQUEST);
                App::Www { sizes, request, display_rate: options.display_rate? }
            }
            AppKind::Animation => {
                let frame = self.needed_option(i, "frame", options.frame, "a size, like \"1 MiB\"");
                let rate = self.needed_option(i, "rate", options.rate, "frames a second, like 50");
                App::Animation { frame: frame?, rate: rate?, duration: options.duration? }
            }
            AppKind::RequestResponse => {
                let request = options.request?.unwrap_or(SHORT_REQUEST);
                let (response, think, duration) = (options.response?, options.think?, options.duration?);
                App::RequestResponse { request, response, think, duration }
            }
            AppKind::Page => App::Page(self.page(i, options)?),
            AppKind::Workload => match &name {
                AppName::Class(class) => App::Workload(self.measured(i, class, &options)?),
                // No file has this name alone.
                AppName::Kind(_) => return None,
            },
            AppKind::Flows => {
                let accepted = "flows = { interval = \"100 ms\", sizes = \"web-search\" }, with your values";
                self.refuse(&at!["traffic", i, "flows"], "is missing: app = \"flows\" needs it", accepted);
                return None;
            }
        };
        (self.found.len() == before).then_some(app)
    }

    /// Returns an option that the application must have.
    fn needed_option<T>(&mut self, i: usize, key: &str, given: Option<Option<T>>, accepted: &str) -> Option<T> {
        self.needed(&at!["traffic", i, "workload"], key, given, "this application needs", accepted)
    }

    fn page(&mut self, i: usize, options: WorkloadFile) -> Option<PageSpec> {
        let html = self.needed_option(i, "html", options.html, "the size of the document, like \"30 kB\"");
        let accepted = "objects = { count = 30, sizes = \"fixed\", size = \"20 kB\" }, with your values";
        let objects = self.needed_option(i, "objects", options.objects, accepted)?;
        let path = at!["traffic", i, "workload", "objects"];
        let sizes = self.sizes(&path, "these objects need", &objects.sizes);
        let request = options.request?.unwrap_or(PageSpec::REQUEST);
        let (connections, think) = (options.connections?, options.think?);
        Some(PageSpec { html: html?, objects: objects.count?, sizes: sizes?, connections, request, think })
    }

    fn only_options_of(&mut self, i: usize, kind: AppKind) {
        use AppKind::{Animation, Bulk, Ftp, FtpGet, Nntp, Page, RequestResponse, Smtp, Telnet, Ttcp, Workload, Www};
        let tcplib: &[AppKind] = &[Ftp, Nntp, Smtp, Telnet];
        let options: [(&str, &[AppKind]); 29] = [
            ("draw", tcplib),
            ("tables", tcplib),
            ("spike", &[Ftp]),
            ("data-connection", &[Ftp]),
            ("handshake", &[Ftp, Nntp, Smtp, FtpGet]),
            ("echo", &[Telnet]),
            ("size", &[Bulk, FtpGet]),
            ("write", &[Bulk, Ttcp]),
            ("buffers", &[Ttcp]),
            ("write-cost", &[Bulk, Ttcp]),
            ("disk-rate", &[FtpGet]),
            ("sizes", &[Www]),
            ("request", &[Www, RequestResponse, Page]),
            ("response", &[RequestResponse]),
            ("think", &[RequestResponse, Page]),
            ("html", &[Page]),
            ("objects", &[Page]),
            ("connections", &[Page]),
            ("display-rate", &[Www]),
            ("frame", &[Animation]),
            ("rate", &[Animation]),
            ("duration", &[Animation, RequestResponse, Workload]),
            ("arrivals", &[Workload]),
            ("scale", &[Workload]),
            ("load", &[Workload]),
            ("conversations", &[Workload]),
            ("limit", &[Workload]),
            ("gap", &[Workload]),
            ("fits", &[Workload]),
        ];
        let message = format!("is not an option of {}", kind.name());
        self.only_keys_of(&at!["traffic", i, "workload"], &message, kind, &options);
    }
}
