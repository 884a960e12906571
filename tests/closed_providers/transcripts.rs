//! What was said in a session, found from its row by the rule's description.

use super::{Path, ROOT};
use axiowl_discover::{Options, TranscriptReader, row_of};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;

/// Reads the transcript of one session of the world beside `world.yaml` in a folder.
pub fn read<T>(
    provider: &str,
    folder: &Path,
    session: &str,
    look: impl FnOnce(&mut TranscriptReader) -> T,
) -> T {
    let rules = Path::new(ROOT).join("rules");
    let sources = Sources {
        disk: Some(&rules),
        ..Sources::default()
    };
    let rules = layers::load_all(&sources);
    let rule = rules.get(provider).expect("the rule");
    let world = std::fs::read_to_string(folder.join("world.yaml")).expect("world");
    let spec = WorldSpec::parse("world.yaml", &world).expect("world");
    let world = World::fixture(folder, &spec);
    let found = row_of(rule, &world, session, &Options::default()).expect("the session");
    let reader = TranscriptReader::of(rule, &world, &found, u64::MAX);
    look(&mut reader.expect("a transcript"))
}

/// Role and text of every message.
pub fn said(provider: &str, folder: &Path, session: &str) -> Vec<(String, String)> {
    let conversation = read(provider, folder, session, |reader| {
        reader.conversation(1 << 20).expect("read")
    });
    assert!(conversation.complete);
    let said = conversation.said.into_iter();
    said.map(|said| (said.role, said.text)).collect()
}

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
        assert_eq!(said(provider, &folder, session), expected, "{provider}");
    }
}
