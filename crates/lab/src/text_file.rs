//! Reading the text files that a scenario names.

use std::path::Path;

/// The most bytes of such a file: a recording of half an hour at 1 Gbit/s.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a text file, without the mark of its byte order that spreadsheets write.
///
/// # Errors
/// The fault, with the path: it is no regular file, too large, or cannot be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let about = std::fs::metadata(path).map_err(failed)?;
    // A pipe would be read until its writer ends, and can be read once only; a device may have no end.
    if !about.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    if about.len() > MAX_BYTES {
        return Err(format!("{shown} has {} bytes, more than {MAX_BYTES}", about.len()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => format!("{shown} is no text in UTF-8"),
        _ => failed(error),
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        std::fs::write(&file, "\u{feff}time\n").unwrap();
        assert_eq!(read(&file), Ok("time\n".to_owned()));
        let capture = folder.path().join("a.pcap");
        std::fs::write(&capture, [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
        for (path, fault) in [
            (&*capture, "a.pcap is no text in UTF-8"),
            (folder.path(), "is not a regular file"),
            (Path::new("/dev/null"), "is not a regular file"),
            (&folder.path().join("b"), "cannot read"),
        ] {
            let told = read(path).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }
}
