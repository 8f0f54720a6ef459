//! The commands as a user calls them: files, arguments and exit codes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

fn gateway(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cellway-gateway")).args(words).current_dir(folder).output().unwrap()
}

/// Returns the exit code, standard output and standard error.
fn told(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let output = gateway(folder, words);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Passes the certificate in a PEM file to `look`.
fn certificate<T>(path: &Path, look: impl FnOnce(&X509Certificate<'_>) -> T) -> T {
    let text = std::fs::read(path).unwrap();
    let (_, pem) = x509_parser::pem::parse_x509_pem(&text).unwrap();
    let (rest, parsed) = X509Certificate::from_der(&pem.contents).unwrap();
    assert!(rest.is_empty());
    look(&parsed)
}

fn config(folder: &Path, name: &str, more: &str) -> PathBuf {
    let peer = "[[peer]]\nname = \"peer\"\naddress = \"127.0.0.1:4433\"\n";
    let path = folder.join("g.toml");
    std::fs::write(&path, format!("name = \"{name}\"\n{peer}{more}")).unwrap();
    path
}

#[test]
fn keygen_makes_an_authority_and_a_certificate_per_name() {
    let dir = TempDir::new().unwrap();
    let (code, out, err) = told(dir.path(), &["keygen", "--out", "keys", "--days", "90", "paris", "tokyo"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("keep keys/authority.key away"), "{out}");
    let keys = dir.path().join("keys");
    let all = ["authority.key", "authority.pem", "paris.key", "paris.pem", "tokyo.key", "tokyo.pem"];
    assert_eq!(names_in(&keys), all);
    assert_eq!(mode(&keys), 0o700);
    for name in all {
        let expected = if name.ends_with(".key") { 0o600 } else { 0o644 };
        assert_eq!(mode(&keys.join(name)), expected, "{name}");
    }
    let subject = certificate(&keys.join("authority.pem"), |authority| {
        assert!(authority.is_ca());
        assert!(authority.key_usage().unwrap().unwrap().value.key_cert_sign());
        authority.subject().to_string()
    });
    certificate(&keys.join("tokyo.pem"), |tokyo| {
        assert!(!tokyo.is_ca());
        assert_eq!(tokyo.issuer().to_string(), subject);
        let names = &tokyo.subject_alternative_name().unwrap().unwrap().value.general_names;
        assert!(matches!(names.as_slice(), [GeneralName::DNSName("tokyo")]), "{names:?}");
        let usage = tokyo.extended_key_usage().unwrap().unwrap().value.clone();
        assert!(usage.client_auth && usage.server_auth && !usage.any);
        let validity = tokyo.validity();
        let days = (validity.not_after.timestamp() - validity.not_before.timestamp()) as f64 / 86_400.0;
        assert!((90.0..90.1).contains(&days), "{days}");
    });
}

#[test]
fn keygen_adds_to_an_authority_and_overwrites_nothing() {
    let dir = TempDir::new().unwrap();
    let run = |words: &[&str]| told(dir.path(), words);
    assert_eq!(run(&["keygen", "--out", "keys", "paris"]).0, 0);
    let before = std::fs::read(dir.path().join("keys/authority.key")).unwrap();
    let (code, _, err) = run(&["keygen", "--out", "keys", "tokyo"]);
    assert!(code == 1 && err.contains("keys/authority.key are there already"), "{err}");
    assert!(err.contains("--authority to add"), "{err}");
    assert!(!dir.path().join("keys/tokyo.key").exists(), "nothing is half done");
    let (code, _, err) = run(&["keygen", "--authority", "keys", "--out", "keys", "lima", "paris"]);
    assert!(code == 1 && err.contains("keys/paris.pem, keys/paris.key are there already"), "{err}");
    assert!(!dir.path().join("keys/lima.key").exists());
    assert_eq!(run(&["keygen", "--authority", "keys", "--out", "new", "paris"]).0, 0);
    assert_eq!(names_in(&dir.path().join("new")), ["authority.pem", "paris.key", "paris.pem"]);
    assert_eq!(std::fs::read(dir.path().join("keys/authority.key")).unwrap(), before);
    // A folder of another authority is not mixed with this one.
    assert_eq!(run(&["keygen", "--out", "other", "rome"]).0, 0);
    let (code, _, err) = run(&["keygen", "--authority", "keys", "--out", "other", "lima"]);
    assert!(code == 1 && err.contains("other/authority.pem is of another authority"), "{err}");
    // Certificate and key of two authorities do not match.
    std::fs::copy(dir.path().join("other/authority.key"), dir.path().join("keys/authority.key")).unwrap();
    let (code, _, err) = run(&["keygen", "--authority", "keys", "--out", "x", "lima"]);
    assert!(code == 2 && err.contains("do not belong together"), "{err}");
}

#[test]
fn keygen_refuses_names_that_are_none() {
    let dir = TempDir::new().unwrap();
    for (words, why) in [
        (&["keygen", "--out", "k", "Paris"][..], "did you mean \"paris\"?"),
        (&["keygen", "--out", "k", "../x"][..], "no name for a gateway"),
        (&["keygen", "--out", "k", "authority"][..], "the authority's own files"),
        (&["keygen", "--out", "k", "a", "a"][..], "twice"),
        (&["keygen", "--out", "k"][..], "<NAME>"),
        (&["keygen", "--out", "k", "--days", "0", "a"][..], "--days"),
    ] {
        let (code, _, err) = told(dir.path(), words);
        assert!(code == 2 && err.contains(why), "{words:?}: {code} {err}");
    }
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn check_shows_what_a_gateway_does() {
    let dir = TempDir::new().unwrap();
    assert_eq!(gateway(dir.path(), &["keygen", "--out", ".", "paris"]).status.code(), Some(0));
    config(dir.path(), "paris", "[[forward]]\nlisten = \"0.0.0.0:8080\"\nto = \"intranet:80\"\n");
    let (code, out, err) = told(dir.path(), &["check", "--config", "g.toml"]);
    assert_eq!(code, 0, "{err}");
    for words in ["name", "paris", "until 20", "no: it only dials", "127.0.0.1:4433", "intranet:80", "auto"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(err.contains("whoever reaches 0.0.0.0:8080 can connect to intranet:80"), "{err}");
    let (code, out, _) = told(dir.path(), &["check", "--config", "g.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["valid"], json["warnings"].as_array().unwrap().len()), (0, &true.into(), 1), "{json}");
}

/// Missing requirements of the machine are reported, with exit code 1; the file is still valid, for another machine.
#[test]
fn check_reports_missing_requirements_of_the_machine() {
    let dir = TempDir::new().unwrap();
    assert_eq!(told(dir.path(), &["keygen", "--out", ".", "paris"]).0, 0);
    for (more, words) in [
        ("[limits]\nmemory = \"100000 GiB\"\n", "limits.memory = \"100000 GiB\" is more than this machine has"),
        ("[control]\nsocket = \"none/such/c.sock\"\n", "none/such for control.socket"),
        (
            "prefixes = [\"198.51.100.0/24\"]\n[intercept]\ninterfaces = [\"nosuch0\"]\n",
            "there is no device \"nosuch0\" here",
        ),
    ] {
        config(dir.path(), "paris", more);
        let (code, out, err) = told(dir.path(), &["check", "--config", "g.toml"]);
        assert!(code == 1 && out.contains("paris"), "{more}: {code} {err}");
        assert!(err.lines().any(|line| line.starts_with("cellway-gateway: here: ") && line.contains(words)), "{err}");
        let (code, out, _) = told(dir.path(), &["check", "--config", "g.toml", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(code == 1 && json["valid"] == true, "{json}");
        assert!(!json["machine"].as_array().unwrap().is_empty(), "{json}");
        let (code, _, err) = told(dir.path(), &["check", "--config", "g.toml", "--file-only"]);
        assert!(code == 0 && err.is_empty(), "{err}");
    }
    // A folder that the service makes at its start is no reason to refuse.
    config(dir.path(), "paris", "[control]\nsocket = \"/run/no-such-gateway/c.sock\"\n");
    let (code, _, err) = told(dir.path(), &["check", "--config", "g.toml"]);
    assert!(code == 0 && err.contains("note: there is no folder /run/no-such-gateway"), "{code} {err}");
}

#[test]
fn check_reports_problems_of_keys() {
    let dir = TempDir::new().unwrap();
    let keys = |words: &[&str]| assert_eq!(gateway(dir.path(), &[&["keygen"], words].concat()).status.code(), Some(0));
    keys(&["--out", "one", "paris", "tokyo"]);
    keys(&["--out", "two", "paris"]);
    let wrong = |authority: &str, certificate: &str, key: &str, expected: &[&str]| {
        let identity =
            format!("[identity]\nauthority = \"{authority}\"\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n");
        config(dir.path(), "paris", &identity);
        let (code, out, err) = told(dir.path(), &["check", "--config", "g.toml"]);
        assert_eq!(code, 2, "{identity}{err}");
        let problems = err.lines().filter(|line| !line.contains("note: ")).count();
        assert_eq!(problems, expected.len(), "{err}");
        for words in expected {
            assert!(err.contains(words), "{words}: {err}");
        }
        assert!(!format!("{out}{err}").contains("PRIVATE"), "{out}{err}");
    };
    wrong(
        "one/authority.pem",
        "one/tokyo.pem",
        "one/tokyo.key",
        &["tokyo.pem: is of tokyo, and this gateway is \"paris\""],
    );
    wrong("one/authority.pem", "one/paris.pem", "one/tokyo.key", &["tokyo.key: is not the key of"]);
    wrong("two/authority.pem", "one/paris.pem", "one/paris.key", &["paris.pem: comes from another authority"]);
    wrong(
        "one/tokyo.pem",
        "one/paris.pem",
        "one/paris.key",
        &["tokyo.pem: is not the certificate of an authority", "comes from another"],
    );
    wrong("no.pem", "one/paris.pem", "one/paris.key", &["no.pem: No such file"]);
    wrong(
        "one/authority.pem",
        "one/paris.key",
        "one/paris.pem",
        &["there is no certificate in it", "there is no private key in it"],
    );
    // A key that everybody can read gets a warning.
    std::fs::set_permissions(dir.path().join("one/paris.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    config(
        dir.path(),
        "paris",
        "[identity]\nauthority = \"one/authority.pem\"\ncertificate = \"one/paris.pem\"\nkey = \"one/paris.key\"\n",
    );
    let (code, _, err) = told(dir.path(), &["check", "--config", "g.toml"]);
    assert!(code == 0 && err.contains("its mode is 0644"), "{err}");
}

#[test]
fn every_command_reports_the_location_of_a_problem() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("g.toml"), "name = \"a\"\nlocl = []\n").unwrap();
    for words in
        [&["check", "--config", "g.toml"][..], &["run", "--config", "g.toml"], &["status", "--config", "g.toml"]]
    {
        let (code, out, err) = told(dir.path(), words);
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}");
        assert!(err.contains("g.toml:2:1: locl: there is no such key; did you mean local?"), "{err}");
    }
    let (code, out, _) = told(dir.path(), &["check", "--config", "g.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["problems"][1]["line"]), (2, &2.into()), "{json}");
    let (code, _, err) = told(dir.path(), &["check", "--config", "none.toml"]);
    assert!(code == 2 && err.contains("none.toml: cannot be read: No such file"), "{err}");
}

#[test]
fn status_without_a_gateway_says_what_to_do() {
    let dir = TempDir::new().unwrap();
    let (code, _, err) = told(dir.path(), &["status", "--socket", "none.sock"]);
    assert!(code == 1 && err.contains("none.sock") && err.contains("is it running"), "{err}");
    config(dir.path(), "paris", "");
    let (code, _, err) = told(dir.path(), &["status", "--config", "g.toml"]);
    assert!(code == 2 && err.contains("names no socket"), "{err}");
    let (code, ..) = told(dir.path(), &["status", "--config", "g.toml", "--socket", "x"]);
    assert_eq!(code, 2);
}

#[test]
fn help_shows_examples_of_every_command() {
    let dir = TempDir::new().unwrap();
    let (code, out, _) = told(dir.path(), &["--help"]);
    assert_eq!(code, 0);
    assert!(!out.contains("reference"), "hidden: {out}");
    for command in ["run", "check", "keygen", "rules", "status"] {
        assert!(out.contains(command), "{out}");
        let (code, help, _) = told(dir.path(), &[command, "--help"]);
        assert!(code == 0 && help.contains(&format!("cellway-gateway {command} ")), "{help}");
    }
}

#[test]
fn rules_are_printed_and_nothing_is_done_without_interception() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), "paris", "");
    for command in ["apply", "remove"] {
        let (code, out, err) = told(dir.path(), &["rules", command, "--config", "g.toml"]);
        assert!(code == 0 && out.is_empty() && err.contains("no rules are needed"), "{code} {out}{err}");
    }
    config(dir.path(), "paris", "prefixes = [\"198.51.100.0/24\"]\n[intercept]\nport = 5999\ndevice = \"hold7\"\n");
    let (code, out, err) = told(dir.path(), &["rules", "print", "--config", "g.toml"]);
    assert!(code == 0 && out.starts_with("#!/bin/sh\n") && out.contains("hold7") && out.contains("5999"), "{out}{err}");
    assert_eq!(told(dir.path(), &["rules", "print", "--config", "none.toml"]).0, 2);
    assert_eq!(told(dir.path(), &["rules", "undo", "--config", "g.toml"]).0, 2);
}

#[test]
fn the_first_try_of_the_help_is_right() {
    let dir = TempDir::new().unwrap();
    let (_, help, _) = told(dir.path(), &["--help"]);
    assert_eq!(told(dir.path(), &["keygen", "--out", ".", "here", "there"]).0, 0);
    for file in ["here.toml", "there.toml"] {
        assert!(help.contains(&format!("run --config {file}")), "{help}");
        let lines = help.lines().skip_while(|line| line.trim() != format!("{file}:")).skip(1);
        let text: String = lines.take_while(|line| line.starts_with("    ")).map(|line| format!("{line}\n")).collect();
        std::fs::write(dir.path().join(file), text).unwrap();
        let (code, _, err) = told(dir.path(), &["check", "--config", file]);
        assert!(code == 0 && err.is_empty(), "{file}: {err}");
    }
}

/// Waits for a condition; panics on a timeout.
fn until(what: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !what() {
        assert!(std::time::Instant::now() < end, "it did not happen");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_gateway_runs_is_asked_reads_its_file_again_and_ends() {
    let dir = TempDir::new().unwrap();
    assert_eq!(told(dir.path(), &["keygen", "--out", ".", "paris"]).0, 0);
    config(dir.path(), "paris", "[control]\nsocket = \"c.sock\"\n");
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cellway-gateway"))
        .args(["run", "--config", "g.toml", "--json-log"])
        .current_dir(dir.path())
        .stderr(log)
        .spawn()
        .unwrap();
    let kill = |signal: &str| {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success())
    };
    let logged = |words: &str| std::fs::read_to_string(dir.path().join("log")).unwrap().contains(words);
    until(|| dir.path().join("c.sock").exists());
    let (code, out, err) = told(dir.path(), &["status", "--config", "g.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap_or_default();
    assert!(code == 0 && json["name"] == "paris" && json["peers"][0]["up"] == false, "{out}{err}");
    let (code, out, _) = told(dir.path(), &["status", "--socket", "c.sock", "--connections"]);
    assert!(code == 0 && out.contains("paris, up") && out.contains("down"), "{out}");
    kill("-HUP");
    until(|| logged("read again"));
    std::fs::write(dir.path().join("g.toml"), "nonsense").unwrap();
    kill("-HUP");
    until(|| logged("is not applied"));
    kill("-TERM");
    assert!(child.wait().unwrap().success());
    assert!(!dir.path().join("c.sock").exists());
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(!log.contains("needs a restart"), "the same file is no change: {log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    assert!(!log.contains("PRIVATE"), "{log}");
}

/// Compares a committed file with the output of a command.
fn committed(command: &str, path: &str, update: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let (code, printed, _) = told(Path::new("."), &[command]);
    assert_eq!(code, 0);
    if std::env::var_os(update).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &printed).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == printed, "{} is old: {update}=1 cargo test -p cellway-gatewayd", path.display());
}

#[test]
fn the_committed_schema_has_not_drifted() {
    committed("schema", "schema/gateway.schema.json", "UPDATE_SCHEMA");
}

#[test]
fn the_committed_reference_has_not_drifted() {
    committed("reference", "docs/gateway/configuration.md", "UPDATE_GOLDEN");
}

/// A result that cannot be written is a failure; a pipe that `head` has closed is not.
#[test]
fn a_result_that_does_not_get_out_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["schema"][..], &["reference"], &["--help"], &["keygen", "--out", "keys", "paris"]] {
        let run = |out: std::process::Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cellway-gateway"));
            command.args(words).current_dir(folder.path()).stdout(out).output().unwrap()
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = run(full.into());
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("cannot write to standard output: No space left on device"), "{words:?}: {said}");
    }
}
