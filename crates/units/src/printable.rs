//! Escapes text from files for terminals.

use std::borrow::Cow;

/// Returns `text` with control characters, except line breaks and tabs, escaped like `\u{1b}`, so that a printed file
/// cannot move the cursor, clear a line or change the direction of the text around it.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_unicode().to_string())
}

/// Escapes `text` for JSON, where such characters occur only inside strings: `\u009b`.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| format!("\\u{:04x}", u32::from(c)))
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.chars().any(controls) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if controls(c) { escape(c) } else { c.to_string() }).collect())
}

/// Returns true if `c` is of C0, DEL or C1 of ISO 6429, or changes the direction of text (Unicode Standard Annex 9).
fn controls(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_numbers_and_all_else_stays() {
        assert_eq!(printable("a\tb\nc \u{b5}s \u{2014}"), "a\tb\nc \u{b5}s \u{2014}");
        assert_eq!(printable("\u{1b}[2J\r\0\u{7f}\u{9b}\u{202e}"), r"\u{1b}[2J\u{d}\u{0}\u{7f}\u{9b}\u{202e}");
        assert_eq!(printable_json("\"\u{9b}\u{7f}\""), r#""\u009b\u007f""#);
    }
}
