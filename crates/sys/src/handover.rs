//! Data and descriptors that a process hands to the program that replaces it (execve(2)): the process stays the same, with its
//! sockets and devices.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

/// The environment variable with the numbers of two descriptors: of the data, and of the list of the others.
const VARIABLE: &str = "CELLWAY_HANDOVER";
/// The seals of both files. They show that the numbers in the variable are of such files.
const SEALS: SealFlags = SealFlags::GROW.union(SealFlags::SHRINK).union(SealFlags::WRITE);

/// The data and descriptors of one handover. Dropping it closes the descriptors.
#[derive(Debug)]
pub struct Parcel {
    data: File,
    /// Numbers of the descriptors, written when the next program is executed.
    list: File,
    fds: Vec<Option<OwnedFd>>,
}

fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?))
}

impl Parcel {
    /// Creates a parcel without data and descriptors.
    ///
    /// # Errors
    /// There is no memory or no descriptor left.
    pub fn new() -> io::Result<Parcel> {
        Ok(Parcel { data: memory("handover")?, list: memory("handover-list")?, fds: Vec::new() })
    }
    /// Returns the data, which the process that hands over writes, and the next program reads from the beginning.
    pub fn data(&mut self) -> &mut File {
        &mut self.data
    }
    /// Adds a descriptor. Returns its index, with which the next program takes it.
    pub fn add(&mut self, fd: impl Into<OwnedFd>) -> u32 {
        self.fds.push(Some(fd.into()));
        self.fds.len() as u32 - 1
    }
    /// Takes the descriptor at an index.
    ///
    /// # Errors
    /// There is none, or it was taken.
    pub fn take(&mut self, place: u32) -> io::Result<OwnedFd> {
        let fd = self.fds.get_mut(place as usize).and_then(Option::take);
        fd.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no descriptor at place {place}")))
    }
    /// Seeks to the beginning of the data, to read it.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.data.seek(SeekFrom::Start(0)).map(drop)
    }

    /// Replaces this process by `program`, which receives the parcel. Returns only if that fails, with the error: then the data
    /// can be read as before and not written, other programs do not inherit the parcel, and another attempt needs another one.
    /// The signal SIGPIPE is ignored then, as at the start of a Rust program.
    pub fn exec(&mut self, program: &Path, arguments: &[OsString]) -> io::Error {
        match self.try_exec(program, arguments) {
            Ok(never) => match never {},
            Err(error) => {
                self.inherit(FdFlags::CLOEXEC);
                // The standard library has reset it to its default, for the next program. SAFETY: ignoring a signal has
                // no requirements.
                unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
                error
            }
        }
    }
    fn try_exec(&mut self, program: &Path, arguments: &[OsString]) -> io::Result<std::convert::Infallible> {
        self.rewind()?;
        for fd in &self.fds {
            self.list.write_all(&fd.as_ref().map_or(-1, AsRawFd::as_raw_fd).to_ne_bytes())?;
        }
        self.list.seek(SeekFrom::Start(0))?;
        for file in [&self.data, &self.list] {
            fcntl_add_seals(file, SEALS)?;
        }
        self.inherit(FdFlags::empty());
        let numbers = format!("{} {}", self.data.as_raw_fd(), self.list.as_raw_fd());
        Err(Command::new(program).args(arguments).env(VARIABLE, numbers).exec())
    }
    /// Sets the flags of all descriptors. Closed ones are errors of the caller, which the kernel reports at their use.
    fn inherit(&self, flags: FdFlags) {
        let fds = self.fds.iter().flatten().map(AsFd::as_fd);
        for fd in fds.chain([self.data.as_fd(), self.list.as_fd()]) {
            let _ = fcntl_setfd(fd, flags);
        }
    }

    /// Returns the parcel that the previous program has handed to this process; `None` if there is none, or if it was
    /// returned before.
    ///
    /// # Errors
    /// The environment variable is set, but not by [`Parcel::exec`].
    pub fn received() -> io::Result<Option<Parcel>> {
        static RETURNED: AtomicBool = AtomicBool::new(false);
        if RETURNED.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("{VARIABLE} is not of a handover"));
        let Some(numbers) = std::env::var_os(VARIABLE) else { return Ok(None) };
        let numbers = numbers.to_str().and_then(|text| text.split_once(' ')).ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<RawFd>().ok().filter(|&fd| fd > 2).ok_or_else(wrong);
        let open = |fd: RawFd| {
            // SAFETY: nothing else in this process has these descriptors, as they were open when it began; one that is
            // not such a file is forgotten below, unused.
            let file = unsafe { File::from_raw_fd(fd) };
            match fcntl_get_seals(&file) {
                Ok(seals) if seals.contains(SEALS) => Ok(file),
                _ => {
                    // It may belong to the environment of this process.
                    std::mem::forget(file);
                    Err(wrong())
                }
            }
        };
        let (data, mut list) = (open(number(numbers.0)?)?, open(number(numbers.1)?)?);
        let mut octets = Vec::new();
        list.read_to_end(&mut octets)?;
        let (fds, []) = octets.as_chunks::<{ size_of::<RawFd>() }>() else { return Err(wrong()) };
        let fds = fds.iter().map(|fd| RawFd::from_ne_bytes(*fd));
        // SAFETY: the previous program has left these open for this one, as the sealed list shows; nothing else in this
        // process has them, and they are taken once.
        let fds = fds.map(|fd| (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })).collect();
        let parcel = Parcel { data, list, fds };
        parcel.inherit(FdFlags::CLOEXEC);
        Ok(Some(parcel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that the next program writes to. It is set in the process that becomes that program.
    const FILE: &str = "CELLWAY_HANDOVER_TEST";
    const NAME: &str = "handover::tests::the_next_program_has_data_and_descriptors";

    /// Becomes the next program, with a descriptor of the file at `path`.
    fn hand_over(path: &Path) -> ! {
        let mut first = Parcel::new().unwrap();
        assert_eq!(first.add(File::options().write(true).open(path).unwrap()), 0);
        let error = first.exec(Path::new("/not/there"), &[]);
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // It is an error, and does not end the process.
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!({ writer }.write(&[0]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        // Its descriptors can be handed over in another parcel.
        let mut parcel = Parcel::new().unwrap();
        parcel.data().write_all(b"what is handed over").unwrap();
        let other = parcel.add(tempfile::tempfile().unwrap());
        assert_eq!((other, parcel.add(first.take(0).unwrap())), (0, 1));
        let program = std::env::current_exe().unwrap();
        panic!("{}", parcel.exec(&program, &["--exact", NAME].map(OsString::from)));
    }

    #[test]
    fn the_next_program_has_data_and_descriptors() {
        let Some(path) = std::env::var_os(FILE) else {
            let file = tempfile::NamedTempFile::new().unwrap();
            let program = std::env::current_exe().unwrap();
            let ended = Command::new(program).args(["--exact", NAME]).env(FILE, file.path()).output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
            return assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "the next program was here");
        };
        let Some(mut parcel) = Parcel::received().unwrap() else { hand_over(Path::new(&path)) };
        let mut text = String::new();
        parcel.data().read_to_string(&mut text).unwrap();
        assert_eq!(text, "what is handed over");
        let mut file = File::from(parcel.take(1).unwrap());
        assert!(parcel.take(1).is_err() && parcel.take(2).is_err());
        file.write_all(b"the next program was here").unwrap();
    }
}
