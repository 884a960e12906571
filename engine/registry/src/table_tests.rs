//! The file format: what survives a round trip, and what damage costs.

use super::*;
use crate::samples::{agent, at};
use axiowl_model::{SessionKey, Timestamp};
use proptest::prelude::*;

fn lines(table: &Table) -> Vec<String> {
    table.render().lines().map(str::to_owned).collect()
}

fn header() -> String {
    HEADER.map(|(_, name)| name).join("\t")
}

const ROW: &str = "some_cli:local:s1\tReview\t[\"Review\",\"s1\"]\tsome_cli\ts1\tlocal\ttrue\ttrue\tproof\tproof\t\t/w\t2026-11-30T13:55:50.140Z\t\t\t";

#[test]
fn c011_to_c023_a_new_table_has_the_documented_columns_in_their_order() {
    let mut table = Table::default();
    table.rows.push(agent("some_cli", "s1", "Review", 0));
    let lines = lines(&table);
    assert_eq!(
        lines[0],
        "agent_id\tdisplay_name\taliases\tprovider\tprovider_session_id\tnode_id\tenabled\t\
         sendable\tsource\tproof\thome\tcwd\tfirst_seen_at\tlast_seen_at\tlast_verified_at\t\
         last_error"
    );
    assert_eq!(
        lines[1],
        "some_cli:local:s1\tReview\t[\"Review\"]\tsome_cli\ts1\tlocal\ttrue\ttrue\t\
         some_cli_proof\tsome_cli_proof\t\t\t2026-11-30T00:53:20.000Z\t\
         2026-11-30T00:53:20.000Z\t2026-11-30T00:53:20.000Z\t"
    );
}

#[test]
fn columns_are_read_by_name_kept_in_their_order_and_unknown_ones_keep_their_values() {
    let file = "colour\tsession_note\tagent_id\tdisplay_name\tsendable\n\
                red\t\tsome_cli:local:a\tA\ttrue\n\
                \tline\\nbreak\tsome_cli:local:b\tB\tfalse\n";
    let table = Table::parse(file.as_bytes()).unwrap();
    assert!(table.damaged.is_empty());
    assert_eq!(table.rows[0].key, SessionKey::local("some_cli", "a"));
    assert!(table.rows[0].enabled && table.rows[0].sendable);
    assert_eq!(
        table.rows[1].extra,
        [("session_note".to_owned(), "line\nbreak".to_owned())]
    );

    let written = table.render();
    let first = written.lines().next().unwrap();
    assert!(first.starts_with("colour\tsession_note\tagent_id\tdisplay_name\tsendable\taliases"));
    assert!(written.contains("\nred\t\tsome_cli:local:a\tA\ttrue\t[]\tsome_cli\ta\tlocal\t"));
    let again = Table::parse(written.as_bytes()).unwrap();
    assert_eq!(again.rows, table.rows);
    assert_eq!(again.render(), written);
}

#[test]
fn a_table_without_agent_ids_is_read_by_its_parts() {
    let table = Table::parse(b"provider\tprovider_session_id\nsome_cli\tx:y\n").unwrap();
    assert_eq!(table.rows[0].agent_id(), "some_cli:local:x:y");
    assert!(table.rows[0].enabled && !table.rows[0].sendable);
}

#[test]
fn a_file_with_a_foreign_first_line_is_refused() {
    for file in [
        &b"name\temail\nA\ta@example.org\n"[..],
        ROW.as_bytes(),
        b"\xff\xfe\x00\n",
        b"agent_id\tagent_id\n",
        b"agent_id\tbad\\q\n",
        b"\n\nhello",
    ] {
        assert!(
            Table::parse(file).is_err(),
            "{:?}",
            String::from_utf8_lossy(file)
        );
    }
}

#[test]
fn an_empty_file_is_an_empty_table() {
    for file in [&b""[..], b"\n", b"\r\n", b"\xef\xbb\xbf"] {
        assert!(Table::parse(file).unwrap().rows.is_empty());
    }
}

#[test]
fn a_damaged_line_costs_itself_and_is_named() {
    let bad: [(&[u8], &str); 9] = [
        (b"half", "ends before the column"),
        (b"\xff\xfe\t\t", "not UTF-8"),
        (
            &ROW.replace("true\ttrue", "true\tyes").into_bytes(),
            "sendable `yes`",
        ),
        (
            &ROW.replace("[\"Review\",\"s1\"]", "[\"Review").into_bytes(),
            "aliases",
        ),
        (
            &ROW.replace("2026-11", "2026-13").into_bytes(),
            "first_seen_at",
        ),
        (&ROW.replace("/w", r"C:\work").into_bytes(), "cwd `\\w`"),
        (
            &ROW.replace("\ts1\t", "\ts2\t").into_bytes(),
            "is not `some_cli:local:s2`",
        ),
        (&format!("{ROW}\tmore").into_bytes(), "more fields"),
        (&ROW.replace("some_cli", "").into_bytes(), "provider"),
    ];
    for (line, problem) in bad {
        let mut file = format!("{}\n{}\n", header(), ROW.replace("s1", "before")).into_bytes();
        file.extend_from_slice(line);
        file.extend_from_slice(format!("\n{}\n", ROW.replace("s1", "after")).as_bytes());
        let table = Table::parse(&file).unwrap();
        let shown = String::from_utf8_lossy(line);
        assert_eq!(table.rows.len(), 2, "{shown}");
        assert_eq!(table.damaged.len(), 1, "{shown}");
        assert_eq!((table.damaged[0].line, &*table.damaged[0].bytes), (3, line));
        assert!(
            table.damaged[0].problem.contains(problem),
            "{}",
            table.damaged[0].problem
        );
    }
}

#[test]
fn of_two_lines_with_one_identity_the_first_stays() {
    let second = ROW.replace("Review\t", "Impostor\t");
    let file = format!(
        "{}\n{ROW}\n{second}\n{}\n",
        header(),
        ROW.replace("s1", "s0")
    );
    let table = Table::parse(file.as_bytes()).unwrap();
    let names: Vec<_> = table
        .rows
        .iter()
        .map(|row| row.display_name.as_str())
        .collect();
    assert_eq!(names, ["Review", "Review"]);
    assert_eq!(
        (table.damaged[0].line, &*table.damaged[0].bytes),
        (3, second.as_bytes())
    );
}

#[test]
fn what_editors_do_to_line_ends_is_no_damage() {
    let trimmed = ROW.trim_end();
    let trimmed = format!("{trimmed}\t"); // last_seen_at stays, though empty
    for row in [ROW.to_owned(), trimmed, format!("{ROW}\r")] {
        let file = format!("\u{feff}{}\r\n{row}\n\n", header());
        let table = Table::parse(file.as_bytes()).unwrap();
        assert_eq!((table.rows.len(), table.damaged.len()), (1, 0), "{row:?}");
    }
}

#[test]
fn aliases_in_any_json_form_are_read() {
    for (json, aliases) in [
        ("[]", vec![]),
        ("", vec![]),
        ("[ \"a\" , \"b\" ]", vec!["a", "b"]),
        (r#"["a","b\\"c"]"#, vec!["a", "b\"c"]),
        (r#"["\\u7ed3"]"#, vec!["结"]),
        (r#"[","]"#, vec![","]),
        (r#"["],["]"#, vec!["],["]),
    ] {
        let file = format!(
            "{}\n{}\n",
            header(),
            ROW.replace("[\"Review\",\"s1\"]", json)
        );
        let table = Table::parse(file.as_bytes()).unwrap();
        assert_eq!(table.rows[0].aliases, aliases, "{json}");
    }
    for json in [
        "[\"a\"\"b\"]",
        "[\"a\",]",
        "[1]",
        "\"a\"",
        "[\"a\"",
        "[\"a\"]]",
    ] {
        let file = format!(
            "{}\n{}\n",
            header(),
            ROW.replace("[\"Review\",\"s1\"]", json)
        );
        assert_eq!(
            Table::parse(file.as_bytes()).unwrap().damaged.len(),
            1,
            "{json}"
        );
    }
}

prop_compose! {
    fn any_row()(
        id in "[a-z_]{1,8}", session in "\\PC{1,12}", texts in prop::collection::vec(any::<String>(), 6),
        aliases in prop::collection::vec(any::<String>(), 0..5), flags in any::<(bool, bool)>(),
        times in any::<[Option<i64>; 3]>(), note in any::<String>(),
    ) -> AgentRecord {
        let time = |n: usize| times[n].map(Timestamp::from_millis);
        let mut row = AgentRecord::new(SessionKey::local(id, format!("s{session}")), &*texts[0]);
        row.aliases = aliases;
        (row.enabled, row.sendable) = flags;
        row.source.clone_from(&texts[1]);
        row.proof.clone_from(&texts[2]);
        row.home.clone_from(&texts[3]);
        row.cwd.clone_from(&texts[4]);
        row.last_error.clone_from(&texts[5]);
        (row.first_seen_at, row.last_seen_at, row.last_verified_at) = (time(0), time(1), time(2));
        if !note.is_empty() {
            row.extra.push(("note".into(), note));
        }
        row
    }
}

proptest! {
    #[test]
    fn any_row_comes_back_as_it_was(rows in prop::collection::btree_map("[a-z]{1,4}", any_row(), 0..6)) {
        let mut table = Table::default();
        for (provider, mut row) in rows {
            row.key.provider = provider;
            table.rows.push(row);
        }
        let written = table.render();
        let again = Table::parse(written.as_bytes()).unwrap();
        prop_assert_eq!(&again.rows, &table.rows);
        prop_assert!(again.damaged.is_empty());
        prop_assert_eq!(again.render(), written);
    }

    #[test]
    fn no_bytes_can_panic_it_and_every_line_is_accounted_for(
        body in prop::collection::vec(any::<u8>(), 0..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let _ = Table::parse(&body);
        let mut file = format!("{}\n{ROW}\n{ROW}\n", header()).into_bytes();
        let at = cut.index(file.len());
        file.splice(at..at, body.iter().copied());
        if let Ok(table) = Table::parse(&file) {
            let rendered = table.render();
            prop_assert!(Table::parse(rendered.as_bytes()).unwrap().damaged.is_empty());
            let filled = file.split(|b| *b == b'\n').skip(1).filter(|l| !l.trim_ascii().is_empty());
            prop_assert_eq!(table.rows.len() + table.damaged.len(), filled.count());
        }
    }
}

#[test]
fn times_are_rfc_3339_with_milliseconds() {
    let mut table = Table::default();
    table.rows.push(agent("some_cli", "s1", "A", 0));
    table.rows[0].first_seen_at = "2026-11-30T15:55:50.1+02:00".parse().ok();
    assert!(table.render().contains("\t2026-11-30T13:55:50.100Z\t"));
    assert_eq!(at(0).to_string(), "2026-11-30T00:53:20.000Z");
}
