//! `cellway lab`: the lab as pages for a browser, of which a Python package that was built with them has a copy.

use std::path::Path;

use crate::args::Lab;
use crate::{FAILED, Face, Failure, LabPages, NotDrawn, WRONG_INPUT, draw, output};

/// The advice outside the Python package, which has the pages.
const NO_PAGES: &str = "the lab is part of the Python package: pip install cellway, or `make lab` in the source tree";

pub(crate) fn run(options: &Lab, face: &mut Face<'_>) -> Result<(), Failure> {
    let Some(find) = &mut face.lab else {
        return Err(Failure { message: NO_PAGES.to_owned(), code: FAILED });
    };
    let text = options.file.as_deref().map(read).transpose()?;
    let found = find(&LabPages {
        scenario: text.as_deref(),
        name: options.file.as_deref(),
        out: options.out.as_deref(),
        force: options.force,
    });
    let lab = found.map_err(|not_found| match not_found {
        NotDrawn::WrongInput(message) => Failure { message, code: WRONG_INPUT },
        NotDrawn::Failed(message) => Failure { message, code: FAILED },
    })?;
    output::line(&lab.address);
    if options.out.is_none() {
        draw::open_or_say(&lab.page, face, "open the address above");
    }
    Ok(())
}

/// Reads a scenario file as it is: the lab shows its problems beside the text.
fn read(file: &Path) -> Result<String, cellway_lab::Error> {
    output::detail(&format!("reads {}", file.display()));
    std::fs::read_to_string(file).map_err(|source| cellway_lab::Error::Read { path: file.to_owned(), source })
}
