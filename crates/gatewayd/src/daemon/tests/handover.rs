//! Handover without another program: the daemon continues its own state.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use ciborium::Value;

use super::*;
use crate::daemon::handover::{Prepared, Record, VERSION};

/// A client behind the peer with a connection to a server here.
struct Carried {
    scene: Scene,
    server: TcpStream,
}

impl Carried {
    fn new() -> Carried {
        let (listener, at) = server();
        let mut scene = Scene::new();
        scene.receive(vec![open(0, at)]);
        scene.attempt_after(1);
        listener.set_nonblocking(false).unwrap();
        let (server, _) = listener.accept().unwrap();
        let token = scene.token(FlowId(0));
        scene.ready(token);
        assert_eq!(scene.state(token), Some("Open"));
        Carried { scene, server }
    }
    /// Hands over, and continues with `resume`.
    fn hand_over(mut self, resume: impl FnOnce(super::super::Handover) -> Daemon) -> Carried {
        let prepared = Prepared::new(self.scene.daemon.cx.config.clone()).unwrap();
        let handover = self.scene.daemon.hand_over(prepared);
        self.with(resume(handover))
    }
    /// Replaces the daemon.
    fn with(self, daemon: Daemon) -> Carried {
        Carried { scene: Scene { daemon, ..self.scene }, ..self }
    }
}

fn data(offset: u64, len: u32) -> Frame {
    Frame::Data { flow: FlowId(0), offset, len, fin: false, early: false, urgent: false }
}

#[test]
fn a_program_that_cannot_be_executed_takes_over_nothing() {
    let mut carried = Carried::new();
    // 10 bytes that the server has not read, and 5 behind a gap.
    carried.scene.receive(vec![data(0, 10)]);
    carried.scene.receive(vec![data(40_000, 5)]);
    let mut carried = carried.hand_over(|mut handover| {
        let error = handover.exec(Path::new("/not/there"), &[]);
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        Daemon::resume_own(handover).unwrap()
    });
    let Carried { scene, server } = &mut carried;
    assert_eq!(scene.daemon.cx.tally.counters().errors.get("upgrade"), Some(&1));
    scene.report(PeerEvent::Up {
        resumed: true,
        peer: PEER,
        dialer: false,
        transport: Transport::Quic,
        payload: 1_200,
        address: "192.0.2.1:4433".parse().unwrap(),
    });
    scene.receive(vec![data(10, 39_990)]);
    scene.write();
    let token = scene.token(FlowId(0));
    assert_eq!(scene.state(token), Some("Open"));
    let mut octets = vec![0; 40_005];
    server.read_exact(&mut octets).unwrap();
    assert_eq!(octets, vec![7; 40_005]);
    server.write_all(b"answer").unwrap();
}

#[test]
fn a_drain_continues() {
    for within in [None, Some(Span::from_secs(2))] {
        let mut carried = Carried::new();
        carried.scene.daemon.command(crate::daemon::handle::Command::Drain { within });
        let mut carried = carried.hand_over(|handover| Daemon::resume(handover).unwrap());
        let scene = &mut carried.scene;
        assert_eq!(scene.daemon.snapshot(false).draining, Some(1));
        scene.daemon.cx.now += Span::from_secs(3);
        scene.daemon.maintain();
        assert_eq!(scene.daemon.running, within.is_none());
    }
}

#[test]
fn a_configuration_that_changes_too_much_is_refused_without_a_handover() {
    let mut carried = Carried::new();
    let (to, answer) = std::sync::mpsc::channel();
    let mut config = carried.scene.daemon.cx.config.clone();
    config.name = "other".into();
    let command =
        |config: &Config| crate::daemon::handle::Command::HandOver { config: Box::new(config.clone()), to: to.clone() };
    carried.scene.daemon.command(command(&config));
    assert!(answer.recv().unwrap().unwrap_err().contains("restart"));
    assert!(carried.scene.daemon.running && carried.scene.daemon.next.is_none());
    carried.scene.daemon.command(command(&carried.scene.daemon.cx.config.clone()));
    assert_eq!(answer.recv().unwrap(), Ok(()));
    assert!(!carried.scene.daemon.running && carried.scene.daemon.next.is_some());
}

#[test]
fn commands_before_the_end_are_executed() {
    let agrees = |carried: &mut Carried| {
        let prepared = Prepared::new(carried.scene.daemon.cx.config.clone()).unwrap();
        (carried.scene.daemon.running, carried.scene.daemon.next) = (false, Some(Box::new(prepared)));
    };
    let mut carried = Carried::new();
    agrees(&mut carried);
    carried.scene.daemon.handle().stop();
    assert!(carried.scene.daemon.finish().unwrap().is_none(), "it stops");
    assert!(carried.server.read(&mut [0]).is_err(), "its connections are reset");
    let mut carried = Carried::new();
    agrees(&mut carried);
    carried.scene.daemon.handle().drain(None);
    let handover = carried.scene.daemon.finish().unwrap().unwrap();
    let carried = carried.with(Daemon::resume(handover).unwrap());
    assert!(carried.scene.daemon.drain.is_on());
}

/// Adds the paths of all fields in `value` to `paths`. Elements of a list, and values of numbered keys, have the same path.
fn add_paths(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Map(fields) => {
            for (key, value) in fields {
                let name = key.as_text().unwrap_or("*");
                add_paths(value, &format!("{path}.{name}"), paths);
            }
            return;
        }
        Value::Array(values) => {
            values.iter().for_each(|value| add_paths(value, &format!("{path}[]"), paths));
            return;
        }
        Value::Integer(_) => "integer",
        Value::Bytes(_) => "bytes",
        Value::Text(_) => "text",
        Value::Bool(_) => "bool",
        _ => "",
    };
    paths.insert(format!("{path} {kind}").trim_end().to_owned());
}

/// If this fails, the layout of the record of a handover has changed: raise `VERSION`, and write the file again with
/// `UPDATE_GOLDEN=1`. It is the layout of a gateway with an open connection: those of a drain and of interception are
/// not in it.
#[test]
fn the_layout_belongs_to_the_version() {
    let mut carried = Carried::new();
    carried.scene.receive(vec![data(0, 10)]);
    carried.scene.receive(vec![data(40_000, 5)]);
    let prepared = Prepared::new(carried.scene.daemon.cx.config.clone()).unwrap();
    let handover = carried.scene.daemon.hand_over(prepared);
    let mut octets = Vec::new();
    ciborium::into_writer(handover.record(), &mut octets).unwrap();
    let again: Record = ciborium::from_reader(&octets[..]).unwrap();
    let mut paths = BTreeSet::new();
    add_paths(&Value::serialized(&again).unwrap(), "", &mut paths);
    let text = format!("version {VERSION}\n{}\n", paths.into_iter().collect::<Vec<_>>().join("\n"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/daemon/tests/handover.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap();
    let missing = |of: &str, other: &str| -> Vec<String> {
        let other: BTreeSet<&str> = other.lines().collect();
        of.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    let (new, gone) = (missing(&text, &golden), missing(&golden, &text));
    assert!(new.is_empty() && gone.is_empty(), "new: {new:#?}, gone: {gone:#?}");
}
