//! The unit of systemd and the Debian package: the files that they name exist.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::Path;
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file of this crate.
fn text(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap()
}

/// Returns the names in a folder.
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

/// The files that `make deb` makes in `target/release/packaging` before it packs.
const MADE: [&str; 4] =
    ["man/*.1.gz", "completions/cellway-gateway", "completions/_cellway-gateway", "completions/cellway-gateway.fish"];

#[test]
fn the_makefile_makes_the_files_of_the_package() {
    let makefile = std::fs::read_to_string(folder().join("../../Makefile")).unwrap();
    let deb: Vec<&str> =
        makefile.lines().skip_while(|line| !line.starts_with("deb:")).take_while(|line| !line.is_empty()).collect();
    for made in MADE {
        let name = made.trim_end_matches("/*.1.gz");
        assert!(deb.iter().any(|line| line.contains(&format!("$(PACKAGING)/{name}"))), "{name}: {deb:?}");
    }
}

fn run(words: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_cellway-gateway")).args(words).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Returns false if a program that a test needs is not installed, and reports the test as skipped, past the capture of
/// the test harness.
fn installed(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        std::io::stderr().write_all(format!("skipped: the program `{program}` is missing\n").as_bytes()).unwrap();
    }
    there
}

#[test]
fn every_command_and_option_has_its_place_in_the_manual() {
    let out = tempfile::tempdir().unwrap();
    run(&["manual", "--out", &out.path().display().to_string()]);
    let pages = names(out.path());
    for name in ["cellway-gateway.1", "cellway-gateway-run.1", "cellway-gateway-rules-apply.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("manual") || page.contains("reference")), "hidden: {pages:?}");
    for page in &pages {
        let path = out.path().join(page);
        let text = std::fs::read_to_string(&path).unwrap().replace("\\-", "-");
        // The page of a command has all options and examples of its help.
        let words: Vec<&str> = page.trim_end_matches(".1").split('-').skip(2).collect();
        let help = run(&[&words[..], &["--help"]].concat());
        let options = help.split_whitespace().filter(|word| word.starts_with("--"));
        for option in options.map(|word| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())) {
            assert!(text.contains(option), "{page} lacks {option}");
        }
        assert!(
            help.lines().filter(|line| line.starts_with("  cellway-gateway")).all(|line| text.contains(line)),
            "{page}"
        );
    }
}

#[test]
fn man_formats_the_pages_without_a_warning() {
    if !installed("man") {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    run(&["manual", "--out", &out.path().display().to_string()]);
    for page in names(out.path()) {
        let set = Command::new("man")
            .args(["--warnings=w", "-E", "UTF-8", "-l", &out.path().join(&page).display().to_string()])
            .output()
            .unwrap();
        assert!(set.status.success() && set.stderr.is_empty(), "{page}: {}", String::from_utf8_lossy(&set.stderr));
    }
}

#[test]
fn completions_have_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert!(script.contains("keygen") && script.contains("file-only"), "{script}");
    }
}

/// Writes the completions for `shell` to a file, and lets the shell check their syntax.
fn shell_reads_completions(shell: &str) {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("script");
    std::fs::write(&path, run(&["completions", shell])).unwrap();
    let read = Command::new(shell).arg("-n").arg(&path).output().unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{shell}: {read:?}");
}

#[test]
fn zsh_reads_the_completions() {
    if installed("zsh") {
        shell_reads_completions("zsh");
    }
}

#[test]
fn fish_reads_the_completions() {
    if installed("fish") {
        shell_reads_completions("fish");
    }
}

#[test]
fn bash_completes_commands_and_options() {
    if !installed("bash") {
        return;
    }
    shell_reads_completions("bash");
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("script");
    std::fs::write(&path, run(&["completions", "bash"])).unwrap();
    let asked = |words: &str| {
        let script = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={}; \
             $(complete -p cellway-gateway | sed 's/.*-F \\([^ ]*\\).*/\\1/') cellway-gateway \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
             echo \"${{COMPREPLY[*]}}\"",
            path.display(),
            words.split(' ').count() - 1
        );
        let ran = Command::new("bash").args(["-c", &script]).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(asked("cellway-gateway stat"), "status");
    assert_eq!(asked("cellway-gateway rules ap"), "apply");
    assert_eq!(asked("cellway-gateway check --fi"), "--file-only");
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
            // cargo-deb creates its users by the name of the file here.
            assert!(source.ends_with(&format!("/{name}")), "{source}");
        }
        let program = source.strip_prefix("target/release/").filter(|name| !name.starts_with("packaging/"));
        assert_eq!(mode, if program.is_some() { "755" } else { "644" }, "{source}");
        if let Some(made) = source.strip_prefix("target/release/packaging/") {
            assert!(MADE.contains(&made), "{source}");
        } else if let Some(program) = program {
            assert_eq!(manifest["bin"][0]["name"].as_str(), Some(program));
        } else if let Some((whole, kind)) = source.split_once('*') {
            // All files of a kind in a folder.
            assert!(target.ends_with('/') && names(&folder.join(whole)).iter().any(|n| n.ends_with(kind)), "{source}");
        } else {
            assert!(folder.join(source).is_file(), "{source}");
        }
    }
    assert!(folder.join(deb["license-file"][0].as_str().unwrap()).is_file());
    let units = &deb["systemd-units"];
    let named = format!("{}/{}.service", units["unit-scripts"].as_str().unwrap(), units["unit-name"].as_str().unwrap());
    assert!(folder.join(&named).is_file(), "{named}");
    // The paths in the unit are those of the package, its user is the created one, and so is its folder.
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
