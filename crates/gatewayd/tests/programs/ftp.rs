//! FTP, with data connections in either direction: passive, from the client, and active, from the server's port 20.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cellway_sys::Child;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::{finish, is_whole, serving};
use crate::common::tcp::octet;
use crate::common::world::{Version, World};
use crate::ftp_server::{CONTROL, DATA, serve};
use crate::{MEGA, VERSIONS, can, common, server};

/// Both directions (octets), each the stream of its number.
const DOWN: (u64, u64) = (1, 3 * MEGA);
const UP: (u64, u64) = (2, 2 * MEGA);
/// Data connections of a session: two lists, a file in each direction.
const CONNECTIONS: u64 = 4;

/// The files of the server, and those of the client.
#[derive(Debug)]
struct Files {
    served: TempDir,
    client: TempDir,
}

impl Files {
    fn new() -> Files {
        let [served, client] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let stream = |(seed, size)| (0..size).map(|index| octet(seed, index)).collect::<Vec<u8>>();
        // A server may be another user, and may refuse to serve a folder that can be written to.
        fs::set_permissions(served.path(), Permissions::from_mode(0o755)).unwrap();
        for (name, mode) in [("pub", 0o755), ("incoming", 0o777)] {
            let folder = served.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        }
        fs::write(served.path().join("pub/file"), stream(DOWN)).unwrap();
        fs::write(client.path().join("upload"), stream(UP)).unwrap();
        Files { served, client }
    }

    /// Runs a session of Python's client. Returns its log: the transfers, and the other end of the data connections.
    fn session(&self, world: &World, version: Version, mode: &str, name: &str) -> Vec<String> {
        let name = format!("{name}-{mode}-{version:?}");
        let mut python = Command::new("python3");
        python.arg("-c").arg(include_str!("ftp.py")).arg(server(version).to_string()).arg(CONTROL.to_string());
        python.arg(self.client.path()).args([&name, mode]);
        let finished = finish(&world.client, python);
        assert_eq!(finished.code, Some(0), "{version:?}, {mode}: {}", finished.complained);
        let seen: Value = serde_json::from_str(&finished.said).unwrap();
        let listed = |line: &Value| {
            let words: Vec<&str> = line.as_str().unwrap_or_default().split_whitespace().collect();
            words.contains(&DOWN.1.to_string().as_str()) && words.last() == Some(&"file")
        };
        let lines = seen["lines"].as_array().unwrap();
        let whole = |path: &Path, (seed, size)| if is_whole(path, seed, size) { "whole" } else { "broken" };
        let down = whole(&self.client.path().join(&name), DOWN);
        let up = whole(&self.served.path().join("incoming").join(&name), UP);
        let mut words = vec![
            format!(
                "{version:?}, {mode}: {}, long list right: {}",
                seen["names"],
                lines.len() == 1 && listed(&lines[0])
            ),
            format!("download {down}, upload {up}"),
        ];
        for other in seen["others"].as_array().unwrap() {
            let who = World::who(other[0].as_str().unwrap().parse().unwrap());
            // A passive server chooses any port.
            let port = if mode == "active" { other[1].to_string() } else { "any".into() };
            words.push(format!("data: {who} address, port {port}"));
        }
        words
    }

    /// Runs sessions in both modes, for both versions of IP.
    fn sessions(&self, world: &World, name: &str) -> Vec<String> {
        cases().flat_map(|(version, mode)| self.session(world, version, mode, name)).collect()
    }
}

/// Returns both modes for both versions of IP.
fn cases() -> impl Iterator<Item = (Version, &'static str)> {
    VERSIONS.into_iter().flat_map(|version| ["passive", "active"].map(|mode| (version, mode)))
}

/// Returns the expected log; `active` is the server's port in active mode.
fn expected(active: &str) -> Vec<String> {
    let one = |(version, mode): (Version, &str)| {
        let port = if mode == "active" { active } else { "any" };
        let mut words = vec![
            format!("{version:?}, {mode}: [\"file\"], long list right: true"),
            "download whole, upload whole".to_owned(),
        ];
        words.extend((0..CONNECTIONS).map(|_| format!("data: the server's address, port {port}")));
        words
    };
    cases().flat_map(one).collect()
}

/// Compares the client's results directly and through the pair; all of the latter was relayed.
fn compared(world: &World, files: &Files) {
    assert_eq!(files.sessions(world, "direct"), expected(&DATA.to_string()), "direct");
    let pair = Pair::start(world, &Wish::default());
    let _filter = world.carried_only();
    assert_eq!(files.sessions(world, "carried"), expected(&DATA.to_string()), "through the pair");
    // Control, and data in passive mode; data in active mode are opened by the other side.
    let versions = VERSIONS.len() as u64;
    assert_eq!(pair.number(Side::Near, "/counters/opened/intercepted"), versions * (2 + CONNECTIONS));
    assert_eq!(pair.number(Side::Far, "/counters/opened/intercepted"), versions * CONNECTIONS);
    pair.stop();
}

#[test]
fn both_modes_are_as_without_gateways() {
    if !can("ftp::both_modes_are_as_without_gateways", &["python3"]) {
        return;
    }
    let _turn = common::turn();
    let (world, files) = (World::new(), Files::new());
    for version in VERSIONS {
        serve(&world.server, server(version), files.served.path().into());
    }
    compared(&world, &files);
}

/// Starts vsftpd for anonymous users, without any of the files of its package.
fn vsftpd(world: &World, files: &Files, folder: &Path) -> Child {
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let mut config =
        "listen=NO\nlisten_ipv6=YES\nbackground=NO\nanonymous_enable=YES\nno_anon_password=YES\n".to_owned();
    config += "local_enable=NO\nwrite_enable=YES\nanon_upload_enable=YES\nconnect_from_port_20=YES\n";
    // Any system user with a home directory.
    config += "xferlog_enable=NO\nftp_username=daemon\nnopriv_user=nobody\n";
    config += &format!("anon_root={}\nsecure_chroot_dir={}\n", files.served.path().display(), empty.display());
    let path = folder.join("config");
    fs::write(&path, config).unwrap();
    let mut command = Command::new(common::find("vsftpd").unwrap());
    command.arg(path).stdin(Stdio::null());
    serving(&world.server, command, (server(Version::V4), CONTROL).into())
}

#[test]
fn vsftpd_is_as_without_gateways() {
    if !can("ftp::vsftpd_is_as_without_gateways", &["vsftpd", "python3"]) || !common::can_change_user() {
        return;
    }
    let _turn = common::turn();
    let (world, files) = (World::new(), Files::new());
    let folder = tempfile::tempdir().unwrap();
    let _server = vsftpd(&world, &files, folder.path());
    compared(&world, &files);
}

/// The unit of the package gives no privilege for ports below 1024.
#[test]
fn with_least_privileges_active_data_has_another_port() {
    if !can("ftp::with_least_privileges_active_data_has_another_port", &["python3", "setpriv"]) {
        return;
    }
    let _turn = common::turn();
    let (world, files) = (World::new(), Files::new());
    for version in VERSIONS {
        serve(&world.server, server(version), files.served.path().into());
    }
    let words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all,+net_admin,+net_raw", "--no-new-privs"];
    let before = words.map(str::to_owned).to_vec();
    let pair = Pair::start(&world, &Wish { before, ..Wish::default() });
    let _filter = world.carried_only();
    let mut seen = files.sessions(&world, "least");
    for line in &mut seen {
        let port = line.strip_prefix("data: the server's address, port ").and_then(|port| port.parse::<u16>().ok());
        if port.is_some_and(|port| port >= 1_024) {
            *line = "data: the server's address, port above 1023".into();
        }
    }
    assert_eq!(seen, expected("above 1023"));
    pair.stop();
}
