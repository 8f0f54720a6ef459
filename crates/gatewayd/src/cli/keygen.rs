//! `cellway-gateway keygen`: an authority, and a certificate and a key per gateway.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::args::Keygen;
use super::{Failure, output};
use crate::config;
use crate::peering::identity::{self as make, Authority, Made};

/// The name of the authority's files.
const AUTHORITY: &str = "authority";

/// The two files of a gateway or of the authority.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn of(folder: &Path, name: &str) -> Files {
        Files { certificate: folder.join(format!("{name}.pem")), key: folder.join(format!("{name}.key")) }
    }
}

pub(super) fn run(options: &Keygen) -> Result<(), Failure> {
    for (i, name) in options.names.iter().enumerate() {
        config::check_name(name).map_err(Failure::input)?;
        if name == AUTHORITY {
            return Err(Failure::input("\"authority\" is the name of the authority's own files; use another name"));
        }
        if options.names[..i].contains(name) {
            return Err(Failure::input(format!("\"{name}\" is there twice")));
        }
    }
    // All existing files are reported before anything is written.
    let new = options.authority.is_none().then_some(AUTHORITY);
    let names = new.into_iter().chain(options.names.iter().map(String::as_str));
    let files = names.map(|name| Files::of(&options.out, name)).flat_map(|files| [files.certificate, files.key]);
    let there: Vec<String> = files.filter(|file| file.symlink_metadata().is_ok()).map(|f| output::shown(&f)).collect();
    if !there.is_empty() {
        let mut hint = "nothing is overwritten: use another folder, or move them away";
        if new.is_some() && there.iter().any(|file| Path::new(file) == Files::of(&options.out, AUTHORITY).key) {
            hint = "nothing is overwritten: use another folder, or --authority to add to this authority";
        }
        return Err(Failure::failed(format!("{} there already; {hint}", are(&there))));
    }
    let authority = match &options.authority {
        Some(folder) => load(folder)?,
        None => {
            let name = format!("Cellway gateways, authority of {}", options.names.join(", "));
            make::make_authority(&name).map_err(|error| Failure::failed(error.to_string()))?
        }
    };
    // A gateway needs the authority's certificate in addition to its own.
    let copy = Files::of(&options.out, AUTHORITY).certificate;
    match std::fs::read_to_string(&copy) {
        Ok(other) if other != authority.made.certificate => {
            let message = format!("{} is of another authority: use another folder", copy.display());
            return Err(Failure::failed(message));
        }
        _ => folder(&options.out)?,
    }
    if new.is_some() {
        write(&options.out, AUTHORITY, &authority.made)?;
    }
    for name in &options.names {
        let made = make::make_certificate(&authority, name, options.days);
        write(&options.out, name, &made.map_err(|error| Failure::input(format!("{name}: {error}")))?)?;
    }
    if copy.symlink_metadata().is_err() {
        create(&copy, 0o644, &authority.made.certificate)?;
    }
    for name in &options.names {
        output::line(&format!(
            "{name}: authority.pem, {name}.pem and {name}.key in {} are for it",
            options.out.display()
        ));
    }
    let secret = Files::of(options.authority.as_deref().unwrap_or(&options.out), AUTHORITY).key;
    output::line(&format!("keep {} away from the gateways: anybody who has it can make more", secret.display()));
    Ok(())
}

fn are(files: &[String]) -> String {
    format!("{} {}", files.join(", "), if files.len() == 1 { "is" } else { "are" })
}

fn load(folder: &Path) -> Result<Authority, Failure> {
    let files = Files::of(folder, AUTHORITY);
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
    };
    Authority::load(&read(&files.certificate)?, &read(&files.key)?)
        .map_err(|why| Failure::input(format!("{}, {}: {why}", files.certificate.display(), files.key.display())))
}

fn folder(path: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::failed(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

fn write(folder: &Path, name: &str, made: &Made) -> Result<(), Failure> {
    let files = Files::of(folder, name);
    create(&files.key, 0o600, &made.key)?;
    create(&files.certificate, 0o644, &made.certificate)
}

/// Writes a new file, with its mode from the start.
fn create(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}
