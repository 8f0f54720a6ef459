//! What people look at and how they steer: status, metrics, signals, the service manager. All of it on
//! a thread of its own, so that nobody who looks can hold up a byte.

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

pub(crate) use socket::{ask, ask_to_drain, ask_to_upgrade};
pub(crate) use upgrade::{Next, QUESTION, versions};

/// What is steered and looked at.
pub(crate) trait Watched: Clone + Send + Sync + 'static {
    /// A picture of it; blocks, at most 2 s. None: it does not answer.
    fn snapshot(&self, connections: bool) -> Option<Snapshot>;
    /// Gives it another configuration.
    fn reload(&self, config: Config);
    /// It was to get one, whose file cannot be used.
    fn not_reloaded(&self);
    /// Makes it take no new connections, and end when none are left, or after `within`.
    fn drain(&self, within: Option<Span>);
    /// Makes it hand over to another program. Blocks, at most 2 s.
    ///
    /// # Errors
    /// The reason for which it does not.
    fn hand_over(&self, config: Config) -> Result<(), String>;
    /// Ends it.
    fn stop(&self);
}

impl Watched for Handle {
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

/// A snapshot, taken where it may block.
async fn look<W: Watched>(watched: &W, connections: bool) -> Option<Snapshot> {
    let watched = watched.clone();
    tokio::task::spawn_blocking(move || watched.snapshot(connections)).await.ok().flatten()
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Control {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    metrics: Option<SocketAddr>,
}

impl Control {
    /// Opens what `config` names and starts; from here on signals are for `watched`. The file of `next` is read again at
    /// SIGHUP.
    ///
    /// # Errors
    /// A socket cannot be opened, or the thread not be started.
    pub(crate) fn start<W: Watched>(config: &config::Control, next: Next, watched: W) -> Result<Control, Error> {
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
            // From here on they are caught; `run` blocks them in all other threads.
            cellway_sys::block_stop_signals(false);
            runtime.block_on(serve);
            cellway_sys::block_stop_signals(true);
            // Somebody may still wait for a picture of a daemon that has gone.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(run);
        Ok(Control { end, thread: thread.map_err(failed("start the control thread"))?, metrics })
    }

    /// Where metrics are served.
    pub(crate) fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Ends it; its socket is removed. Signals wait for the next one.
    pub(crate) fn end(self) {
        let _ = self.end.send(());
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests;
