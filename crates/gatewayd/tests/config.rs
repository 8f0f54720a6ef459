//! Configuration files: their conversion, and the messages about invalid ones (every message in full in
//! `refused.golden`; `UPDATE_GOLDEN=1 cargo test` writes it again).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use cellway_gatewayd::{
    Class, Config, Connect, Device, DeviceNames, Forward, Identity, Intercept, Limits, LineRate, PeerDown, Socks,
    Source, TransportChoice,
};
use cellway_units::{Bytes, Rate, Span};
use proptest::prelude::*;

const FILE: &str = "\
name = \"paris\"
local = [\"192.0.2.0/24\"]

[listen]
address = \"[::]:4433\"

[[peer]]
name = \"tokyo\"
address = \"tokyo.example.net:4433\"
prefixes = [\"198.51.100.0/24\"]
rate = \"30 Mbit/s\"

[[peer]]
name = \"lima\"
prefixes = [\"203.0.113.0/24\"]
";

/// `FILE` with replacements, each of which must apply.
fn edited(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(FILE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from} is not there");
        text.replacen(from, to, 1)
    })
}

fn with(end: &str) -> String {
    format!("{FILE}{end}")
}

fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn cases() -> Vec<(&'static str, String)> {
    let rate = "rate = \"30 Mbit/s\"";
    let tokyo = "name = \"tokyo\"";
    vec![
        ("no TOML", edited(&[("\"paris\"", "paris")])),
        ("a key twice", edited(&[(rate, "rate = \"1 Mbit/s\"\nrate = \"2 Mbit/s\"")])),
        ("an empty file", String::new()),
        ("no peer", "name = \"a\"\npeer = []\n".to_owned()),
        ("unknown keys", edited(&[("[listen]\n", "[listen]\nadress = 1\n"), ("rate =", "rte =")])),
        ("unknown key with _", with("[limits]\nper_source = 3\n")),
        (
            "classes of an unknown peer, with ceilings above its rate, and values that cannot be",
            with(
                "[[class]]\nname = \"a\"\npeer = \"oslo\"\nshare = 0\n\
                 [[class]]\nname = \"b c\"\nports = [0, \"90-80\", \"http\"]\nclients = [\"10.0.0.1\"]\n\
                 [[class]]\nname = \"d\"\nports = [80]\nceiling = \"31 Mbit/s\"\n\
                 [[class]]\nname = \"e\"\nports = [81]\nceiling = \"0 bit/s\"\n",
            ),
        ),
        (
            "classes that take the same connections, or have the same name",
            with(
                "[[class]]\nname = \"a\"\npeer = \"lima\"\nports = [80]\n\
                 [[class]]\nname = \"a\"\nports = [81]\n\
                 [[class]]\nname = \"b\"\nports = [81]\n\
                 [[class]]\nname = \"c\"\n[[class]]\nname = \"d\"\n\
                 [[class]]\nname = \"default\"\nclients = [\"10.0.0.0/8\"]\n",
            ),
        ),
        (
            "classes that can match nothing, or have empty lists",
            with(
                "[[class]]\nname = \"a\"\nports = [\"8000-8099\"]\nclients = [\"10.0.0.0/8\"]\n\
                 [[class]]\nname = \"b\"\nports = [8080]\nclients = [\"10.1.0.0/16\"]\n\
                 [[class]]\nname = \"c\"\nports = [\"8100-8199\"]\n\
                 [[class]]\nname = \"d\"\nports = [\"8090-8110\"]\nclients = [\"10.2.0.0/16\"]\n\
                 [[class]]\nname = \"e\"\npeer = \"lima\"\nports = [9000]\n\
                 [[class]]\nname = \"at-tokyo\"\nports = [9000]\n\
                 [[class]]\nname = \"f\"\nclients = []\n\
                 [[class]]\nname = \"g\"\nports = []\n\
                 [[class]]\nname = \"h\"\nclients = [\"::ffff:10.0.0.0/104\", \"::ffff:0:0/96\"]\n",
            ),
        ),
        ("unknown table", with("[interception]\nport = 1\n")),
        ("key after a header", with("[socks]\nlisten = \"127.0.0.1:1080\"\nlocal = []\n")),
        ("missing keys", with("[[peer]]\n[[forward]]\n[socks]\n")),
        ("a table as a value", edited(&[(rate, "rate = { bps = 1 }")])),
        (
            "a value as a table",
            edited(&[("[listen]\naddress = \"[::]:4433\"\n", ""), ("local", "listen = true\nlocal")]),
        ),
        ("a value as an array", edited(&[("local = [\"192.0.2.0/24\"]", "local = \"192.0.2.0/24\"")])),
        ("an array as a value", edited(&[(tokyo, "name = [\"tokyo\"]")])),
        ("single instead of double brackets", "name = \"a\"\n[peer]\nname = \"b\"\n".to_owned()),
        ("a date", edited(&[(rate, "rate = 2024-01-01")])),
        ("a fraction", with("[limits]\nconnections = 1.5\n")),
        ("a number without unit", edited(&[(rate, "rate = 30")])),
        ("a text without unit", edited(&[(rate, "rate = \"30\"")])),
        ("a wrong unit", edited(&[(rate, "rate = \"30 Mbps\"\noutage = \"1 minute\"")])),
        ("a negative rate", edited(&[(rate, "rate = \"-3 Mbit/s\"")])),
        ("a misspelt word", edited(&[(rate, "rate = \"atuo\"\ntransport = \"quick\"\nconnect = \"erly\"")])),
        (
            "rates of zero",
            edited(&[(rate, "rate = \"0 Mbit/s\""), ("name = \"lima\"", "name = \"lima\"\nmost = \"0 bit/s\"")]),
        ),
        ("most beside a rate", edited(&[(rate, "rate = \"30 Mbit/s\"\nmost = \"40 Mbit/s\"")])),
        ("cells where the rate is found out", edited(&[(rate, "framing = \"atm\"")])),
        ("a guard of a rate that is found out", edited(&[(rate, "rate-guard = \"off\"")])),
        ("a guard that is neither", edited(&[(rate, "rate = \"30 Mbit/s\"\nrate-guard = \"onn\"")])),
        ("outages", edited(&[(rate, "outage = \"1 ms\""), ("\"lima\"", "\"lima\"\noutage = \"2 h\"")])),
        ("names", edited(&[("\"paris\"", "\"Paris\""), ("\"tokyo\"", "\"to kyo\""), ("\"lima\"", "\"-\"")])),
        ("its own name as a peer", edited(&[("\"tokyo\"", "\"paris\"")])),
        ("two peers of one name", edited(&[("\"lima\"", "\"tokyo\"")])),
        ("never reached", edited(&[("[listen]\naddress = \"[::]:4433\"\n", "")])),
        (
            "no network",
            edited(&[
                ("192.0.2.0/24", "192.0.2.0"),
                ("198.51.100.0/24", "198.51.100.1/24"),
                ("203.0.113.0/24", "203.0.113.0/33"),
            ]),
        ),
        ("a network of two peers", edited(&[("203.0.113.0/24", "198.51.100.0/24")])),
        ("a network within another", edited(&[("203.0.113.0/24", "198.51.100.64/28")])),
        (
            "a network within the own",
            edited(&[("198.51.100.0/24", "192.0.2.0/25\", \"2001:db8::/32\", \"2001:db8:1::/48")]),
        ),
        (
            "networks of nobody",
            edited(&[
                ("\"192.0.2.0/24\"", "\"192.0.2.0/24\", \"127.0.0.0/8\", \"::1/128\", \"239.0.0.0/8\""),
                (
                    "198.51.100.0/24",
                    "127.0.0.0/8\", \"::1/128\", \"224.0.0.0/4\", \"ff02::/16\", \"fe80::/64\", \"0.0.0.0/32",
                ),
            ]),
        ),
        ("addresses", edited(&[("\"[::]:4433\"", "\":4433\""), ("tokyo.example.net:4433", "tokyo.example.net")])),
        ("addresses of IPv6", edited(&[("\"[::]:4433\"", "\"::\""), ("tokyo.example.net:4433", "2001:db8::1")])),
        ("ports", edited(&[("\"[::]:4433\"", "\"[::]:0\""), ("net:4433", "net:70000")])),
        ("a forward to nobody", with("[[forward]]\nlisten = \"127.0.0.1:80\"\npeer = \"tokio\"\nto = \"a:80\"\n")),
        ("a forward without peer of two", with("[[forward]]\nlisten = \"127.0.0.1:80\"\nto = \"a:80\"\n")),
        (
            "a port taken twice",
            with(
                "[[forward]]\nlisten = \"0.0.0.0:1080\"\npeer = \"tokyo\"\nto = \"a:80\"\n[socks]\nlisten = \"127.0.0.1:1080\"\n[control]\nmetrics = \"127.0.0.1:4433\"\n",
            ),
        ),
        ("a port of interception taken", with("[intercept]\nport = 4433\n")),
        ("nothing to intercept", "name = \"a\"\n[[peer]]\nname = \"b\"\naddress = \"b:1\"\n[intercept]\n".to_owned()),
        (
            "interception",
            with(
                "[intercept]\ninterfaces = [\"a device with blanks\", \"cellway0\"]\nport = 0\nmark = 4294967295\ntable = 254\ndevice = \"eth/0\"\nsource = \"clients\"\n",
            ),
        ),
        (
            "limits",
            with(
                "[limits]\nwindow = \"1 KiB\"\nmemory = \"2 kB\"\nconnections = 100\nper-source = 101\nopening = 0\nkeepalive = \"0 s\"\n",
            ),
        ),
        (
            "limits of a refused number",
            with("[limits]\nconnections = 0\nper-source = 200000\nmemory = \"1 kB\"\nwindow = \"2 GiB\"\n"),
        ),
        ("more window than memory", with("[limits]\nwindow = \"2 GiB\"\n")),
        ("empty paths", with("[identity]\nkey = \"\"\n[control]\nsocket = \"\"\n")),
    ]
}

#[test]
fn messages_about_invalid_files() {
    let mut told = String::new();
    for (what, text) in cases() {
        let errors = Config::parse(&text, Path::new("g.toml")).expect_err(what);
        write!(told, "## {what}\n{errors}\n\n").unwrap();
    }
    let path = crate_file("tests/refused.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (told, golden) in told.split("## ").zip(golden.split("## ")) {
        assert_eq!(told, golden);
    }
    assert_eq!(told.len(), golden.len());
}

#[test]
fn the_smallest_file_has_defaults_for_the_rest() {
    let text = "name = \"home\"\n[[peer]]\nname = \"office\"\naddress = \"10.0.0.1:4433\"\n\
                [[forward]]\nlisten = \"127.0.0.1:8080\"\nto = \"intranet:80\"\n[socks]\nlisten = \"127.0.0.1:1080\"\n";
    let config = Config::parse(text, Path::new("/etc/gateway/home.toml")).unwrap();
    let folder = Path::new("/etc/gateway");
    let identity = Identity {
        authority: folder.join("authority.pem"),
        certificate: folder.join("home.pem"),
        key: folder.join("home.key"),
    };
    assert_eq!(config.identity, identity);
    assert_eq!((config.name.as_str(), config.listen, config.intercept), ("home", None, None));
    assert!(config.local.is_empty());
    let [peer] = config.peers.as_slice() else { panic!("{:?}", config.peers) };
    assert_eq!(peer.address.as_deref(), Some("10.0.0.1:4433"));
    assert_eq!((peer.rate, peer.outage), (LineRate::Auto { most: None }, Span::from_secs(60)));
    assert_eq!((peer.transport, peer.connect, peer.down), (TransportChoice::Auto, Connect::Late, PeerDown::Direct));
    let listen = "127.0.0.1:8080".parse().unwrap();
    assert_eq!(config.forwards, [Forward { listen, peer: "office".to_owned(), to: "intranet:80".to_owned() }]);
    let socks = Socks { listen: "127.0.0.1:1080".parse().unwrap(), peer: Some("office".to_owned()) };
    assert_eq!(config.socks, Some(socks));
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.control.socket, config.control.metrics), (None, None));
}

#[test]
fn every_value_of_a_file_arrives() {
    let text = edited(&[
        (
            "rate = \"30 Mbit/s\"",
            "rate = \"1.5 Mbit/s\"\nframing = \"atm\"\ntransport = \"tls\"\nconnect = \"early\"\ndown = \"refuse\"\noutage = \"2 min\"",
        ),
        ("name = \"lima\"", "name = \"lima\"\nmost = \"100 Mbit/s\""),
    ]) + "[intercept]\ninterfaces = [\"eth1\", \"ppp*\"]\nport = 5000\nmark = 0x10\ntable = 300\ndevice = \"hold\"\nsource = \"gateway\"\n\
         [limits]\nwindow = \"1 MiB\"\nmemory = \"10 MiB\"\nconnections = 100\nkeepalive = \"10 s\"\n\
         [control]\nsocket = \"run/s\"\nmetrics = \"127.0.0.1:9\"\n";
    let config = Config::parse(&text, Path::new("here/g.toml")).unwrap();
    let tokyo = &config.peers[0];
    assert_eq!(tokyo.rate, LineRate::Fixed { rate: Rate::from_bps(1_500_000), atm: true });
    assert_eq!((tokyo.transport, tokyo.connect, tokyo.down), (TransportChoice::Tls, Connect::Early, PeerDown::Refuse));
    assert_eq!(tokyo.outage, Span::from_secs(120));
    assert_eq!(tokyo.prefixes, ["198.51.100.0/24".parse().unwrap()]);
    assert_eq!(config.peers[1].rate, LineRate::Auto { most: Some(Rate::from_bps(100_000_000)) });
    assert_eq!((config.peers[1].name.as_str(), config.peers[1].address.as_ref()), ("lima", None));
    assert_eq!(config.local, ["192.0.2.0/24".parse().unwrap()]);
    let intercept = Intercept {
        interfaces: ["eth1", "ppp*"].map(|name| DeviceNames(name.to_owned())).to_vec(),
        port: 5000,
        mark: 16,
        table: 300,
        device: Device("hold".to_owned()),
        source: Source::Gateway,
    };
    assert_eq!(config.intercept, Some(intercept));
    let limits = Limits {
        window: Some(Bytes(1 << 20)),
        memory: Bytes(10 << 20),
        connections: 100,
        per_source: 100,
        opening: 100,
        unproven: 50,
        keepalive: Span::from_secs(10),
    };
    assert_eq!(config.limits, limits, "defaults are never more than all connections");
    assert_eq!(config.control.socket.as_deref(), Some(Path::new("here/run/s")));
    assert_eq!(config.control.metrics, Some("127.0.0.1:9".parse().unwrap()));
}

/// The keys of a table and of all in it, as paths without names and numbers.
fn keys(table: &toml::Table, path: &str, all: &mut BTreeSet<String>) {
    for (key, value) in table {
        let path = format!("{path}{key}");
        all.insert(path.clone());
        let inner = match value {
            toml::Value::Table(table) => vec![table],
            toml::Value::Array(items) => items.iter().filter_map(toml::Value::as_table).collect(),
            _ => Vec::new(),
        };
        inner.into_iter().for_each(|table| keys(table, &format!("{path}."), all));
    }
}

#[test]
fn the_example_is_right_and_has_every_key() {
    let path = crate_file("packaging/gateway.toml");
    Config::read(&path).unwrap();
    let mut there = BTreeSet::new();
    keys(&std::fs::read_to_string(&path).unwrap().parse().unwrap(), "", &mut there);
    let schema = std::fs::read_to_string(crate_file("../../schema/gateway.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let mut known = BTreeSet::new();
    for (key, shape) in schema["properties"].as_object().unwrap() {
        known.insert(key.clone());
        let shape = if shape["items"].is_object() { &shape["items"] } else { shape };
        if let Some(name) = shape["$ref"].as_str() {
            let inner = &schema["$defs"][name.trim_start_matches("#/$defs/")]["properties"];
            known.extend(inner.as_object().unwrap().keys().map(|inner| format!("{key}.{inner}")));
        }
    }
    assert!(known.len() > 40, "{known:?}");
    assert_eq!(there, known);
}

#[test]
fn every_key_has_help_and_its_default_and_examples_are_accepted() {
    let schema = std::fs::read_to_string(crate_file("../../schema/gateway.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let root = (String::new(), &schema["properties"]);
    let tables = schema["$defs"].as_object().unwrap().iter().map(|(name, def)| (name.clone(), &def["properties"]));
    let mut checked = 0;
    for (table, properties) in std::iter::once(root).chain(tables) {
        for (key, shape) in properties.as_object().into_iter().flatten() {
            let referred = shape["$ref"].is_string() || shape["items"]["$ref"].is_string();
            assert!(referred || shape["description"].is_string(), "{table}.{key} has no help");
            let at = match table.as_str() {
                "PeerFile" => "[[peer]]\nname = \"b\"\naddress = \"b:1\"\n",
                "IdentityFile" => "[identity]\n",
                "ListenFile" => "[listen]\n",
                "InterceptKeys" => "[intercept]\n",
                "LimitsKeys" => "[limits]\n",
                "ControlKeys" => "[control]\n",
                _ => continue,
            };
            let first = shape["default"].clone();
            let examples = shape["examples"].as_array().cloned().unwrap_or_default();
            for value in examples.into_iter().chain([first]).filter(|value| !value.is_null()) {
                if key == "name" || value.as_str() == Some("cellway0") && key == "interfaces" {
                    continue;
                }
                let peer = if table == "PeerFile" { "" } else { "[[peer]]\nname = \"b\"\naddress = \"b:1\"\n" };
                let at = if key == "address" { at.replace("address = \"b:1\"\n", "") } else { at.to_owned() };
                let text = format!("name = \"a\"\nlocal = [\"10.0.0.0/8\"]\n{at}{key} = {value}\n{peer}");
                let errors = Config::parse(&text, Path::new("g.toml")).err();
                assert!(errors.is_none(), "{text}\n{}", errors.unwrap());
                checked += 1;
            }
        }
    }
    assert!(checked > 25, "{checked}");
}

/// A value of every kind, most of them wrong in most places.
fn value() -> impl Strategy<Value = String> {
    let words = [
        "\"\"",
        "\"auto\"",
        "\"30 Mbit/s\"",
        "\"é\"",
        "[]",
        "{}",
        "[[1], {}]",
        "0x6377",
        "1e400",
        "-1",
        "true",
        "1979-05-27",
        "\"10.0.0.0/8\"",
        "\"::/0\"",
        "99999999999999999999",
        "{ name = 1 }",
        "[\"a\", 2]",
    ];
    prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), "\\PC{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Whatever replaces a value: no panic, and locations that exist.
    #[test]
    fn no_value_is_too_strange(line in 0_usize..16, value in value()) {
        let text: String = FILE.lines().enumerate().map(|(i, text)| match text.split_once('=') {
            Some((key, _)) if i == line => format!("{key} = {value}\n"),
            _ => format!("{text}\n"),
        }).collect();
        if let Err(errors) = Config::parse(&text, Path::new("g.toml")) {
            prop_assert!(!errors.problems.is_empty());
            for problem in &errors.problems {
                prop_assert!(problem.line.is_some_and(|line| line <= text.lines().count() + 1), "{problem}");
            }
        }
    }

    /// The same for a text that is truncated anywhere.
    #[test]
    fn no_cut_is_too_strange(at in 0..FILE.len()) {
        let _ = Config::parse(&FILE[..at], Path::new("g.toml"));
    }
}

#[test]
fn classes_are_those_of_their_peer_and_of_all() {
    let text = with(
        "[[class]]\nname = \"rest\"\nshare = 2\n\
         [[class]]\nname = \"a\"\nclients = [\"10.1.0.0/16\", \"2001:db8:1::/48\"]\nports = [22, \"8000-8099\"]\n\
         ceiling = \"30 Mbit/s\"\n\
         [[class]]\nname = \"b\"\npeer = \"lima\"\nports = [443]\nshare = 3\nceiling = \"50 Mbit/s\"\n",
    );
    let config = Config::parse(&text, Path::new("g.toml")).unwrap();
    let of = |place: usize| config.peers[place].classes.as_slice();
    let names = |place| of(place).iter().map(|class| &*class.name).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (vec!["a", "rest"], vec!["a", "b", "rest"]));
    let a = &of(0)[0];
    assert_eq!((a.clients.len(), &*a.ports, a.share.get()), (2, &[22..=22, 8000..=8099][..], 1));
    assert_eq!(a.ceiling, Some(Rate::from_bps(30_000_000)));
    assert_eq!((of(1)[1].share.get(), of(1)[2].share.get(), of(1)[2].takes_all()), (3, 2, true));
    // Without any, all connections are in one class.
    let plain = Config::parse(FILE, Path::new("g.toml")).unwrap();
    assert_eq!(plain.peers[0].classes.as_slice(), [Class::new("default")]);
}
