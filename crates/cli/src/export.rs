//! `cellway export`.

use cellway_lab::{Error, Manifest};

use crate::args::Export;
use crate::{FAILED, Face, Failure, FlentFiles, WRONG_INPUT, output};

/// The advice outside the Python package, which has the series as a data frame.
const NO_EXPORT: &str = "files of flent are written by the Python package: pip install cellway (or `make run` in the \
                         source tree), then cellway export";

pub(crate) fn run(options: &Export, face: &mut Face<'_>) -> Result<(), Failure> {
    let Some(write) = &mut face.flent else {
        return Err(Failure { message: NO_EXPORT.to_owned(), code: FAILED });
    };
    output::detail(&format!("reads {}", options.folder.display()));
    // Nothing is read from an incomplete folder.
    Manifest::read(&options.folder).map_err(Error::from)?;
    let written = write(&FlentFiles {
        folder: &options.folder,
        path: &options.flent,
        run: options.run,
        node: options.node.as_deref(),
        force: options.force,
    });
    // The folder has no series, or the path cannot be written: either is in the options.
    for file in written.map_err(|message| Failure { message, code: WRONG_INPUT })? {
        output::line(&file.display().to_string());
    }
    Ok(())
}
