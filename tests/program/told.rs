//! What was said in a session, found from its row by the rule's description.

use super::ROOT;
use axiowl_discover::{NoTranscript, Options, TranscriptReader, row_of};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;
use std::path::Path;

/// Asks for the transcript of one session of the world beside `world.yaml` in a folder.
fn asked<T>(
    provider: &str,
    folder: &Path,
    session: &str,
    look: impl FnOnce(Result<TranscriptReader, NoTranscript>) -> T,
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
    look(TranscriptReader::of(rule, &world, &found, u64::MAX))
}

/// Reads the transcript of one session.
pub fn read<T>(
    provider: &str,
    folder: &Path,
    session: &str,
    look: impl FnOnce(&mut TranscriptReader) -> T,
) -> T {
    asked(provider, folder, session, |reader| {
        look(&mut reader.expect("a transcript"))
    })
}

/// Why there is no transcript to read.
pub fn none(provider: &str, folder: &Path, session: &str) -> NoTranscript {
    asked(provider, folder, session, |reader| {
        reader.err().expect("no transcript")
    })
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
