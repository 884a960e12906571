//! "Did you mean": the known name nearest to a mistyped one.

use crate::diag::Help;

/// The nearest of `known`, when it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = 1 + word.chars().count() / 4;
    known
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, candidate)| candidate)
}

/// As [`suggest`], with the change that mends it where a single name is nearest.
pub(crate) fn correct<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> Help {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(word, known.iter().copied());
    let others = known.iter().copied().filter(|name| Some(*name) != near);
    let rival = near
        .zip(nearest(word, others))
        .filter(|(near, rival)| distance(word, near) == distance(word, rival));
    match (near, rival) {
        (_, Some((near, rival))) => format!("did you mean `{near}` or `{rival}`?").into(),
        (Some(near), None) => Help {
            text: format!("did you mean `{near}`?"),
            meant: Some(Box::new((word.to_owned(), near.to_owned()))),
        },
        (None, None) => suggest(word, known, what).into(),
    }
}

fn distance(word: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(&word.to_ascii_lowercase(), &candidate.to_ascii_lowercase())
}

/// The shortest name that goes on where a word stops: `claude` for `claude-code`.
fn begun<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let longer = known.iter().copied().filter(|name| name.starts_with(word));
    longer
        .filter(|_| word.chars().count() > 2)
        .min_by_key(|name| name.len())
}

/// A help line: the nearest name, else the list of all, cut where it gets long.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, what: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(word, known.iter().copied());
    if let Some(near) = near.or_else(|| begun(word, &known)) {
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
        let clients = ["claude-code-cli", "claude-code", "codex"];
        assert_eq!(
            suggest("claude", clients, "clients"),
            "did you mean `claude-code`?"
        );
        assert!(suggest("co", clients, "clients").starts_with("clients: "));
    }

    #[test]
    fn only_a_single_nearest_name_is_a_correction() {
        let meant = |word: &str, known: [&'static str; 2]| correct(word, known, "known").meant;
        let pair = |a: &str, b: &str| Some(Box::new((a.to_owned(), b.to_owned())));
        assert_eq!(meant("nmae", ["name", "source"]), pair("nmae", "name"));
        assert_eq!(meant("titel1", ["titel2", "titel3"]), None);
        assert_eq!(meant("zebra", ["name", "node"]), None);
    }
}
