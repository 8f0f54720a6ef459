//! The unit of systemd and the Debian package: what they name is there.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of this crate.
fn text(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap()
}

/// What a folder holds.
fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_unit_names_commands_that_there_are() {
    let unit = text("packaging/cellway-gateway.service");
    let mut commands = 0;
    for line in unit.lines().filter(|line| line.starts_with("Exec")) {
        let Some((_, rest)) = line.split_once("/usr/bin/cellway-gateway ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().take_while(|word| !word.starts_with("--")).collect();
        let asked = Command::new(env!("CARGO_BIN_EXE_cellway-gateway")).args(&words).arg("--help").output().unwrap();
        let help = String::from_utf8(asked.stdout).unwrap();
        assert!(asked.status.success() && help.contains("--config <FILE>"), "{line}: {help}");
        commands += 1;
    }
    assert_eq!(commands, 4, "check, apply, run, remove");
}

#[test]
fn the_package_names_files_that_there_are() {
    let folder = folder();
    let unit = text("packaging/cellway-gateway.service");
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let deb = &manifest["package"]["metadata"]["deb"];
    let mut installed = Vec::new();
    for asset in deb["assets"].as_array().unwrap() {
        let [source, target, mode] = [0, 1, 2].map(|place| asset[place].as_str().unwrap());
        installed.push(target);
        if let Some(name) = target.strip_prefix("usr/lib/sysusers.d/") {
            // cargo-deb makes its users by the name that the file has here.
            assert!(source.ends_with(&format!("/{name}")), "{source}");
        }
        let program = source.strip_prefix("target/release/");
        assert_eq!(mode, if program.is_some() { "755" } else { "644" }, "{source}");
        if let Some(program) = program {
            assert_eq!(manifest["bin"][0]["name"].as_str(), Some(program));
        } else if let Some((whole, kind)) = source.split_once('*') {
            // All of a kind in a folder.
            assert!(target.ends_with('/') && names(&folder.join(whole)).iter().any(|n| n.ends_with(kind)), "{source}");
        } else {
            assert!(folder.join(source).is_file(), "{source}");
        }
    }
    assert!(folder.join(deb["license-file"][0].as_str().unwrap()).is_file());
    let units = &deb["systemd-units"];
    let named = format!("{}/{}.service", units["unit-scripts"].as_str().unwrap(), units["unit-name"].as_str().unwrap());
    assert!(folder.join(&named).is_file(), "{named}");
    // What the unit names is where the package puts it, its user the one that is made, its folder too.
    let of = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let page = Path::new(of("Documentation=file:///"));
    assert!(installed.contains(&&*format!("{}/", page.parent().unwrap().display())), "{}", page.display());
    assert!(folder.join("../../docs/gateway").join(page.file_name().unwrap()).is_file(), "{}", page.display());
    let users = text("packaging/sysusers.d/cellway-gateway.conf");
    assert!(users.lines().any(|line| line.starts_with(&format!("u {} ", of("User=")))), "{users}");
    let scripts = folder.join(deb["maintainer-scripts"].as_str().unwrap());
    let postinst = std::fs::read_to_string(scripts.join("postinst")).unwrap();
    let configuration = Path::new(of("ConditionPathExists=")).parent().unwrap();
    assert!(postinst.contains(&format!("-g {} -m 0750 {}\n", of("Group="), configuration.display())), "{postinst}");
    for script in names(&scripts) {
        let path = scripts.join(&script);
        let shell = Command::new("sh").arg("-n").arg(&path).output().unwrap();
        assert!(shell.status.success(), "{shell:?}");
        assert!(std::fs::read_to_string(&path).unwrap().lines().any(|line| line == "#DEBHELPER#"), "{script}");
    }
}
