//! "Did you mean": the known name nearest to a mistyped one.

/// The nearest of `known`, when it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = 1 + word.chars().count() / 4;
    known
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(
                &word.to_ascii_lowercase(),
                &candidate.to_ascii_lowercase(),
            );
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A help line: the nearest name, else the list of all, cut where it gets long.
pub(crate) fn suggest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if known.is_empty() {
        return format!("{what}: none");
    }
    const SHOWN: usize = 24;
    let mut list: Vec<String> = known.iter().take(SHOWN).map(|k| format!("`{k}`")).collect();
    if known.len() > SHOWN {
        list.push(format!("and {} more", known.len() - SHOWN));
    }
    format!("{what}: {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        assert_eq!(
            nearest("thread_sorce", ["thread_source", "source"]),
            Some("thread_source")
        );
        assert_eq!(nearest("nmae", ["name", "node"]), Some("name"));
        assert_eq!(nearest("zebra", ["name", "node"]), None);
        assert_eq!(
            suggest("zebra", ["name", "node"], "known fields"),
            "known fields: `name`, `node`"
        );
        assert_eq!(suggest("x", [], "known fields"), "known fields: none");
    }
}
