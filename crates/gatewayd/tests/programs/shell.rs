//! ssh: characters that are typed one by one next to a transfer that fills the link.

use std::fs;
use std::io::{Read, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cellway_sys::{Child, Group};
use rustix::event::PollFlags;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::{curl, ended, file, finish, is_whole, serve_files, serving};
use crate::common::tcp::{PATIENCE, octet, ready};
use crate::common::world::{Version, World};
use crate::{MEGA, VERSIONS, can, common, server};

const PORT: u16 = 22;
const LINES: u64 = 4;
/// Characters per line.
const WIDTH: u64 = 20;
/// The time between one echo and the next character.
const PAUSE: Duration = Duration::from_millis(10);

/// An `sshd` at the server that accepts one key, with the files of its clients in a folder.
#[derive(Debug)]
struct Sshd {
    folder: TempDir,
    _daemon: Child,
}

impl Sshd {
    fn start(world: &World) -> Sshd {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(name));
            let finished = finish(&world.server, keygen);
            assert_eq!(finished.code, Some(0), "ssh-keygen: {}", finished.complained);
        }
        let host = fs::read_to_string(at("host.pub")).unwrap();
        fs::write(at("known"), format!("server {host}")).unwrap();
        let mut config = format!("Port {PORT}\nListenAddress 0.0.0.0\nListenAddress ::\nPidFile none\n");
        config += &format!("HostKey {}\n", at("host").display());
        config += &format!("AuthorizedKeysFile {}\n", at("user.pub").display());
        // The folder is in one that is writable for all.
        config += "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\n";
        fs::write(at("config"), config).unwrap();
        // Debian's sshd needs a folder that only its service makes.
        let script = "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec \"$0\" -D -e -f \"$1\" 2>\"$2\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(common::find("sshd").unwrap());
        command.arg(at("config")).arg(at("log")).stdin(Stdio::null());
        let daemon = serving(&world.server, command, (server(Version::V4), PORT).into());
        Sshd { folder, _daemon: daemon }
    }

    /// Starts a session in which a terminal and `cat` answer.
    fn session(&self, world: &World, version: Version) -> Child {
        let at = |name: &str| self.folder.path().join(name);
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-tt", "-l", "root", "-p", &PORT.to_string(), "-i"]).arg(at("user"));
        ssh.arg("-o").arg(format!("UserKnownHostsFile={}", at("known").display()));
        for option in [
            "GlobalKnownHostsFile=/dev/null",
            "HostKeyAlias=server",
            "StrictHostKeyChecking=yes",
            "IdentitiesOnly=yes",
            "BatchMode=yes",
            "ConnectTimeout=20",
            // Newer clients send keys every 20 ms only; then the time of an echo has no meaning.
            "IgnoreUnknown=ObscureKeystrokeTiming",
            "ObscureKeystrokeTiming=no",
        ] {
            ssh.args(["-o", option]);
        }
        ssh.arg(server(version).to_string()).arg("cat");
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        world.client.spawn(ssh, Group::Own).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// Checks that the screen shows `text` next; the error has the text that it shows instead.
fn shows(screen: &mut ChildStdout, text: &str) -> Result<(), String> {
    let mut got = Vec::new();
    while got.len() < text.len() && ready(screen, PollFlags::IN, PATIENCE) {
        let mut piece = vec![0; text.len() - got.len()];
        match screen.read(&mut piece).map_err(|error| error.to_string())? {
            0 => break,
            count => got.extend_from_slice(&piece[..count]),
        }
    }
    if got == text.as_bytes() {
        return Ok(());
    }
    Err(format!("the screen shows {:?} and not {text:?}", String::from_utf8_lossy(&got)))
}

/// Types [`LINES`] random lines, waits for each character's echo, and ends the session. Returns the time of each echo.
/// The far terminal echoes each character, and `cat` each complete line.
fn typing(ssh: &mut Child, seed: u64) -> Result<Vec<Duration>, String> {
    let mut keys = ssh.take_stdin().unwrap();
    let mut screen = ssh.take_stdout().unwrap();
    let mut press = move |key: u8| keys.write_all(&[key]).map_err(|error| format!("no key is taken: {error}"));
    let mut echoes = Vec::new();
    for line in 0..LINES {
        let letters = (line * WIDTH..(line + 1) * WIDTH).map(|index| char::from(b'a' + octet(seed, index) % 26));
        let line: String = letters.collect();
        for key in line.bytes() {
            let begin = Instant::now();
            press(key)?;
            shows(&mut screen, &char::from(key).to_string())?;
            echoes.push(begin.elapsed());
            thread::sleep(PAUSE);
        }
        press(b'\n')?;
        shows(&mut screen, &format!("\r\n{line}\r\n"))?;
    }
    // The end-of-file key ends `cat`, which ends the session.
    press(4)?;
    let mut rest = [0; 100];
    match ready(&screen, PollFlags::IN, PATIENCE).then(|| screen.read(&mut rest)) {
        Some(Ok(0)) => {}
        Some(Ok(count)) => {
            return Err(format!("the screen shows {:?} at the end", String::from_utf8_lossy(&rest[..count])));
        }
        Some(Err(error)) => return Err(error.to_string()),
        None => return Err("the session does not end".into()),
    }
    // The first echo waits for the login.
    Ok(echoes.split_off(1))
}

/// Runs a session for each version of IP, both at once. Returns the times of all echoes, sorted.
fn sessions(world: &World, sshd: &Sshd) -> Vec<Duration> {
    let typists = thread::scope(|scope| {
        VERSIONS
            .map(|version| {
                scope.spawn(move || {
                    let mut ssh = sshd.session(world, version);
                    let echoes = typing(&mut ssh, if version == Version::V4 { 4 } else { 6 });
                    if echoes.is_err() {
                        ssh.signal(Signal::KILL).unwrap();
                    }
                    let (code, complaint) = ended(ssh);
                    (version, echoes, code, complaint)
                })
            })
            .map(|typist| typist.join().unwrap())
    });
    let mut all = Vec::new();
    for (version, echoes, code, complaint) in typists {
        match echoes {
            Ok(echoes) => all.extend(echoes),
            Err(error) => panic!("{version:?}: {error}; ssh: {complaint}; sshd: {}", sshd.log()),
        }
        assert_eq!(code, Some(0), "{version:?}: ssh: {complaint}; sshd: {}", sshd.log());
    }
    all.sort_unstable();
    all
}

#[test]
fn typed_characters_are_echoed_in_order_during_a_transfer() {
    let programs = ["sshd", "ssh", "ssh-keygen", "unshare", "curl"];
    let possible = can("shell::typed_characters_are_echoed_in_order_during_a_transfer", &programs);
    if !possible || !common::can_change_user() {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let sshd = Sshd::start(&world);
    let pair = Pair::start(&world, &Wish { rate: "20 Mbit/s", ..Wish::default() });
    let _filter = world.carried_only();
    let alone = sessions(&world, &sshd);

    let at = serve_files(&world.server, server(Version::V4));
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("got");
    let mut bulk = curl(&world.client, ["--output", got.to_str().unwrap(), &file(at, 9, 10_000 * MEGA)]);
    let length = || fs::metadata(&got).map_or(0, |file| file.len());
    let begin = Instant::now();
    while length() < MEGA {
        assert!(begin.elapsed() < PATIENCE, "the transfer does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    let before = length();
    let beside = sessions(&world, &sshd);
    let meanwhile = length() - before;
    assert!(meanwhile > 0, "the transfer stood still while keys were typed");
    assert!(bulk.try_wait().unwrap().is_none(), "the transfer has ended");
    drop(bulk);
    assert!(is_whole(&got, 9, length()), "what came of the transfer is not what was sent");

    assert!(pair.number(Side::Near, "/counters/opened/intercepted") >= 5);
    let median = |echoes: &[Duration]| echoes[echoes.len() / 2];
    let (alone, beside, longest) = (median(&alone), median(&beside), beside[beside.len() - 1]);
    println!(
        "echo: median {alone:.1?} alone, {beside:.1?} (longest {longest:.1?}) beside {:.1} MB of a transfer",
        meanwhile as f64 / 1e6
    );
    pair.stop();
}
