//! What can be a name and what is an address. A text that looks like a session id is never
//! taken for a name, whoever wrote it.

use axiowl_model::{SessionKey, UNTITLED, is_blank_name, is_uuid};

/// The nouns by which sessions are addressed, between a prefix and the id.
const NOUNS: [&str; 5] = ["session", "composer", "cascade", "conversation", "thread"];

/// True for texts shaped like a session id or session address: UUIDs with or without
/// hyphens, `ses_…`, `<prefix>:<noun>:<id>`, `<prefix>-<noun>:<id>`, and anything that
/// ends in `:<UUID>` such as a full `provider:node:session`.
pub fn looks_like_session(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_whitespace) {
        return false;
    }
    is_bare_id(text)
        || address(text).is_some()
        || text
            .rsplit_once(':')
            .is_some_and(|(_, bare)| is_bare_id(bare))
}

fn is_bare_id(text: &str) -> bool {
    let hex32 = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let opaque = text
        .strip_prefix("ses_")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    is_uuid(text) || hex32 || opaque
}

/// Takes `<prefix>:<noun>:<id>` or `<prefix>-<noun>:<id>` apart into prefix and id.
pub(crate) fn address(text: &str) -> Option<(&str, &str)> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    text.match_indices(':').find_map(|(colon, _)| {
        let (prefix, noun) = text[..colon].rsplit_once([':', '-'])?;
        let id = &text[colon + 1..];
        (NOUNS.contains(&noun) && !prefix.is_empty() && !id.is_empty()).then_some((prefix, id))
    })
}

/// True when a text can stand as the display name of that session: something shows, it is
/// no id, neither by shape nor the session's own, and not what nameless sessions are shown as.
pub fn is_clean_name(name: &str, key: &SessionKey) -> bool {
    let name = name.trim();
    !is_blank_name(name)
        && name != UNTITLED
        && name != key.session
        && name != key.bare_session()
        && !looks_like_session(name)
}

/// Why an identity is not complete, if it is not.
pub(crate) fn identity_gap(key: &SessionKey) -> Option<&'static str> {
    // A colon in front would make `provider:node:session` read as something else.
    if is_blank_name(&key.provider) {
        Some("the provider is missing")
    } else if is_blank_name(&key.node) {
        Some("the node is missing")
    } else if is_blank_name(&key.session) {
        Some("the session id is missing")
    } else if key.provider.contains(':') || key.node.contains(':') {
        Some("provider and node may hold no colon")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "01a22cbd-4a74-7c92-bbd7-ad9fc007bfa2";

    #[test]
    fn ids_and_addresses_look_like_sessions() {
        for text in [
            UUID,
            "01A22CBD4A747C92BBD7AD9FC007BFA2",
            "ses_1a2b3c",
            "some_cli:session:abc",
            "some:composer:1",
            "some:cascade:x-y",
            "some_cli:conversation:9",
            "some_cli:session:with:colons",
            "some-thread:abc",
            &format!("some:local:{UUID}"),
            &format!("  {UUID} "),
        ] {
            assert!(looks_like_session(text), "{text:?}");
        }
    }

    #[test]
    fn titles_do_not() {
        for text in [
            "",
            "Design Review",
            "fix: session: restore",
            "Fix the cart:session:id mix-up",
            "release:notes",
            "ses_",
            "sessions",
            "sess_review of ses_1",
            "add a session id (01a22cbd) to the log",
            "会话",
        ] {
            assert!(!looks_like_session(text), "{text:?}");
        }
    }

    #[test]
    fn c151_the_id_of_a_session_is_not_its_clean_name_whatever_its_shape() {
        let key = SessionKey::local("some_cli", "some_cli:session:nightly");
        assert!(!is_clean_name("nightly", &key));
        assert!(!is_clean_name(UUID, &key));
        assert!(!is_clean_name("\u{200b}", &key));
        assert!(is_clean_name("nightly build", &key));
        assert!(!is_clean_name(UNTITLED, &key));
    }
}
