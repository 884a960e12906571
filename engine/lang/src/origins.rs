//! Where each byte of a patched rule comes from.
//!
//! A patched rule is one text put together of pieces of two files. Diagnostics, `explain` and
//! `rules show` speak of the files a person can open, so every place is led back to them.

use crate::diag::{Diagnostic, Fix, SourceText, line_and_column};
use crate::folder::Layer;
use std::ops::Range;

/// A file that gave pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginFile {
    /// The layer it stands in.
    pub layer: Layer,
    /// Its path and text.
    pub source: SourceText,
}

/// A line of a file of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginLine {
    /// The layer.
    pub layer: Layer,
    /// Shown path.
    pub file: String,
    /// One-based.
    pub line: usize,
}

/// Where the pieces of a text come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    files: Vec<OriginFile>,
    /// In the order of the text, without gaps.
    pieces: Vec<Piece>,
}

/// A stretch of the text that one file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// Bytes of the text.
    len: usize,
    file: usize,
    /// The byte of the file it starts at.
    start: usize,
    /// Written by the engine (a comma, an indentation): all of it stands for `start`.
    made: bool,
}

/// A text to put in, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub text: String,
    pub start: usize,
    pub made: bool,
}

impl Fragment {
    /// A text as it stands in the file from byte `start` on.
    pub(crate) fn copied(text: &str, start: usize) -> Self {
        Self {
            text: text.to_owned(),
            start,
            made: false,
        }
    }

    /// A text that stands for byte `start` of the file.
    pub(crate) fn made(text: impl Into<String>, start: usize) -> Self {
        Self {
            text: text.into(),
            start,
            made: true,
        }
    }
}

impl Origins {
    /// A text that one file gives as a whole.
    pub(crate) fn whole(file: OriginFile) -> Self {
        let len = file.source.text.len();
        Self {
            files: vec![file],
            pieces: vec![Piece {
                len,
                file: 0,
                start: 0,
                made: false,
            }],
        }
    }

    /// Adds a file; its number is for [`Self::splice`].
    pub(crate) fn add(&mut self, file: OriginFile) -> usize {
        self.files.push(file);
        self.files.len() - 1
    }

    /// Puts fragments of a file in place of a range of the text, and gives the new text.
    pub(crate) fn splice(
        &mut self,
        text: &str,
        range: Range<usize>,
        file: usize,
        fragments: Vec<Fragment>,
    ) -> String {
        let mut pieces = Vec::with_capacity(self.pieces.len() + fragments.len() + 1);
        let mut rest = Vec::new();
        let mut at = 0;
        for piece in self.pieces.drain(..) {
            let (start, end) = (at, at + piece.len);
            at = end;
            if start < range.start {
                pieces.push(piece.cut(0..end.min(range.start) - start));
            }
            if end > range.end {
                rest.push(piece.cut(start.max(range.end) - start..end - start));
            }
        }
        let mut out = String::with_capacity(text.len());
        out.push_str(&text[..range.start]);
        for fragment in fragments {
            pieces.push(Piece {
                len: fragment.text.len(),
                file,
                start: fragment.start,
                made: fragment.made,
            });
            out.push_str(&fragment.text);
        }
        out.push_str(&text[range.end..]);
        pieces.extend(rest);
        pieces.retain(|piece| piece.len > 0);
        self.pieces = pieces;
        out
    }

    /// The file and byte that a byte of the text comes from.
    pub(crate) fn locate(&self, byte: usize) -> (&OriginFile, usize) {
        let (piece, at) = self.piece(byte);
        let into = if piece.made {
            0
        } else {
            (byte - at).min(piece.len)
        };
        (&self.files[piece.file], piece.start + into)
    }

    /// The piece around a byte, and where it starts in the text.
    fn piece(&self, byte: usize) -> (&Piece, usize) {
        let mut at = 0;
        for piece in &self.pieces {
            if byte < at + piece.len {
                return (piece, at);
            }
            at += piece.len;
        }
        const NOWHERE: &Piece = &Piece {
            len: 0,
            file: 0,
            start: 0,
            made: true,
        };
        match self.pieces.last() {
            Some(last) => (last, at - last.len),
            None => (NOWHERE, 0),
        }
    }

    /// The line that a byte of the text comes from.
    pub fn line(&self, byte: usize) -> OriginLine {
        let (file, at) = self.locate(byte);
        OriginLine {
            layer: file.layer.clone(),
            file: file.source.name.to_string(),
            line: line_and_column(&file.source.text, at).0,
        }
    }

    /// The files.
    pub fn files(&self) -> &[OriginFile] {
        &self.files
    }

    /// Leads the labels of a diagnostic that stand in the text called `name` back to the
    /// files they come from. Whether the place itself lies in the base, which is right on
    /// its own, so that it must be a consequence of the patch.
    pub(crate) fn lead_back(&self, name: &str, diagnostic: &mut Diagnostic) -> bool {
        let mut in_base = false;
        for label in diagnostic.labels.iter_mut().filter(|l| *l.file == *name) {
            let (piece, at) = self.piece(label.span.start);
            let file = &self.files[piece.file];
            let start = self.locate(label.span.start).1;
            // A span that runs on into another file ends with its piece.
            let end = match piece.made {
                true => start,
                false => start + label.span.end.min(at + piece.len) - label.span.start,
            };
            in_base |= label.primary && piece.file == 0;
            label.move_to(&file.source, start..end);
        }
        diagnostic.move_fix(|fix| {
            if *fix.file != *name {
                return Some(fix.clone());
            }
            let (piece, at) = self.piece(fix.span.start);
            let copied = !piece.made && fix.span.end <= at + piece.len;
            let (file, start) = self.locate(fix.span.start);
            copied.then(|| Fix {
                file: file.source.name.clone(),
                span: start..start + fix.span.len(),
                text: fix.text.clone(),
            })
        });
        in_base
    }
}

impl Piece {
    /// A part of the piece.
    fn cut(&self, part: Range<usize>) -> Self {
        Self {
            len: part.len(),
            file: self.file,
            start: if self.made {
                self.start
            } else {
                self.start + part.start
            },
            made: self.made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(layer: Layer, name: &str, text: &str) -> OriginFile {
        OriginFile {
            layer,
            source: SourceText::new(name, text),
        }
    }

    #[test]
    fn every_byte_is_led_back_after_several_splices() {
        let mut origins = Origins::whole(file(Layer::BuiltIn, "base", "aaa\nbbb\nccc\n"));
        let patch = origins.add(file(Layer::User, "patch", "x\nBBB\n"));
        let text = origins.splice(
            "aaa\nbbb\nccc\n",
            4..7,
            patch,
            vec![Fragment::made("  ", 2), Fragment::copied("BBB", 2)],
        );
        assert_eq!(text, "aaa\n  BBB\nccc\n");
        let text = origins.splice(&text, 0..4, patch, Vec::new());
        assert_eq!(text, "  BBB\nccc\n");
        let line = |at: usize| {
            let line = origins.line(at);
            (line.file, line.line)
        };
        assert_eq!(line(0), ("patch".to_owned(), 2));
        assert_eq!(line(3), ("patch".to_owned(), 2));
        assert_eq!(line(text.find('c').unwrap()), ("base".to_owned(), 3));
        assert_eq!(line(999).0, "base");
        let at = |byte: usize| origins.locate(byte).1;
        assert_eq!((at(0), at(1), at(2), at(4)), (2, 2, 2, 4));
    }
}
