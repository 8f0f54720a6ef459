//! Status, metrics, signals and the service manager. They run on their own thread, so that no request delays the data
//! thread.

mod format;
mod http;
mod metrics;
mod service;
mod socket;
mod upgrade;

use std::net::SocketAddr;
use std::thread::JoinHandle;

use cellway_units::Span;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::config::{self, Config};
use crate::daemon::Handle;
use crate::error::Error;
use crate::status::Snapshot;

pub(crate) use socket::{ask, request_drain, request_upgrade};
pub(crate) use upgrade::{Next, VERSIONS_COMMAND, versions};

/// The controlled daemon.
pub(crate) trait Controlled: Clone + Send + Sync + 'static {
    /// Returns a snapshot. Blocks for at most 2 s; `None` if the daemon does not answer.
    fn snapshot(&self, connections: bool) -> Option<Snapshot>;
    /// Applies another configuration.
    fn reload(&self, config: Config);
    /// Counts a reload whose file cannot be used.
    fn not_reloaded(&self);
    /// Makes it accept no new connections, and end when none are left, or after `within`.
    fn drain(&self, within: Option<Span>);
    /// Makes it hand over to another program. Blocks, at most 2 s.
    ///
    /// # Errors
    /// The reason for which it is impossible.
    fn hand_over(&self, config: Config) -> Result<(), String>;
    /// Stops it.
    fn stop(&self);
}

impl Controlled for Handle {
    fn snapshot(&self, connections: bool) -> Option<Snapshot> {
        Handle::snapshot(self, connections)
    }
    fn reload(&self, config: Config) {
        Handle::reload(self, config);
    }
    fn not_reloaded(&self) {
        Handle::not_reloaded(self);
    }
    fn drain(&self, within: Option<Span>) {
        Handle::drain(self, within);
    }
    fn hand_over(&self, config: Config) -> Result<(), String> {
        Handle::hand_over(self, config)
    }
    fn stop(&self) {
        Handle::stop(self);
    }
}

/// Takes a snapshot on a thread that may block.
async fn take_snapshot<W: Controlled>(watched: &W, connections: bool) -> Option<Snapshot> {
    let watched = watched.clone();
    tokio::task::spawn_blocking(move || watched.snapshot(connections)).await.ok().flatten()
}

/// The control thread.
#[derive(Debug)]
pub(crate) struct Control {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    metrics: Option<SocketAddr>,
}

impl Control {
    /// Opens the sockets of `config` and starts the thread; signals control `watched` from then on. The file of `next`
    /// is read again at SIGHUP.
    ///
    /// # Errors
    /// A socket cannot be opened, or the thread cannot be started.
    pub(crate) fn start<W: Controlled>(config: &config::Control, next: Next, watched: W) -> Result<Control, Error> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |source| Error::Io { what, source }
        };
        // Threads for what may block receive no signals.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_start(|| cellway_sys::block_stop_signals(true))
            .build();
        let runtime = runtime.map_err(failed("start the control thread"))?;
        let entered = runtime.enter();
        let service =
            service::Service::new(next.file.clone(), config.drain, watched.clone()).map_err(failed("catch signals"))?;
        let http = match config.metrics {
            Some(address) => Some(http::listen(address).map_err(failed(&format!("serve metrics at {address}")))?),
            None => None,
        };
        let socket = match &config.socket {
            Some(path) => {
                Some(socket::StatusSocket::open(path).map_err(failed(&format!("serve status at {}", path.display())))?)
            }
            None => None,
        };
        let metrics = http.as_ref().map(TcpListener::local_addr).transpose().map_err(failed("serve metrics"))?;
        drop(entered);
        let (end, ended) = oneshot::channel();
        let serve = async move {
            let metrics = async {
                match http {
                    Some(listener) => http::serve(listener, watched.clone()).await,
                    None => std::future::pending().await,
                }
            };
            let status = async {
                match socket {
                    Some(socket) => socket.serve(watched.clone(), next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = metrics => {}
                () = status => {}
                () = service.serve() => {}
                _ = ended => {}
            }
        };
        let run = move || {
            // From here on this thread receives signals; `run` blocks them in all other threads.
            cellway_sys::block_stop_signals(false);
            runtime.block_on(serve);
            cellway_sys::block_stop_signals(true);
            // A client may still wait for a snapshot of a daemon that has ended.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(run);
        Ok(Control { end, thread: thread.map_err(failed("start the control thread"))?, metrics })
    }

    /// Returns the address of `/metrics`.
    pub(crate) fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Ends the thread and removes its socket. Signals are blocked until the next one starts.
    pub(crate) fn end(self) {
        let _ = self.end.send(());
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests;
