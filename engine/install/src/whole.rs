//! A file that is ours as a whole, such as a program that a client loads. Every text is one
//! value; a file without anything in it is nobody's. Knows no files.

use crate::recipe::{Entry, WHOLE};
use serde_json::{Map, Value};

/// The text under the one key that such a file has.
pub(crate) fn value(text: &str) -> Value {
    let mut table = Map::new();
    if !text.is_empty() {
        table.insert(WHOLE.into(), text.into());
    }
    Value::Object(table)
}

/// The text that the entry is.
pub(crate) fn text(entry: &Entry) -> String {
    entry.value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Why;
    use crate::recipe::{Format, Part};
    use crate::text::{Document, Found};

    #[test]
    fn a_file_is_ours_nobodys_or_somebody_elses() {
        let ours = Entry::whole(Part::Door, "// ours\n{");
        let read = |text: &'static str| Document::read(Format::Whole, text).unwrap();
        assert_eq!(read("").find(&ours).unwrap(), Found::Absent);
        assert!(read("").is_empty());
        let (with, made) = read("").add(&ours).unwrap();
        assert_eq!(with, "// ours\n{");
        let document = Document::read(Format::Whole, &with).unwrap();
        assert_eq!(document.find(&ours).unwrap(), Found::Same);
        assert_eq!(document.take(&ours, &made).unwrap(), "");
        assert!(matches!(
            read("// theirs").find(&ours).unwrap(),
            Found::Other(_)
        ));
        let mixed = read("// theirs").add(&ours);
        assert!(matches!(mixed, Err(Why::NotAlone(_))), "{mixed:?}");
    }
}
