//! Transcripts of every provider here.

use super::{ROOT, told};
use std::path::Path;

#[test]
fn transcripts_are_found_from_the_rows_of_every_provider() {
    for (provider, case, session, user, agent) in [
        (
            "cursor",
            "composers",
            "cursor:composer:11111111-1111-4111-8111-111111111111",
            "<user_query>\nPlease refactor the parser\n</user_query>",
            "Done.",
        ),
        (
            "antigravity",
            "summaries",
            "antigravity:cascade:88888888-8888-4888-8888-888888888888",
            "<USER_REQUEST>\nReview the design\n</USER_REQUEST>",
            "Looks fine.",
        ),
        (
            "antigravity_cli",
            "conversations",
            "antigravity_cli:conversation:bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb",
            "<USER_REQUEST>\nfix the tests\n</USER_REQUEST>",
            "ok",
        ),
        (
            "cursor_cli",
            "chats",
            "cursor_cli:session:55555555-5555-4555-8555-555555555555",
            "<user_query>\nhello cli\n</user_query>",
            "hi",
        ),
    ] {
        let folder = Path::new(ROOT).join(format!("rules/{provider}/fixtures/{case}"));
        let owned = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        let expected = [owned("user", user), owned("assistant", agent)];
        assert_eq!(
            told::said(provider, &folder, session),
            expected,
            "{provider}"
        );
    }
}
