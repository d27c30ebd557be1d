//! The edge of the screen: all that a command prints passes here, so that no text of another agent
//! can command a terminal.

use std::io::{self, Stderr, Stdout, Write};

use crate::log::escape;

/// Escapes control characters and direction marks on the way to an output for people or programs.
pub(crate) struct Screen<W>(W);

/// Standard output, for lines beside the output of the command.
pub(crate) fn output() -> Screen<Stdout> {
    Screen(io::stdout())
}

/// Standard error, for lines beside the error of the command.
pub(crate) fn errors() -> Screen<Stderr> {
    Screen(io::stderr())
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W) -> Self {
        Self(out)
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            self.0.write_all(escape(chunk.valid()).as_bytes())?;
            if !chunk.invalid().is_empty() {
                self.0.write_all("\u{fffd}".as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        Screen::new(&mut out).write_all(bytes).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_character_that_commands_a_terminal_is_printed() {
        for (text, shown) in [
            ("Grüße\t1\n2\r\n", "Grüße\t1\n2\r\n"),
            ("\u{1b}[2J", "\\u001b[2J"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m", "\\u009b31m"),
            ("over\rwritten", "over\\u000dwritten"),
            ("back\u{8}space\u{7f}", "back\\u0008space\\u007f"),
            ("a\u{202e}b", "a\\u202eb"),
        ] {
            assert_eq!(printed(text.as_bytes()), shown);
        }
        assert_eq!(printed(b"a\xffb\xc2"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn json_means_the_same_after_it() {
        let value = serde_json::json!({"reason": "\u{1b}[2J\u{9b}\u{202e}\u{7f}\r\n"});
        let shown = printed(value.to_string().as_bytes());
        assert!(!shown.contains(char::is_control), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
