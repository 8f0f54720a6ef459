//! Events as JSON text sequences: a record separator, a JSON object, a line feed. RFC 7464.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use cellway_units::{Span, Time};

/// Writes one event after the other; keeps only the one in hand.
pub(super) struct Writer<'a> {
    to: &'a mut (dyn Write + Send),
    text: String,
    /// Events written, the header not counted.
    events: u64,
    /// The first error, which [`Writer::finish`] returns; nothing is written after it.
    failed: Option<io::Error>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(to: &'a mut (dyn Write + Send)) -> Writer<'a> {
        Writer { to, text: String::new(), events: 0, failed: None }
    }

    /// Writes the header. The run begins with the epoch, as in captures; qvis takes a `reference_time` of 0 for none, and
    /// shifts one of two ends. draft-ietf-quic-qlog-main-schema-03, section "JSON Text Sequences".
    pub(super) fn header(&mut self, title: &str, vantage_point: &str) {
        self.text.clear();
        let (title, name) = (Quoted(title), Quoted(title));
        let _ = write!(
            self.text,
            "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":{title},\"trace\":{{\"title\":{title},\
             \"common_fields\":{{\"time_format\":\"absolute\",\"protocol_type\":[\"TCP\"]}},\
             \"vantage_point\":{{\"name\":{name},\"type\":\"{vantage_point}\"}}}}}}"
        );
        self.flush();
    }

    /// Writes an event called `name`, whose data are `data`.
    pub(super) fn event(&mut self, at: Time, name: &str, data: impl FnOnce(&mut Object<'_>)) {
        self.text.clear();
        let at = Millis(at.as_ps());
        let _ = write!(self.text, "{{\"time\":{at},\"name\":\"{name}\",\"data\":");
        Object::write(&mut self.text, data);
        self.text.push('}');
        self.flush();
        self.events += 1;
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = writeln!(self.to, "\u{1e}{}", self.text).err();
        }
    }

    /// Returns true if a write has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the file; returns the number of events.
    ///
    /// # Errors
    /// The first write that failed.
    pub(super) fn finish(self) -> io::Result<u64> {
        match self.failed {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.events),
        }
    }
}

/// The members of a JSON object that is being written.
pub(super) struct Object<'a> {
    text: &'a mut String,
    empty: bool,
}

impl Object<'_> {
    fn write(text: &mut String, members: impl FnOnce(&mut Object<'_>)) {
        text.push('{');
        members(&mut Object { text, empty: true });
        text.push('}');
    }

    fn name(&mut self, name: &str) {
        let comma = if std::mem::take(&mut self.empty) { "" } else { "," };
        let _ = write!(self.text, "{comma}\"{name}\":");
    }

    /// Adds a number or `true`.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name);
        let _ = write!(self.text, "{value}");
    }

    pub(super) fn string(&mut self, name: &str, value: impl Display) {
        self.plain(name, Quoted(value));
    }

    pub(super) fn object(&mut self, name: &str, members: impl FnOnce(&mut Object<'_>)) {
        self.name(name);
        Object::write(self.text, members);
    }

    /// Adds an array of objects, one for each call of the function that `fill` gets.
    pub(super) fn objects(&mut self, name: &str, fill: impl FnOnce(&mut Array<'_>)) {
        self.name(name);
        self.text.push('[');
        fill(&mut Array { text: self.text, empty: true });
        self.text.push(']');
    }

    /// Adds ascending numbers as ranges, ends included: 1, 2, 4 as `[[1,2],[4,4]]`.
    pub(super) fn ranges(&mut self, name: &str, numbers: &[u64]) {
        self.name(name);
        self.text.push('[');
        for (index, range) in numbers.chunk_by(|before, after| before + 1 == *after).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(self.text, "{comma}[{},{}]", range[0], range[range.len() - 1]);
        }
        self.text.push(']');
    }
}

/// The elements of a JSON array that is being written.
pub(super) struct Array<'a> {
    text: &'a mut String,
    empty: bool,
}

impl Array<'_> {
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Object<'_>)) {
        if !std::mem::take(&mut self.empty) {
            self.text.push(',');
        }
        Object::write(self.text, members);
    }
}

/// Picoseconds as milliseconds, exact.
pub(super) struct Millis(u64);

impl From<Span> for Millis {
    fn from(span: Span) -> Millis {
        Millis(span.as_ps())
    }
}

impl Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PS: u64 = 1_000_000_000;
        let (mut fraction, mut digits) = (self.0 % PS, 9);
        while digits > 0 && fraction.is_multiple_of(10) {
            (fraction, digits) = (fraction / 10, digits - 1);
        }
        write!(f, "{}", self.0 / PS)?;
        if digits > 0 { write!(f, ".{fraction:0digits$}") } else { Ok(()) }
    }
}

/// A string with its quotes.
struct Quoted<T>(T);

impl<T: Display> Display for Quoted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.to_string().chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_milliseconds() {
        let text = |ps| Millis(ps).to_string();
        assert_eq!(
            [0, 1, 1_500_000_000, 20_000_000_001, 3_000_000_000].map(text),
            ["0", "0.000000001", "1.5", "20.000000001", "3"]
        );
    }

    #[test]
    fn an_event_is_one_record() {
        let mut to = Vec::new();
        let mut writer = Writer::new(&mut to);
        writer.event(Time::from_ps(2_500_000_000), "a:b", |data| {
            data.string("name", "say \"\\\n\"");
            data.ranges("ranges", &[1, 2, 4, 7, 8, 9]);
            data.objects("frames", |frames| {
                frames.object(|_| {});
                frames.object(|frame| frame.plain("fin", true));
            });
        });
        assert_eq!(writer.finish().unwrap(), 1);
        let expected = "\u{1e}{\"time\":2.5,\"name\":\"a:b\",\"data\":{\"name\":\"say \\\"\\\\\\u000a\\\"\",\
                        \"ranges\":[[1,2],[4,4],[7,9]],\"frames\":[{},{\"fin\":true}]}}\n";
        assert_eq!(String::from_utf8(to).unwrap(), expected);
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_write_is_the_error_of_the_file() {
        let mut full = Full;
        let mut writer = Writer::new(&mut full);
        writer.header("ftp-1", "client");
        assert!(writer.has_failed());
        writer.event(Time::ZERO, "a:b", |_| {});
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
