//! Files that the programs of a namespace read instead of the machine's, in their own mount namespace, as with `ip
//! netns exec` (`ip-netns(8)`).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mount::mount_bind;

/// Mounts `content` over the file `path` in the mount namespace of this thread. Leaves no temporary file behind.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let (name, mut file) = temporary()?;
    // Readable for all users, whatever the umask.
    let mounted = file
        .write_all(content)
        .and_then(|()| file.set_permissions(Permissions::from_mode(0o644)))
        .and_then(|()| mount_bind(&name, path).map_err(io::Error::from));
    // The mount keeps the content after the file is removed.
    let removed = fs::remove_file(&name);
    mounted.and(removed)
}

/// Creates a file with an unused name.
fn temporary() -> io::Result<(PathBuf, File)> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let name = std::env::temp_dir().join(format!(".cellway-{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (name, file)),
        }
    }
}
