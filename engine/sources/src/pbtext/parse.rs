//! The grammar of protobuf's text format, and the JSON-like spellings of it.
//!
//! `name: "value"`, `name { … }`, `name: { … }`, `name: [a, b]`, quoted names, commas and
//! semicolons between fields, `#` comments, an outer pair of braces.

use std::iter::Peekable;
use std::str::CharIndices;

/// Blocks within blocks; deeper ones are damage.
const DEPTH: usize = 32;
/// Fields of one file; more are damage.
const FIELDS: usize = 20_000;

/// The fields of a message, in order.
pub(super) type Block = Vec<(String, Node)>;

/// A value.
#[derive(Debug, PartialEq)]
pub(super) enum Node {
    /// A string (unescaped), a number or a word, as bytes.
    Scalar(Vec<u8>),
    /// A message.
    Block(Block),
}

/// Where the text stops making sense.
#[derive(Debug, PartialEq)]
pub(super) struct Damage {
    /// One-based.
    pub line: u64,
    /// What is wrong there.
    pub what: &'static str,
}

/// Parses a whole file.
pub(super) fn message(text: &str) -> Result<Block, Damage> {
    let mut parser = Parser {
        text,
        rest: text.char_indices().peekable(),
        fields: 0,
    };
    let parsed = parser.file();
    parsed.map_err(|what| {
        let at = parser.at();
        let before = &text.as_bytes()[..at.min(text.len())];
        Damage {
            line: memchr::memchr_iter(b'\n', before).count() as u64 + 1,
            what,
        }
    })
}

struct Parser<'t> {
    text: &'t str,
    rest: Peekable<CharIndices<'t>>,
    fields: usize,
}

type Parsed<T> = Result<T, &'static str>;

impl<'t> Parser<'t> {
    fn at(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, c)| *c)
    }

    fn next_is(&mut self, wanted: char) -> bool {
        self.rest.next_if(|(_, c)| *c == wanted).is_some()
    }

    /// White space, comments and the zero bytes that a crash leaves at the end of a file.
    fn space(&mut self) {
        while let Some(c) = self.peek() {
            if c == '#' {
                while self.rest.next_if(|(_, c)| *c != '\n').is_some() {}
            } else if c.is_whitespace() || c == '\0' {
                self.rest.next();
            } else {
                return;
            }
        }
    }

    fn file(&mut self) -> Parsed<Block> {
        self.space();
        let block = match self.next_is('{') {
            true => self.block(Some('}'), 1)?,
            false => return self.block(None, 0),
        };
        self.space();
        match self.peek() {
            None => Ok(block),
            Some(_) => Err("something follows the closing brace"),
        }
    }

    /// The fields up to a closing bracket, or to the end of the file.
    fn block(&mut self, close: Option<char>, depth: usize) -> Parsed<Block> {
        if depth > DEPTH {
            return Err("too many blocks within blocks");
        }
        let mut out = Block::new();
        loop {
            self.space();
            match self.peek() {
                None if close.is_none() => return Ok(out),
                None => return Err("the closing brace is missing"),
                Some(c) if Some(c) == close => {
                    self.rest.next();
                    return Ok(out);
                }
                Some(',' | ';') if !out.is_empty() => {
                    self.rest.next();
                }
                Some(_) => self.field(&mut out, depth)?,
            }
        }
    }

    fn field(&mut self, out: &mut Block, depth: usize) -> Parsed<()> {
        let name = self.name()?;
        self.space();
        let colon = self.next_is(':');
        self.space();
        match self.peek() {
            Some('[') => self.list(&name, out, depth),
            Some('{' | '<') => self.value(name, out, depth),
            Some(_) if colon => self.value(name, out, depth),
            Some(_) => Err("a colon is missing after a name"),
            None => Err("a value is missing"),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                let bytes = self.quoted(quote)?;
                String::from_utf8(bytes).map_err(|_| "a name is no text")
            }
            // An extension or the type of an `Any`.
            Some('[') => {
                self.rest.next();
                let name = self.word(|c| !"]\n".contains(c));
                match self.next_is(']') {
                    true => Ok(name.trim().to_owned()),
                    false => Err("a bracket is missing after a name"),
                }
            }
            _ => match self.word(|c| c.is_alphanumeric() || c == '_' || c == '-') {
                "" => Err("a name is missing"),
                name => Ok(name.to_owned()),
            },
        }
    }

    fn word(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let start = self.at();
        while self.rest.next_if(|(_, c)| fits(*c)).is_some() {}
        let end = self.at();
        &self.text[start..end]
    }

    fn list(&mut self, name: &str, out: &mut Block, depth: usize) -> Parsed<()> {
        if depth > DEPTH {
            return Err("too many lists within lists");
        }
        self.rest.next();
        loop {
            self.space();
            match self.peek() {
                None => return Err("the closing bracket is missing"),
                Some(']') => {
                    self.rest.next();
                    return Ok(());
                }
                Some(',') => {
                    self.rest.next();
                }
                Some('[') => self.list(name, out, depth + 1)?,
                Some(_) => self.value(name.to_owned(), out, depth)?,
            }
        }
    }

    fn value(&mut self, name: String, out: &mut Block, depth: usize) -> Parsed<()> {
        self.fields += 1;
        if self.fields > FIELDS {
            return Err("too many fields");
        }
        let node = match self.peek() {
            Some('{') => {
                self.rest.next();
                Node::Block(self.block(Some('}'), depth + 1)?)
            }
            Some('<') => {
                self.rest.next();
                Node::Block(self.block(Some('>'), depth + 1)?)
            }
            Some('"' | '\'') => Node::Scalar(self.strings()?),
            _ => match self.word(|c| c.is_alphanumeric() || "_+-.".contains(c)) {
                "" => return Err("a value is missing"),
                // JSON's way to say that there is none.
                "null" => return Ok(()),
                word => Node::Scalar(word.as_bytes().to_vec()),
            },
        };
        out.push((name, node));
        Ok(())
    }

    /// One or several strings in a row, which belong together.
    fn strings(&mut self) -> Parsed<Vec<u8>> {
        let mut out = Vec::new();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            out.extend(self.quoted(quote)?);
            self.space();
        }
        Ok(out)
    }

    fn quoted(&mut self, quote: char) -> Parsed<Vec<u8>> {
        self.rest.next();
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None | Some('\n') => return Err("the closing quote is missing"),
                Some(_) => {}
            }
            match self.rest.next() {
                Some((_, c)) if c == quote => return Ok(out),
                Some((_, '\\')) => self.escape(&mut out)?,
                Some((_, c)) => push(c, &mut out),
                None => return Err("the closing quote is missing"),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let Some((_, c)) = self.rest.next() else {
            return Err("an escape is not finished");
        };
        match c {
            'a' => out.push(7),
            'b' => out.push(8),
            't' => out.push(b'\t'),
            'n' => out.push(b'\n'),
            'v' => out.push(11),
            'f' => out.push(12),
            'r' => out.push(b'\r'),
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.digit(8) else { break };
                    value = value * 8 + digit;
                }
                out.push(u8::try_from(value).map_err(|_| "an octal escape is no byte")?);
            }
            'x' | 'X' => {
                let first = self.digit(16).ok_or("an escape is not finished")?;
                let value = self.digit(16).map_or(first, |second| first * 16 + second);
                out.push(u8::try_from(value).map_err(|_| "a hexadecimal escape is no byte")?);
            }
            'u' => {
                let unit = self.digits(4)?;
                push(self.unicode(unit)?, out);
            }
            'U' => {
                let value = self.digits(8)?;
                push(char::from_u32(value).unwrap_or('\u{fffd}'), out);
            }
            '\n' => return Err("the closing quote is missing"),
            // A quote, a backslash, a question mark, JSON's slash.
            other => push(other, out),
        }
        Ok(())
    }

    /// A UTF-16 unit; a pair of them is written as two escapes.
    fn unicode(&mut self, unit: u32) -> Parsed<char> {
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or('\u{fffd}'));
        }
        let mut ahead = self.rest.clone();
        if ahead.next().map(|(_, c)| c) != Some('\\') || ahead.next().map(|(_, c)| c) != Some('u') {
            return Ok('\u{fffd}');
        }
        self.rest.next();
        self.rest.next();
        let low = self.digits(4)?;
        let pair = 0x10000 + ((unit - 0xd800) << 10) + low.wrapping_sub(0xdc00);
        let paired = (0xdc00..0xe000).contains(&low);
        Ok(char::from_u32(pair)
            .filter(|_| paired)
            .unwrap_or('\u{fffd}'))
    }

    fn digit(&mut self, radix: u32) -> Option<u32> {
        let (_, c) = self.rest.next_if(|(_, c)| c.is_digit(radix))?;
        c.to_digit(radix)
    }

    fn digits(&mut self, count: usize) -> Parsed<u32> {
        let mut value = 0_u32;
        for _ in 0..count {
            let digit = self.digit(16).ok_or("an escape is not finished")?;
            value = value << 4 | digit;
        }
        Ok(value)
    }
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
}
