//! The output of a program: stored for its figures, forwarded line by line, and matched against its `ready` pattern.

use std::fmt;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use regex::bytes::Regex;

use crate::error::Error;

/// The most octets that are stored of each stream of a program; the rest is read and discarded.
const KEPT: usize = 16 << 20;
/// The longest line, in octets; a longer one is forwarded in parts of this length.
const LONGEST_LINE: usize = 8192;

/// A callback that receives the name of a program and each line that it prints, without the newline. It is called on
/// the reader threads.
#[derive(Clone)]
pub struct Lines(Arc<Receive>);

type Receive = dyn Fn(&str, &[u8]) + Send + Sync;

impl Lines {
    /// Passes lines to `receive`.
    pub fn new(receive: impl Fn(&str, &[u8]) + Send + Sync + 'static) -> Lines {
        Lines(Arc::new(receive))
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

/// Both output streams of a program, each read on its own thread.
#[derive(Debug, Default)]
pub(super) struct Output {
    texts: [Arc<Mutex<Vec<u8>>>; 2],
    readers: Vec<JoinHandle<()>>,
    matched: Arc<AtomicBool>,
}

/// The handling of each line.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// The name of the program.
    pub(super) name: String,
    pub(super) lines: Option<Lines>,
    /// The pattern that marks the program as ready.
    pub(super) pattern: Option<Regex>,
}

impl Output {
    /// Reads standard output (0) or standard error (1) to its end.
    pub(super) fn read(&mut self, which: usize, mut from: impl Read + Send + 'static, to: &Use) -> Result<(), Error> {
        let (text, matched, to) = (self.texts[which].clone(), self.matched.clone(), to.clone());
        let reader = std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            let mut chunk = [0; 8192];
            let mut line = Vec::new();
            while let Ok(octets @ 1..) = from.read(&mut chunk) {
                {
                    let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = KEPT.saturating_sub(text.len());
                    text.extend_from_slice(&chunk[..octets.min(room)]);
                }
                to.take(&mut line, &chunk[..octets], &matched);
            }
            if !line.is_empty() {
                to.pass(&line);
            }
        });
        self.readers.push(reader.map_err(Error::Thread)?);
        Ok(())
    }

    /// Returns true if a line has matched the pattern.
    pub(super) fn has_matched(&self) -> bool {
        self.matched.load(Ordering::Acquire)
    }

    /// Returns standard output and standard error. Waits only briefly for the readers, because a child that the program
    /// has left running may hold the pipes open.
    pub(super) fn finish(&mut self) -> [String; 2] {
        for reader in &self.readers {
            for _ in 0..50 {
                if reader.is_finished() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.texts.each_ref().map(|text| {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&text).into_owned()
        })
    }

    /// Returns the last line of standard error, or else of standard output.
    pub(super) fn last_line(&mut self) -> String {
        let [out, err] = self.finish();
        let last = |text: &str| text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
        last(&err).or_else(|| last(&out)).unwrap_or_else(|| "it printed nothing".to_owned())
    }
}

impl Use {
    /// Appends `octets` to the incomplete `line`, and forwards lines that are complete.
    fn take(&self, line: &mut Vec<u8>, octets: &[u8], matched: &AtomicBool) {
        for part in octets.split_inclusive(|&octet| octet == b'\n') {
            let ends = part.ends_with(b"\n");
            line.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            // The pattern is also matched before the newline, since a prompt has none.
            if self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
                matched.store(true, Ordering::Release);
            }
            if ends || line.len() >= LONGEST_LINE {
                self.pass(line);
                line.clear();
            }
        }
    }

    fn pass(&self, line: &[u8]) {
        if let Some(Lines(receive)) = &self.lines {
            receive(&self.name, line.strip_suffix(b"\r").unwrap_or(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_passed_on_whole_and_the_pattern_is_found_anywhere() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        let lines = Lines::new(move |name: &str, line: &[u8]| {
            kept.lock().unwrap().push(format!("{name}: {}", String::from_utf8_lossy(line)));
        });
        let pattern = Some(Regex::new("read(y|ing) on [0-9]+").unwrap());
        let to = Use { name: "web".to_owned(), lines: Some(lines), pattern };
        let mut output = Output::default();
        let text: &[u8] = b"one\r\nrea\n\nalready on 80";
        output.read(0, text, &to).unwrap();
        assert_eq!(output.finish()[0].as_bytes(), text);
        assert!(output.has_matched());
        assert_eq!(*seen.lock().unwrap(), ["web: one", "web: rea", "web: ", "web: already on 80"]);
        let mut output = Output::default();
        output.read(1, &b"rea\ndy on 80\n \n"[..], &to).unwrap();
        assert_eq!(output.last_line(), "dy on 80");
        assert!(!output.has_matched(), "a match does not cross lines");
    }
}
