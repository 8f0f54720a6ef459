//! The manual pages, one for the program and one for each command, made from the same text as `--help`.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use super::args::{Args, ManualOptions};
use super::{Failure, output};

/// The sections of the program's page that its help does not have (man-pages(7)).
const MORE: &str = "\
.SH EXIT STATUS
.TP
0
All went well.
.TP
1
The command failed; for \\fBcheck\\fR: the file is right, and this machine lacks something.
.TP
2
The arguments, the configuration or the keys are wrong.
.SH FILES
.TP
/etc/cellway\\-gateway/gateway.toml
The configuration that the service reads. Each key is explained in
/usr/share/doc/cellway\\-gateway/configuration.md and by \\fBcellway\\-gateway schema\\fR.
.TP
/run/cellway\\-gateway/control.sock
The socket that \\fBstatus\\fR and \\fBdrain\\fR connect to.
.TP
/usr/share/doc/cellway\\-gateway
Setup, operation, security and limits, and an example of a configuration.
.SH SEE ALSO
.BR nft (8),
.BR ip (8),
.BR tcp (7),
.BR systemd.service (5)
";

/// The version in the footer.
const SOURCE: &str = concat!("cellway-gateway ", env!("CARGO_PKG_VERSION"));

pub(super) fn run(options: &ManualOptions) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = output::shown(path);
        move |error: io::Error| Failure::failed(format!("{path}: {error}"))
    };
    std::fs::create_dir_all(&options.out).map_err(failed(&options.out))?;
    for (name, text) in pages().map_err(failed(&options.out))? {
        let path = options.out.join(name);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

/// Returns the name of the file of each page, and its text.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![page(&program)?];
    let mut commands: Vec<_> = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    while let Some(command) = commands.pop() {
        pages.push(page(&command)?);
        commands.extend(command.get_subcommands().cloned());
    }
    Ok(pages)
}

fn page(command: &clap::Command) -> io::Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    // Examples and lists are set in columns: the library would fill their lines.
    let columns = command.get_after_help().map(ToString::to_string);
    let man = Man::new(command.clone().after_help("")).section("1").manual("Cellway").source(SOURCE).date("");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    // whatis(1) lists this section, which must be one line.
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let short = about.split([':', '.']).next().unwrap_or_default();
    text.extend_from_slice(format!(".SH NAME\n{} \\- {short}\n", escaped(&name).trim_end()).as_bytes());
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(columns) = columns {
        text.extend_from_slice(b".SH EXAMPLES AND NOTES\n.nf\n");
        columns.lines().for_each(|line| text.extend_from_slice(escaped(line).as_bytes()));
        text.extend_from_slice(b".fi\n");
    }
    if name == "cellway-gateway" {
        text.extend_from_slice(MORE.as_bytes());
    }
    Ok((format!("{name}.1"), text))
}

/// Returns a line of text as input for roff, which takes a dot or an apostrophe at the start of a line for a request
/// (groff(7)).
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
    format!("{guard}{text}\n")
}
