//! Network namespaces, each held by a thread in it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io, thread};

use super::child::{Child, Group};
use super::leftovers::{NAMESPACE, OWNER, hunt};
use super::reenter::INSIDE;
use super::{Leftover, Owner, SysError, ip, listening, overlay, raw, sysctl};

/// The time that programs have to exit when a namespace is dropped.
const GRACE: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce() + Send>;

/// Runs closures and programs in a namespace, from any thread. The namespace exists until the last handle is dropped.
#[derive(Clone, Debug)]
pub struct NamespaceHandle {
    jobs: Sender<Job>,
    about: Arc<About>,
}

/// What a namespace and its handles share.
#[derive(Debug)]
struct About {
    name: String,
    number: u64,
    has_programs: AtomicBool,
}

impl NamespaceHandle {
    /// As [`Namespace::run`].
    ///
    /// # Panics
    /// If `work` does; the namespace survives.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (answer, result) = channel::<Result<T, Box<dyn Any + Send>>>();
        let job: Job = Box::new(move || {
            // The caller waits for it, so the receiver exists.
            let _ = answer.send(catch_unwind(AssertUnwindSafe(work)));
        });
        let sent = self.jobs.send(job).is_ok();
        match result.recv() {
            Ok(Ok(value)) if sent => value,
            Ok(Err(panic)) => resume_unwind(panic),
            _ => unreachable!("the thread of a namespace serves as long as somebody holds a handle"),
        }
    }

    /// As [`Namespace::spawn`].
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, mut command: Command, group: Group) -> Result<Child, SysError> {
        let program = command.get_program().to_string_lossy().into_owned();
        if let Some(owner) = Owner::this() {
            command.env(OWNER, owner.to_string()).env(NAMESPACE, self.about.number.to_string());
        }
        command.env_remove(INSIDE);
        self.about.has_programs.store(true, Ordering::Relaxed);
        // The kernel ties the program to the thread that starts it, which lives as long as the namespace.
        self.run(move || Child::start(command, group)).map_err(|source| SysError::Program {
            namespace: self.about.name.clone(),
            program,
            source,
        })
    }

    /// As [`Namespace::is_listening`].
    #[must_use]
    pub fn is_listening(&self, port: u16) -> bool {
        self.run(move || listening::is_listening(port))
    }
}

/// A network namespace: its own devices, addresses, routes, ports and kernel settings.
///
/// A thread in it executes the operations that must run inside. The namespace has no name in the file system: it ends
/// with the thread, the programs in it and the sockets opened in it. Dropping it ends all programs that were started in
/// it, and those that they started.
#[derive(Debug)]
pub struct Namespace {
    about: Arc<About>,
    /// `None` once it ends.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    refused: Vec<String>,
}

impl Namespace {
    /// Creates an empty namespace: loopback is up, packets are forwarded, and the kernel sends no packets of its own.
    ///
    /// # Errors
    /// Not permitted ([`super::support`] returns the reason), or the kernel refuses a required setting.
    pub fn new(name: &str) -> Result<Self, SysError> {
        let mut this = Self::start(name)?;
        this.run(raw::unshare_network).map_err(|source| SysError::Namespace {
            name: name.into(),
            step: "make a network namespace",
            source,
        })?;
        this.configure("link set dev lo up")?;
        this.refused = sysctl::prepare(&this)?;
        Ok(this)
    }

    /// Returns the namespace of the caller. Nothing in it is changed.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn here() -> Result<Self, SysError> {
        Self::start("here")
    }

    fn start(name: &str) -> Result<Self, SysError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let (jobs, queue): (Sender<Job>, Receiver<Job>) = channel();
        let thread = thread::Builder::new()
            .name(format!("ns-{name}"))
            .spawn(move || queue.into_iter().for_each(|job| job()))
            .map_err(|source| SysError::Namespace { name: name.into(), step: "start its thread", source })?;
        Ok(Self {
            about: Arc::new(About {
                name: name.into(),
                number: NUMBERS.fetch_add(1, Ordering::Relaxed),
                has_programs: AtomicBool::new(false),
            }),
            jobs: Some(jobs),
            thread: Some(thread),
            refused: Vec::new(),
        })
    }

    /// Returns its name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// Returns messages about optional kernel settings that were refused, such as larger TCP buffers.
    #[must_use]
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Runs `work` on the thread of the namespace and waits for it. Sockets that it opens belong to the namespace,
    /// whichever thread uses them.
    ///
    /// # Panics
    /// If `work` does; the namespace survives.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        if self.thread.as_ref().is_some_and(|thread| thread.thread().id() == thread::current().id()) {
            return work();
        }
        self.handle().run(work)
    }

    /// Returns a handle that runs closures in it from other threads.
    ///
    /// # Panics
    /// Never: the thread exists until the namespace is dropped.
    #[must_use]
    pub fn handle(&self) -> NamespaceHandle {
        let jobs = self.jobs.clone().expect("only dropping it takes it away");
        NamespaceHandle { jobs, about: self.about.clone() }
    }

    /// Starts a program in the namespace. The kernel kills it when this process ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: Command, group: Group) -> Result<Child, SysError> {
        self.handle().spawn(command, group)
    }

    /// Passes `lines` to `ip -batch -` in the namespace: one command a line, without the word `ip`.
    ///
    /// # Errors
    /// The line that `ip` refused with its message, or `ip` is missing.
    pub fn configure(&self, lines: &str) -> Result<(), SysError> {
        let owned = lines.to_owned();
        self.run(move || ip::batch(&owned)).map_err(|refusal| match refusal {
            ip::Refusal::Line { line, message } => SysError::Ip { namespace: self.about.name.clone(), line, message },
            ip::Refusal::Start(source) => {
                SysError::Program { namespace: self.about.name.clone(), program: "ip".into(), source }
            }
        })
    }

    /// Replaces files, given as path and content, for programs that are started in this namespace from now on. The
    /// programs get their own mount namespace for this; their mounts are not visible outside. Returns the files that
    /// could not be replaced, with the errors.
    ///
    /// # Errors
    /// The kernel refuses a mount namespace.
    pub fn replace_files(
        &self,
        files: Vec<(&'static str, String)>,
    ) -> Result<Vec<(&'static str, io::Error)>, SysError> {
        let replaced = self.run(move || {
            raw::unshare_mounts()?;
            let failures = files.into_iter().filter_map(|(path, content)| {
                overlay::replace(Path::new(path), content.as_bytes()).err().map(|e| (path, e))
            });
            Ok(failures.collect())
        });
        let step = "make a mount namespace";
        replaced.map_err(|source| SysError::Namespace { name: self.about.name.clone(), step, source })
    }

    /// Sets the kernel setting `key`, as `net/ipv4/tcp_sack`, in the namespace.
    ///
    /// # Errors
    /// There is no such setting, or it is refused.
    pub fn set(&self, key: &str, value: &str) -> Result<(), SysError> {
        let (path, text) = (format!("/proc/sys/{key}"), value.to_owned());
        self.run(move || fs::write(path, text)).map_err(|source| SysError::Sysctl {
            namespace: self.about.name.clone(),
            key: key.into(),
            value: value.into(),
            source,
        })
    }

    /// Reads the kernel setting `key` of the namespace, without the newline.
    ///
    /// # Errors
    /// There is no such setting.
    pub fn get(&self, key: &str) -> io::Result<String> {
        let path = format!("/proc/sys/{key}");
        self.run(move || fs::read_to_string(path)).map(|text| text.trim_end().to_owned())
    }

    /// Returns true if a TCP socket in the namespace listens on `port`, or a UDP socket is bound to it.
    #[must_use]
    pub fn is_listening(&self, port: u16) -> bool {
        self.handle().is_listening(port)
    }

    /// Ends all programs that were started here, and those they started: SIGTERM, and SIGKILL after `grace`. Returns
    /// them. Their [`Child`] values still have the exit status.
    pub fn end_programs(&self, grace: Duration) -> Vec<Leftover> {
        let Some(owner) = Owner::this() else { return Vec::new() };
        if !self.about.has_programs.load(Ordering::Relaxed) {
            return Vec::new();
        }
        hunt(grace, |mark, ended| {
            let ours = mark.owner == owner && mark.namespace == Some(self.about.number);
            // A run inside this run that was killed leaves programs of its own.
            ours || (ended.contains(&mark.owner.pid()) && !mark.owner.exists())
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.end_programs(GRACE);
        // Without a sender the thread ends, and the kernel kills the programs that are tied to it.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
