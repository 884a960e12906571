//! A line that says what is under way: on a terminal only, on standard error, and gone when it
//! is done.

use std::io::{IsTerminal, Stderr, Write};

/// The line; dropping it takes it away.
pub struct Progress<W: Write = Stderr> {
    out: Option<W>,
}

impl Progress {
    /// Shows what is under way, where somebody watches.
    pub fn show(what: &str) -> Self {
        let out = std::io::stderr();
        let watched = out.is_terminal();
        Self::on(watched.then_some(out), what)
    }
}

impl<W: Write> Progress<W> {
    fn on(mut out: Option<W>, what: &str) -> Self {
        if let Some(out) = &mut out {
            // Nobody is helped by an error about a line of progress.
            let _ = write!(out, "\r\u{1b}[K{what} …").and_then(|()| out.flush());
        }
        Self { out }
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        if let Some(out) = &mut self.out {
            let _ = write!(out, "\r\u{1b}[K").and_then(|()| out.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_again_and_nobody_else_sees_one() {
        let mut seen = Vec::new();
        drop(Progress::on(Some(&mut seen), "reading codex"));
        let seen = String::from_utf8(seen).unwrap();
        assert_eq!(seen, "\r\u{1b}[Kreading codex …\r\u{1b}[K");
        drop(Progress::on(None::<&mut Vec<u8>>, "reading codex"));
    }
}
