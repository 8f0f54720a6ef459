//! `cellway completions` and `cellway man`: what a shell and man(1) read about the command.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Args;
use crate::{FAILED, Failure, output};

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cellway", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}

/// Writes a manual page of each command to a folder, which is created. Earlier pages there are replaced.
pub(crate) fn man(folder: &Path) -> Result<(), Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let written = std::fs::create_dir_all(folder).and_then(|()| write_pages(command, folder));
    written
        .map_err(|e| Failure { message: format!("cannot write pages to {}: {e}", folder.display()), code: FAILED })?;
    output::say(&format!("manual pages in {}; the first is cellway.1", folder.display()));
    Ok(())
}

/// Writes the pages of a command and of those below it.
fn write_pages(command: Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        write_pages(below, folder)?;
    }
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let path = folder.join(page.get_filename());
    std::fs::write(&path, with_examples(&String::from_utf8_lossy(&text)))?;
    output::detail(&format!("wrote {}", path.display()));
    Ok(())
}

/// Keeps man(1) from filling the lines of examples, which begin with blanks in the last section of a page.
fn with_examples(page: &str) -> String {
    let Some((before, extra)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let mut text = format!("{before}.SH EXAMPLES\n");
    let mut is_filled = true;
    for line in extra.lines().filter(|line| !["Examples:", "Example:"].contains(line)) {
        if is_filled == line.starts_with("  ") {
            is_filled = !is_filled;
            text += if is_filled { ".fi\n" } else { ".nf\n" };
        }
        text += line;
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines() {
        let page = ".SH NAME\nx\n.SH EXTRA\nExamples:\n  cellway a\n    b\n\nA text.\n.SH VERSION\n";
        let expected = ".SH NAME\nx\n.SH EXAMPLES\n.nf\n  cellway a\n    b\n.fi\n\nA text.\n.SH VERSION\n";
        assert_eq!(with_examples(page), expected);
        assert_eq!(with_examples(".SH NAME\nx\n"), ".SH NAME\nx\n");
    }
}
