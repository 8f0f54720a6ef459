//! The system calls without a safe wrapper, each behind a safe function.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::capabilities;

/// Moves the calling thread into a new network namespace.
pub(super) fn unshare_network() -> io::Result<()> {
    // SAFETY: the danger of unshare is a thread that loses sight of descriptors (CLONE_FILES); only
    // the network is unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}

/// Moves the calling thread into a new mount namespace: its mounts are not visible outside, while mounts outside become
/// visible in it.
pub(super) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: unshare is unsafe where a thread loses access to descriptors (CLONE_FILES); these stay shared. This
    // thread gets its own working directory.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let down = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change(c"/", down)?)
}

/// Makes the program die with the thread that starts it, and restricts its capabilities to [`super::capabilities`] of
/// programs. `parent` is the process of that thread.
pub(super) fn tie_to_parent(command: &mut Command, parent: Option<Pid>) {
    let tie = move || {
        capabilities::pass_on_to_program()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the line above.
        if getppid() == parent { Ok(()) } else { Err(io::Error::from(Errno::SRCH)) }
    };
    // SAFETY: between fork and exec, only system calls are made and nothing is allocated.
    unsafe { command.pre_exec(tie) };
}

/// The steps of [`try_to_enter`] and [`enter_and_exec`]; a failure names its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    UserNamespace = 1,
    SetGroups,
    UidMap,
    GidMap,
    Capabilities,
    NetworkNamespace,
    OpenTun,
    MakeTun,
    Tie,
    /// The end of a trial that succeeded.
    All,
}

impl Step {
    const EVERY: [Self; 10] = [
        Self::UserNamespace,
        Self::SetGroups,
        Self::UidMap,
        Self::GidMap,
        Self::Capabilities,
        Self::NetworkNamespace,
        Self::OpenTun,
        Self::MakeTun,
        Self::Tie,
        Self::All,
    ];

    /// A child can report one number between fork and exec: it carries the step and the errno.
    fn failed(self, errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(((self as i32) << 16) | errno.raw_os_error())
    }

    /// Returns the operation, as in "cannot ...".
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "make a user namespace",
            Self::SetGroups => "write /proc/self/setgroups",
            Self::UidMap => "write /proc/self/uid_map",
            Self::GidMap => "write /proc/self/gid_map",
            Self::Capabilities => "keep the capabilities of a user namespace",
            Self::NetworkNamespace => "make a network and a mount namespace inside",
            Self::OpenTun => "open /dev/net/tun",
            Self::MakeTun => "make a TUN device inside",
            Self::Tie => "tie the program to us",
            Self::All => "run the program again",
        }
    }

    /// Returns the step and the underlying error.
    pub(super) fn of(error: &io::Error) -> Option<(Self, io::Error)> {
        let code = error.raw_os_error()?;
        let step = Self::EVERY.into_iter().find(|&step| step as i32 == code >> 16)?;
        Some((step, io::Error::from_raw_os_error(code & 0xffff)))
    }
}

/// Returns the lines that map the current user and group to themselves in a user namespace (`user_namespaces(7)`).
fn maps() -> (CString, CString) {
    let line = |id: u32| CString::new(format!("{id} {id} 1\n")).unwrap_or_default();
    (line(rustix::process::geteuid().as_raw()), line(rustix::process::getegid().as_raw()))
}

fn write_file(path: &std::ffi::CStr, text: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text).map(drop)
}

/// Enters a user namespace with all capabilities in it, as the same user. The process must have a single thread.
fn enter_user(uids: &CString, gids: &CString) -> io::Result<()> {
    // SAFETY: no descriptors are unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(|e| Step::UserNamespace.failed(e))?;
    // Otherwise an unprivileged user may not map a group. Kernels before 3.19 lack the file.
    match write_file(c"/proc/self/setgroups", b"deny") {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(Step::SetGroups.failed(e)),
    }
    write_file(c"/proc/self/uid_map", uids.to_bytes()).map_err(|e| Step::UidMap.failed(e))?;
    write_file(c"/proc/self/gid_map", gids.to_bytes()).map_err(|e| Step::GidMap.failed(e))?;
    capabilities::pass_on_all().map_err(|e| Step::Capabilities.failed(e))
}

fn enter_network() -> io::Result<()> {
    // SAFETY: no descriptors are unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWNS) }.map_err(|e| Step::NetworkNamespace.failed(e))
}

/// Enters a user namespace if `user`, and a network namespace, and makes a TUN device there, in a child that never
/// executes a program. Returns the step at which it ended; nothing of it is left on return.
pub(super) fn try_to_enter(user: bool) -> (Step, io::Error) {
    let (uids, gids) = maps();
    let trial = move || -> io::Result<()> {
        if user {
            enter_user(&uids, &gids)?;
        }
        enter_network()?;
        let tun = rustix::fs::open(c"/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Step::OpenTun.failed(e))?;
        let mut request = InterfaceRequest::new(b"probe", libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR);
        // SAFETY: TUNSETIFF reads and writes the 40 octets of an ifreq.
        if unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } < 0 {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            return Err(Step::MakeTun.failed(Errno::from_raw_os_error(errno)));
        }
        Err(Step::All.failed(Errno::CANCELED))
    };
    let mut command = Command::new("/proc/self/exe");
    // SAFETY: the closure makes system calls only and allocates nothing.
    unsafe { command.pre_exec(trial) };
    match command.spawn() {
        Err(e) => Step::of(&e).unwrap_or((Step::UserNamespace, e)),
        // Not reached: the closure always fails.
        Ok(mut child) => (Step::UserNamespace, child.wait().err().unwrap_or_else(|| io::Error::other("it was run"))),
    }
}

/// Makes `command` start in a new user, network and mount namespace, with all capabilities there, and die with the
/// thread that starts it.
pub(super) fn enter_and_exec(command: &mut Command, parent: Option<Pid>) {
    let (uids, gids) = maps();
    let enter = move || -> io::Result<()> {
        enter_user(&uids, &gids)?;
        enter_network()?;
        // Best effort: this crate does not need it, but `ip netns` run by a user inside does.
        let own = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        if rustix::mount::mount_change(c"/", own).is_ok() {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            let _ = rustix::mount::mount(c"tmpfs", c"/run", c"tmpfs", flags, c"mode=755");
        }
        // After the namespaces: a change of credentials resets it.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| Step::Tie.failed(e))?;
        if getppid() == parent { Ok(()) } else { Err(Step::Tie.failed(Errno::SRCH)) }
    };
    // SAFETY: the closure makes system calls only and allocates nothing.
    unsafe { command.pre_exec(enter) };
}

/// `struct ifreq` with flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

const _: () = assert!(mem::size_of::<InterfaceRequest>() == 40);

impl InterfaceRequest {
    /// Creates a request; `name` is truncated to 15 octets.
    fn new(name: &[u8], flags: libc::c_int) -> Self {
        let mut request = Self { name: [0; libc::IFNAMSIZ], flags: flags as libc::c_short, rest: [0; 22] };
        for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name) {
            *to = *from;
        }
        request
    }
}

/// Returns the last error of the calling thread if `result`, that of a call, is negative.
pub(super) fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the TUN device `name` of the descriptor, with virtio headers and no others.
pub(super) fn tun_attach(tun: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = InterfaceRequest::new(name.as_bytes(), libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR);
    // SAFETY: TUNSETIFF reads and writes the 40 octets of an ifreq.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })
}

/// Sets the octets of the virtio header.
pub(super) fn tun_header(tun: BorrowedFd<'_>, octets: libc::c_int) -> io::Result<()> {
    // SAFETY: TUNSETVNETHDRSZ reads an int.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETVNETHDRSZ, &raw const octets) })
}

/// Sets the offloads that the reader of the device supports (`TUN_F_...`).
pub(super) fn tun_offload(tun: BorrowedFd<'_>, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
}

/// `epoll_pwait2(2)`, available since Linux 5.11: fills the spare capacity of `events`.
pub(super) fn epoll_wait(
    epoll: BorrowedFd<'_>,
    events: &mut Vec<rustix::event::epoll::Event>,
    timeout: Option<&libc::timespec>,
) -> io::Result<()> {
    let room = events.spare_capacity_mut();
    let timeout = timeout.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel writes at most as many events as fit, each with the layout of `struct epoll_event`, as the
    // type has, and reads one timespec or none; no signal mask is given.
    unsafe {
        let found = libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            room.as_mut_ptr(),
            room.len() as libc::c_int,
            timeout,
            std::ptr::null::<libc::sigset_t>(),
            mem::size_of::<u64>(),
        );
        if found < 0 {
            return Err(io::Error::last_os_error());
        }
        events.set_len(events.len() + found as usize);
    }
    Ok(())
}

/// Returns the number of packets dropped at a socket, modulo 2^32: `sk_drops`, the last field of `SO_MEMINFO`.
pub(super) fn socket_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    const FIELDS: usize = libc::SK_MEMINFO_DROPS as usize + 1;
    let mut fields = [0_u32; FIELDS];
    let mut octets = mem::size_of_val(&fields) as libc::socklen_t;
    // SAFETY: the kernel writes at most `octets` octets to `fields`, and their number to `octets`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            fields.as_mut_ptr().cast(),
            &raw mut octets,
        )
    })?;
    Ok(fields[FIELDS - 1])
}

/// A scheduling policy of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    policy: libc::c_int,
    priority: libc::c_int,
}

fn policy() -> io::Result<Policy> {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: thread 0 is the caller; the kernel writes one sched_param.
    let policy = unsafe { libc::sched_getscheduler(0) };
    check(policy)?;
    // SAFETY: as above.
    check(unsafe { libc::sched_getparam(0, &raw mut parameters) })?;
    Ok(Policy { policy, priority: parameters.sched_priority })
}

/// Sets the policy of the calling thread.
pub(super) fn set_policy(policy: &Policy) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: policy.priority };
    // SAFETY: thread 0 is the caller; the kernel reads one sched_param.
    check(unsafe { libc::sched_setscheduler(0, policy.policy, &raw const parameters) })
}

/// Makes the calling thread a real-time one. Returns its earlier policy. Its children have the ordinary policy.
pub(super) fn real_time(priority: libc::c_int) -> io::Result<Policy> {
    let before = policy()?;
    set_policy(&Policy { policy: libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority })?;
    Ok(before)
}

/// Sets `SCHED_DEADLINE` for the calling thread, with `runtime` of each `period`, in nanoseconds, and returns its
/// earlier policy. Its children have the ordinary policy.
pub(super) fn deadline(runtime: u64, period: u64) -> io::Result<Policy> {
    let before = policy()?;
    let attributes = libc::sched_attr {
        size: mem::size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: runtime,
        sched_deadline: period,
        sched_period: period,
    };
    // SAFETY: thread 0 is the caller; the kernel reads `size` octets. There is no wrapper in libc.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(before) }
}

/// Returns the policy of the calling thread, by its number in `sched(7)`.
#[cfg(test)]
pub(super) fn policy_number() -> libc::c_int {
    policy().map_or(-1, |now| now.policy & !libc::SCHED_RESET_ON_FORK)
}

/// Runs `work` while `signal` is blocked in the calling thread.
pub(super) fn holding_back<T>(signal: Signal, work: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are made by sigemptyset before they are read; only this thread's mask changes.
    let before = unsafe {
        let (mut set, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigemptyset(&raw mut set);
        libc::sigemptyset(&raw mut before);
        libc::sigaddset(&raw mut set, signal.as_raw());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        before
    };
    let result = work();
    // SAFETY: `before` is the mask that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    result
}

/// The disposition of a signal, to be restored.
pub(super) type Action = libc::sigaction;

/// The type of the handler that [`install`] sets: signal, and its origin.
pub(super) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Sets `handler` for `signal` unless it is ignored, as under `nohup`. Returns the earlier disposition if it was set.
///
/// # Safety
/// `handler` runs at any instant on any thread: it may do only what signal-safety(7) allows, and must not unwind.
pub(super) unsafe fn install(signal: Signal, handler: Handler) -> io::Result<Option<Action>> {
    // SAFETY: a zeroed sigaction is a valid one, and the kernel fills `before`. The caller guarantees the requirements
    // of the handler.
    unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        check(libc::sigaction(signal.as_raw(), std::ptr::null(), &raw mut before))?;
        if before.sa_sigaction == libc::SIG_IGN {
            return Ok(None);
        }
        let mut new: libc::sigaction = mem::zeroed();
        new.sa_sigaction = handler as libc::sighandler_t;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&raw mut new.sa_mask);
        check(libc::sigaction(signal.as_raw(), &raw const new, std::ptr::null_mut()))?;
        Ok(Some(before))
    }
}

/// Restores the disposition that [`install`] returned.
///
/// # Safety
/// `before` is the result of [`install`] for the same signal: another handler might not be a function, or not be made
/// for signals.
pub(super) unsafe fn restore(signal: Signal, before: &Action) {
    // SAFETY: the caller has `before` from the kernel.
    let _ = unsafe { libc::sigaction(signal.as_raw(), before, std::ptr::null_mut()) };
}

/// Blocks signals in the calling thread, or unblocks them.
pub(super) fn set_blocked(signals: &[Signal], blocked: bool) {
    let how = if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: the set is initialised before it is used; the call cannot fail for a valid set and these two operations.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, signal.as_raw());
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Returns true if the terminal or the kernel sent the signal, not a process.
///
/// # Safety
/// `info` is the argument of a handler with SA_SIGINFO that has not returned: it is read.
pub(super) unsafe fn from_kernel(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the kernel passes a valid siginfo_t or none to such a handler.
    unsafe { info.as_ref() }.is_some_and(|info| info.si_code > 0)
}

/// Adds one to an event descriptor, in a handler; errno does not change.
///
/// # Safety
/// `event` is the number of an open event descriptor, and remains so until this returns: eight octets are written to
/// the file with that number (I/O safety).
pub(super) unsafe fn wake(event: libc::c_int) {
    let one = 1_u64;
    // SAFETY: write(2) may be called in a handler; errno is this thread's own. The caller guarantees the number.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(event, (&raw const one).cast(), mem::size_of::<u64>());
        *libc::__errno_location() = errno;
    }
}
