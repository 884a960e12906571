//! What was said in sessions of OpenCode, of both generations.

use super::{Axiowl, database, folder, program::copy_tree, sql, told};

const PROVIDER: &str = "opencode_cli";

fn said(case: &str, session: &str) -> Vec<(String, String)> {
    let session = format!("opencode_cli:session:{session}");
    told::said(PROVIDER, &folder(PROVIDER, case), &session)
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = expected
        .iter()
        .map(|(role, text)| ((*role).to_owned(), (*text).to_owned()));
    owned.collect()
}

#[test]
fn c446_messages_come_from_version_2_where_both_have_an_id() {
    let expected = [("user", "migrated user"), ("assistant", "migrated reply")];
    assert_eq!(said("two-generations", "ses_both0001"), pairs(&expected));
}

#[test]
fn c447_an_empty_transcript_of_version_2_stays_empty() {
    assert!(said("two-generations", "ses_emptyv2").is_empty());
}

#[test]
fn c448_what_only_version_1_has_is_read_as_version_1() {
    let expected = [("user", "said to version 1")];
    assert_eq!(said("two-generations", "ses_onlyv1"), pairs(&expected));
    let own = [
        ("user", "review one"),
        ("assistant", "MOCK-REPLY[1]: review one"),
    ];
    assert_eq!(
        said("sessions", "ses_dd33fb3f6ffe9x2zuqV58UrJyJ"),
        pairs(&own)
    );
}

/// The rows of `ses_full` stand in the table out of order, a message of every kind among them.
#[test]
fn c450_c451_c452_c453_c454_people_and_models_alone_in_the_order_they_spoke() {
    let expected = [
        ("user", "Rework the checkout"),
        // Its parts in the order of their numbers, in place of its own content (C451).
        ("assistant", "part one\npart two"),
        ("user", "Go on"),
        // No parts: its own content stands (C452).
        ("assistant", "inline one\ninline two"),
    ];
    assert_eq!(said("two-generations", "ses_full"), pairs(&expected));
    // The same for the one whose second part was written first.
    let native = [("user", "native user"), ("assistant", "first\nsecond")];
    assert_eq!(said("two-generations", "ses_native"), pairs(&native));
}

#[test]
fn c402_c449_unreviewed_versions_stay_metadata() {
    for session in ["ses_toonew", "ses_migrnew", "ses_v1new"] {
        let id = format!("opencode_cli:session:{session}");
        let why = told::none(PROVIDER, &folder(PROVIDER, "two-generations"), &id);
        assert!(
            why.to_string().contains("only its metadata"),
            "{session}: {why}"
        );
    }
}

/// A session beyond the limits is understood in part, and says so, in both generations.
#[test]
fn c443_a_session_beyond_the_limits_is_read_in_part_in_both_generations() {
    let axiowl = Axiowl::new();
    let world = axiowl.path("case");
    copy_tree(&folder(PROVIDER, "two-generations"), &world);
    let store = world.join(format!("home/{}", super::STORE));
    std::fs::remove_file(store.with_extension("db.sql")).expect("the text");
    let connection = database(&sql("two-generations"), &store);
    // More than a reader keeps of one session, in pieces that are each within its limits.
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
             INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data)
             SELECT 'long_' || i, 'ses_full', 'user', 100 + i, 0, 0,
               json_object('text', i || printf('%.*c', 900000, 'x')) FROM n;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
             INSERT INTO message (id, session_id, time_created, time_updated, data)
             SELECT 'long_' || i, 'ses_onlyv1', 1796000000001 + i, 0, '{\"role\":\"user\"}' FROM n;
             INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
             SELECT 'prt_' || id, id, 'ses_onlyv1', 0, 0,
               json_object('type', 'text', 'text', id || printf('%.*c', 900000, 'x'))
             FROM message WHERE id LIKE 'long_%';",
        )
        .expect("a long session");
    drop(connection);
    for session in ["ses_full", "ses_onlyv1"] {
        let id = format!("opencode_cli:session:{session}");
        told::read(PROVIDER, &world, &id, |reader| {
            let conversation = reader.conversation(u64::MAX).expect("read");
            assert!(!conversation.complete, "{session}");
            assert!(!conversation.said.is_empty(), "{session}");
            // What is missing may be the message that is looked for: that is not known.
            let unknown = reader.look("0190aaaa-0000-7000-8000-000000000001");
            assert!(unknown.is_err(), "{session}");
        });
    }
}

/// A message of ours is found by the line that carries its id, where a person says it.
#[test]
fn a_message_of_ours_is_found_with_the_end_of_its_turn() {
    let id = "0190aaaa-0000-7000-8000-000000000001";
    let line = format!("[AxiOwl {id}] from \"operator\" (cli, claimed); answer");
    let axiowl = Axiowl::new();
    let world = axiowl.path("case");
    copy_tree(&folder(PROVIDER, "two-generations"), &world);
    let store = world.join(format!("home/{}", super::STORE));
    std::fs::remove_file(store.with_extension("db.sql")).expect("the text");
    let connection = database(&sql("two-generations"), &store);
    let insert = |seq: i64, kind: &str, data: String| {
        let values = (format!("msg_{seq}"), kind, seq, data);
        connection
            .execute(
                "INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data)
                 VALUES (?1, 'ses_full', ?2, ?3, 0, 0, ?4)",
                values,
            )
            .expect("a message");
    };
    let look = || {
        told::read(
            PROVIDER,
            &world,
            "opencode_cli:session:ses_full",
            |reader| reader.look(id).expect("a look"),
        )
    };
    assert!(look().message.is_none());
    // A model that repeats the line is no delivery.
    let echoed =
        format!("{{\"content\":[{{\"type\":\"text\",\"text\":{line:?}}}],\"finish\":\"stop\"}}");
    insert(100, "assistant", echoed);
    assert!(look().message.is_none());
    insert(
        101,
        "user",
        format!("{{\"text\":{:?}}}", format!("{line}\nhello")),
    );
    let seen = look();
    let place = seen.message.expect("seen");
    assert_eq!(place.id, "msg_101");
    assert!(place.row.is_some() && place.offset.is_none());
    assert!(seen.end.is_none());
    insert(
        102,
        "assistant",
        "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"finish\":\"stop\"}".into(),
    );
    assert!(look().end.expect("the end").completed);
}
