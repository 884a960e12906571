//! One session of a rule's store, without reading those of all the others.
//!
//! What is left out is told by the rule alone, before a file is opened, so that the answer is
//! the one a whole run would give.

use axiowl_lang::rule::Rule;
use axiowl_lang::source::Source;
use axiowl_lang::template::Piece;
use axiowl_sources::read::Only;

/// Which files can hold a session: those whose name gives its id, where the rule takes the id
/// from there. `None` when it cannot be told by names.
pub fn files_of(rule: &Rule, session: &str) -> Option<Only> {
    let rows = &rule.rows;
    let (prefix, field) = match rows.session.as_ref()?.pieces() {
        [Piece::Field(field)] => ("", field),
        [Piece::Text(prefix), Piece::Field(field)] => (prefix.as_str(), field),
        _ => return None,
    };
    // A field that the rule makes itself stands in no file's name.
    let made = rows.first_of.iter().flatten().map(|(name, _)| name);
    let mut made = made.chain(rows.make.iter().flatten().map(|(name, _)| name));
    if made.any(|name| name == field) {
        return None;
    }
    let from = rows.from.as_ref()?;
    // A value that stands in the file as well, or is changed after it was read, may be another
    // one than that in the name.
    let plain = |source: &&str| match rule.sources.get(*source) {
        Some(Source::Jsonl(source)) => {
            let taken = source
                .take
                .iter()
                .any(|take| take.fields.contains_key(field));
            !taken && !source.convert.contains_key(field)
        }
        _ => false,
    };
    let sources = from.iter().map(|source| source.value.as_str());
    Some(Only {
        sources: sources.filter(plain).map(str::to_owned).collect(),
        field: field.clone(),
        value: session.strip_prefix(prefix)?.to_owned(),
    })
}
