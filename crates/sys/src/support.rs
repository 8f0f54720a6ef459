//! Checks for namespaces and TUN devices, with a remedy for each obstacle.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;

use super::find_program;
use super::raw::{Step, try_to_enter};

/// The way in which an emulation can run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// With the privileges of this process.
    Direct,
    /// In a user namespace, which [`super::reenter`] enters.
    UserNamespace,
    /// Not at all, because of these obstacles.
    Missing(Vec<Obstacle>),
}

/// An obstacle and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// `ip` is missing.
    #[error("the program `ip` is missing: install the package iproute2")]
    NoIp,
    /// The device node is missing.
    #[error(
        "/dev/net/tun is missing: `modprobe tun`, or in a container pass it on, as `docker run --device /dev/net/tun`"
    )]
    NoTun,
    /// The device node has no driver.
    #[error("/dev/net/tun is there, but the kernel has no TUN driver: `modprobe tun`, or a kernel with CONFIG_TUN")]
    NoTunDriver,
    /// The device node is not accessible.
    #[error("/dev/net/tun cannot be opened ({0}): `chmod 666 /dev/net/tun` as root, or run as root")]
    TunNotOpenable(String),
    /// The driver makes no device.
    #[error("the kernel makes no TUN device in a network namespace: {0}")]
    NoTunDevice(String),
    /// Compiled without them.
    #[error("the kernel has no user namespaces (CONFIG_USER_NS): run as root")]
    NoUserNamespaces,
    /// Compiled without them.
    #[error("the kernel has no network namespaces (CONFIG_NET_NS)")]
    NoNetworkNamespaces,
    /// A setting of Debian and others.
    #[error(
        "user namespaces are for root only here: `sysctl kernel.unprivileged_userns_clone=1` as root, or run as root"
    )]
    UnprivilegedClone,
    /// A setting of Ubuntu.
    #[error(
        "AppArmor keeps user namespaces without rights: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` \
         as root, or run as root"
    )]
    AppArmor,
    /// None are allowed.
    #[error("no user namespace is allowed: `sysctl user.max_user_namespaces=10000` as root, or run as root")]
    NoUserNamespacesAllowed,
    /// None are allowed.
    #[error("no network namespace is allowed: `sysctl user.max_net_namespaces=10000` as root")]
    NoNetworkNamespacesAllowed,
    /// A container's mount.
    #[error("/proc/sys is read-only, as in most containers: `docker run --privileged`, or outside of the container")]
    ReadOnlySettings,
    /// A container's filter.
    #[error(
        "a seccomp filter forbids namespaces, as in most containers: `docker run --privileged`, or outside of the \
         container"
    )]
    Seccomp,
    /// Anything else.
    #[error("namespaces are not permitted (cannot {0}): CAP_SYS_ADMIN and CAP_NET_ADMIN are needed, which root has")]
    NotPermitted(String),
}

/// Tries the requirements of an emulation in a child that leaves no trace.
#[must_use]
pub fn support() -> Support {
    let mut missing = Vec::new();
    if find_program("ip").is_none() {
        missing.push(Obstacle::NoIp);
    }
    missing.extend(tun_obstacle(Path::new("/dev/net/tun")));
    if statvfs("/proc/sys").is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        missing.push(Obstacle::ReadOnlySettings);
    }
    let (step, error) = try_to_enter(false);
    let found = if step == Step::All {
        Support::Direct
    } else if step != Step::NetworkNamespace || !not_permitted(&error) {
        // This process may make namespaces: a user namespace would not help.
        missing.extend(obstacle(step, &error, &Kernel::here()));
        Support::Direct
    } else {
        let (step, error) = try_to_enter(true);
        if step != Step::All {
            missing.extend(obstacle(step, &error, &Kernel::here()));
        }
        Support::UserNamespace
    };
    missing.dedup();
    if missing.is_empty() { found } else { Support::Missing(missing) }
}

fn not_permitted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn tun_obstacle(path: &Path) -> Option<Obstacle> {
    let error = File::options().read(true).write(true).open(path).err()?;
    Some(match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR) => Obstacle::NoTun,
        Some(Errno::NODEV | Errno::NXIO) => Obstacle::NoTunDriver,
        _ => Obstacle::TunNotOpenable(error.to_string()),
    })
}

/// The properties of the kernel that explain a refusal.
#[derive(Debug, Clone, Copy, Default)]
struct Kernel {
    clone_refused: bool,
    apparmor: bool,
    no_user: bool,
    no_network: bool,
    filtered: bool,
}

impl Kernel {
    fn here() -> Self {
        let is = |key: &str, value: &str| {
            fs::read_to_string(format!("/proc/sys/{key}")).is_ok_and(|text| text.trim() == value)
        };
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let filter = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
        Self {
            clone_refused: is("kernel/unprivileged_userns_clone", "0"),
            apparmor: is("kernel/apparmor_restrict_unprivileged_userns", "1"),
            no_user: is("user/max_user_namespaces", "0"),
            no_network: is("user/max_net_namespaces", "0"),
            filtered: filter.is_some_and(|mode| mode != "0"),
        }
    }
}

/// Returns the reason for which `step` ended with `error`; `None` if [`tun_obstacle`] has reported it.
fn obstacle(step: Step, error: &io::Error, kernel: &Kernel) -> Option<Obstacle> {
    let errno = Errno::from_io_error(error);
    Some(match (step, errno) {
        (Step::OpenTun, _) => return None,
        (Step::MakeTun, _) => Obstacle::NoTunDevice(error.to_string()),
        (Step::UserNamespace, Some(Errno::INVAL | Errno::NOSYS)) => Obstacle::NoUserNamespaces,
        (Step::NetworkNamespace, Some(Errno::INVAL | Errno::NOSYS)) => Obstacle::NoNetworkNamespaces,
        (Step::NetworkNamespace, Some(Errno::NOSPC | Errno::USERS)) if kernel.no_network => {
            Obstacle::NoNetworkNamespacesAllowed
        }
        (Step::UserNamespace, Some(Errno::NOSPC | Errno::USERS)) if kernel.no_user => Obstacle::NoUserNamespacesAllowed,
        (Step::UserNamespace, Some(Errno::PERM | Errno::ACCESS)) if kernel.clone_refused => Obstacle::UnprivilegedClone,
        // The namespace is made, but its root has no privileges in it.
        (_, Some(Errno::PERM | Errno::ACCESS)) if kernel.apparmor => Obstacle::AppArmor,
        (_, Some(Errno::PERM | Errno::ACCESS)) if kernel.filtered => Obstacle::Seccomp,
        _ => Obstacle::NotPermitted(format!("{}: {error}", step.name())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn because(step: Step, errno: Errno, kernel: Kernel) -> Option<Obstacle> {
        obstacle(step, &io::Error::from(errno), &kernel)
    }

    #[test]
    fn each_refusal_has_its_name() {
        let plain = Kernel::default();
        let user = Step::UserNamespace;
        assert_eq!(because(user, Errno::INVAL, plain), Some(Obstacle::NoUserNamespaces));
        let none = Kernel { no_user: true, ..plain };
        assert_eq!(because(user, Errno::NOSPC, none), Some(Obstacle::NoUserNamespacesAllowed));
        let debian = Kernel { clone_refused: true, filtered: true, ..plain };
        assert_eq!(because(user, Errno::PERM, debian), Some(Obstacle::UnprivilegedClone));
        let ubuntu = Kernel { apparmor: true, ..plain };
        for step in [user, Step::UidMap, Step::NetworkNamespace] {
            assert_eq!(because(step, Errno::PERM, ubuntu), Some(Obstacle::AppArmor));
        }
        let container = Kernel { filtered: true, ..plain };
        assert_eq!(because(user, Errno::PERM, container), Some(Obstacle::Seccomp));
        assert!(matches!(because(user, Errno::PERM, plain), Some(Obstacle::NotPermitted(_))));
        assert!(matches!(because(Step::MakeTun, Errno::PERM, plain), Some(Obstacle::NoTunDevice(_))));
        assert_eq!(because(Step::OpenTun, Errno::NOENT, plain), None);
    }

    #[test]
    fn an_invalid_device_node_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tun_obstacle(&folder.path().join("tun")), Some(Obstacle::NoTun));
        assert!(matches!(tun_obstacle(folder.path()), Some(Obstacle::TunNotOpenable(_))));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(tun_obstacle(&file), None);
    }

    #[test]
    fn a_failure_carries_its_step() {
        // try_to_enter either names the step that fails here, or completes all steps.
        let (step, error) = try_to_enter(false);
        assert!(step == Step::All || error.raw_os_error().is_some());
        assert_eq!(step == Step::All, Errno::from_io_error(&error) == Some(Errno::CANCELED));
    }
}
