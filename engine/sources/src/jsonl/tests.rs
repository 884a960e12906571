//! JSON Lines sources from rule text to rows.

use super::input::tests::deflated;
use crate::harness::{Home, columns, issues, strong};
use crate::read::{Only, ReadOptions};
use axiowl_model::codes;
use proptest::prelude::*;
use serde_json::json;
use std::fs::File;

const TITLES: &str = "  s:
    jsonl:
      path: \"{r}/*.jsonl\"
      head: 200
      tail: 200
      then: whole
      take:
        - { probe: '\"title\"', where: { /type: title }, fields: { title: /title }, skip_empty: title }
        - { probe: '\"cwd\"', keep: first, fields: { cwd: /cwd } }
";

fn title(text: &str) -> String {
    format!("{{\"type\":\"title\",\"title\":\"{text}\"}}\n")
}

fn filler(bytes: usize) -> String {
    "{\"type\":\"user\",\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n".repeat(bytes / 60)
}

#[test]
fn takes_keep_first_or_last_and_every_field_is_there() {
    let home = Home::new();
    let text = format!(
        "{{\"cwd\":\"/a\"}}\n{}{}{{\"cwd\":\"/b\"}}\n{}",
        title("one"),
        title("two"),
        title("")
    );
    home.write("a.jsonl", text);
    home.write("b.jsonl", "");
    let tables = home.read(TITLES);
    let rows = columns(&tables, &["stem", "folder", "title", "cwd", "size"]);
    assert_eq!(
        rows[0][..4],
        [json!("a"), json!("r"), json!("two"), json!("/a")]
    );
    assert_eq!(
        rows[1],
        [json!("b"), json!("r"), json!(null), json!(null), json!(0)]
    );
    let issues: Vec<_> = tables
        .issues
        .iter()
        .map(|i| (i.code.as_str(), i.path.as_deref()))
        .collect();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!(issues[0].0, "empty_file");
    assert!(issues[0].1.is_some_and(|path| path.ends_with("b.jsonl")));
    let table = &tables.tables["s"];
    assert_eq!(
        (table.files_matched, table.files_read, table.root_exists),
        (2, 2, true)
    );
    assert!(!table.incomplete && table.not_understood.is_empty());
}

#[test]
fn the_middle_is_read_only_while_no_strong_name_is_known() {
    let home = Home::new();
    let middle = format!("{}{}{}", filler(3000), title("middle"), filler(3000));
    home.write("middle.jsonl", &middle);
    home.write("named.jsonl", format!("{}{middle}", title("head")));
    let names = |options: &ReadOptions| {
        let tables = home.read_with(TITLES, options);
        let names: Vec<_> = columns(&tables, &["title"]).concat();
        (names, tables.issues)
    };
    assert_eq!(
        names(&ReadOptions::default()).0,
        [json!(null), json!("head")],
        "no strong field"
    );
    assert_eq!(
        names(&strong("title")),
        (vec![json!("middle"), json!("head")], vec![])
    );
    let deep = ReadOptions {
        deep: true,
        ..strong("title")
    };
    assert_eq!(
        names(&deep).0,
        [json!("middle"), json!("middle")],
        "the last one in the file"
    );
}

#[test]
fn a_title_beyond_the_window_of_a_big_file_is_said() {
    let home = Home::new();
    let half = filler(5 << 20);
    home.write("big.jsonl", format!("{half}{}{half}", title("deep inside")));
    let tables = home.read_with(TITLES, &strong("title"));
    assert_eq!(columns(&tables, &["title"]), [[json!(null)]]);
    assert_eq!(issues(&tables), [(codes::TITLE_BEYOND_WINDOW, None)]);
    assert!(!tables.tables["s"].incomplete);
    let tables = home.read_with(
        TITLES,
        &ReadOptions {
            deep: true,
            ..strong("title")
        },
    );
    assert_eq!(columns(&tables, &["title"]), [[json!("deep inside")]]);
}

#[test]
fn a_sparse_file_of_20_gb_costs_a_window() {
    let home = Home::new();
    let path = home.write("huge.jsonl", title("first"));
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(20 << 30)
        .unwrap();
    let tables = home.read(&TITLES.replace("then: whole", "then: stop"));
    assert_eq!(columns(&tables, &["title"]), [[json!("first")]]);
}

#[test]
fn damaged_lines_are_skipped_counted_and_placed() {
    let home = Home::new();
    let good = title("good");
    let bad = |line: &str| {
        home.write(
            "a.jsonl",
            [title("early").as_bytes(), line.as_bytes(), b"\n"].concat(),
        )
    };
    for line in [
        "{\"type\":\"title\",\"title\":\"cut",
        "{\"type\":\"title\",\"ti{\"type\":\"title\",\"title\":\"glued\"}",
        "\0\0\0\0\"title\"",
        "{\"type\":\"title\",\"title\":\"\u{1}\"}",
    ] {
        bad(line);
        let tables = home.read(TITLES);
        assert_eq!(columns(&tables, &["title"]), [[json!("early")]], "{line:?}");
        assert_eq!(issues(&tables), [(codes::DAMAGED, Some(2))], "{line:?}");
    }
    let raw = [
        good.as_bytes(),
        b"{\"type\":\"title\",\"title\":\"\xff\"}\n",
    ]
    .concat();
    home.write("a.jsonl", raw);
    assert_eq!(issues(&home.read(TITLES)), [(codes::DAMAGED, Some(2))]);

    // Beyond the head a line has no number, and several make one issue.
    let cut = "{\"type\":\"title\",\"title\":\n";
    home.write("a.jsonl", format!("{good}{}{cut}{cut}", filler(2000)));
    let tables = home.read(TITLES);
    assert_eq!(issues(&tables), [(codes::DAMAGED, None)]);
    let message = &tables.issues[0].message;
    assert!(
        message.starts_with("at byte ") && message.contains("2 damaged lines"),
        "{message}"
    );
}

#[test]
fn a_half_written_last_line_is_no_damage() {
    let home = Home::new();
    home.write(
        "a.jsonl",
        format!("{}{{\"type\":\"title\",\"titl", title("kept")),
    );
    home.write(
        "b.jsonl",
        format!("{}{}", title("old"), title("complete").trim_end()),
    );
    let tables = home.read(TITLES);
    assert_eq!(
        columns(&tables, &["title"]).concat(),
        [json!("kept"), json!("complete")]
    );
    assert!(tables.issues.is_empty());
}

#[test]
fn a_long_first_line_gives_its_first_fields() {
    let home = Home::new();
    let source = "  s:\n    jsonl:\n      path: \"{r}/*.jsonl\"\n      head: 64\n      take: [ { prefix: true, fields: { who: /payload/who, late: /payload/late } } ]\n";
    let long = "y".repeat(30_000);
    home.write(
        "a.jsonl",
        format!(
            "\u{feff}{{\"payload\":{{\"who\":\"desk\",\"text\":\"{long}\",\"late\":1}}}}\n{{}}\n"
        ),
    );
    home.write("b.jsonl", "{\"payload\":{\"who\":\"cli\",\"late\":1}}\n");
    home.write("c.jsonl", "{\"payload\":{\"who\":\"x\",\"text\":\"\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}");
    home.write(
        "d.jsonl",
        "garbage\n{\"payload\":{\"who\":\"second line\"}}\n",
    );
    let tables = home.read(source);
    let expected = [
        ["desk", "null"],
        ["cli", "1"],
        ["x", "null"],
        ["null", "null"],
    ];
    let shown: Vec<Vec<String>> = columns(&tables, &["who", "late"])
        .iter()
        .map(|row| row.iter().map(|v| v.to_string().replace('"', "")).collect())
        .collect();
    assert_eq!(shown, expected);
    assert_eq!(issues(&tables), [(codes::DAMAGED, Some(1))]);
    assert_eq!(tables.tables["s"].not_understood.len(), 1);
}

const INDEX: &str = "  s:
    jsonl:
      path: \"{r}/index*.jsonl\"
      per: line
      head: 0
      tail: 1 KiB
      last_by: id
      take: [ { fields: { id: /id, name: /name }, skip_empty: name, skip_matching: ['^/'] } ]
";

#[test]
fn lines_become_rows_and_the_last_of_a_key_stays() {
    let home = Home::new();
    let text = "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\nnoise\n{\"id\":1,\"name\":\"c\"}\n\
        {\"id\":2,\"name\":\"\"}\n{\"id\":2,\"name\":\"/cmd\"}\n\n{\"other\":1}\n{\"id\":3,\"name\":\"d\"}";
    home.write("index.jsonl", text);
    let tables = home.read(INDEX);
    let rows = columns(&tables, &["id", "name"]);
    assert_eq!(
        rows,
        [
            [json!(2), json!("b")],
            [json!(1), json!("c")],
            [json!(3), json!("d")]
        ]
    );
    assert_eq!(issues(&tables), [(codes::DAMAGED, Some(3))]);
    let strange = &tables.tables["s"].not_understood;
    assert_eq!(
        strange.iter().map(|(_, line, _)| *line).collect::<Vec<_>>(),
        [8]
    );
}

#[test]
fn lines_that_no_window_covers_leave_the_table_incomplete() {
    let home = Home::new();
    let lines: String = (0..200)
        .map(|n| format!("{{\"id\":{n},\"name\":\"n{n}\"}}\n"))
        .collect();
    home.write("index.jsonl", lines);
    let tables = home.read(INDEX);
    let rows = tables.tables["s"].rows.len();
    assert!((30..60).contains(&rows), "{rows}");
    assert_eq!(issues(&tables), [(codes::CAP, None)]);
    assert!(tables.tables["s"].incomplete);
    let whole = home.read(&INDEX.replace("per: line", "per: line\n      then: whole"));
    assert_eq!((whole.tables["s"].rows.len(), whole.issues.len()), (200, 0));
    assert_eq!(columns(&whole, &["id"])[0], [json!(0)]);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let home = Home::new();
    for n in 0..40 {
        home.write(
            &format!("{n}/a.jsonl"),
            format!("{}{}", title(&format!("t{n}")), filler(n * 50)),
        );
        home.write(&format!("{n}/b.jsonl"), "{\"title\" broken\n");
    }
    let source = TITLES.replace("*.jsonl", "*/*.jsonl");
    let run = |threads| {
        let read = || home.read_with(&source, &strong("title"));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        format!("{:?}", pool.install(read))
    };
    assert_eq!(run(1), run(8));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    /// Windows, middle and all: however a file is cut, a deep scan finds what stands in it.
    #[test]
    fn a_deep_scan_through_any_window_equals_reading_the_whole_file(
        lines in prop::collection::vec(prop_oneof![
            Just("{\"type\":\"title\",\"title\":\"A\"}"), Just("{\"type\":\"title\",\"title\":\"B\"}"),
            Just("{\"type\":\"title\",\"title\":\"\"}"), Just("{\"cwd\":\"/a\"}"), Just("{\"cwd\":\"/b\"}"),
            Just("{\"type\":\"title\",\"title\""), Just("x"), Just("")], 0..30),
        head in 0u32..200, tail in 0u32..200, unended in any::<bool>(), zipped in any::<bool>(),
    ) {
        let mut text = lines.join("\n");
        if !unended {
            text.push('\n');
        }
        let home = Home::new();
        if zipped {
            home.write("a.jsonl.zst", deflated(text.as_bytes()));
        } else {
            home.write("a.jsonl", &text);
        }
        let read = |head: u32, tail: u32| {
            let sizes = format!("head: {head}\n      tail: {tail}");
            let source = TITLES.replace("head: 200\n      tail: 200", &sizes);
            let source = source.replace("*.jsonl", "*.jsonl*");
            let options = ReadOptions { deep: true, ..strong("title") };
            columns(&home.read_with(&source, &options), &["title", "cwd"])
        };
        prop_assert_eq!(read(head, tail), read(1 << 20, 0));
    }

    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(prop_oneof![
        prop::sample::select(b"{}\":,title\n\0cwd[]\\".to_vec()), any::<u8>()], 0..400), head in 0u32..100) {
        let home = Home::new();
        home.write("a.jsonl", &bytes);
        home.write("index.jsonl", &bytes);
        let source = TITLES.replace("head: 200", &format!("head: {head}"));
        home.read_with(&source, &ReadOptions { deep: true, ..strong("title") });
        home.read(INDEX);
    }
}

#[test]
fn files_whose_name_gives_another_value_than_the_wanted_one_are_not_opened() {
    let home = Home::new();
    for name in ["s-a.jsonl", "s-b.jsonl", "s-.jsonl"] {
        home.write(name, "{\"n\":1}\n");
    }
    let rule = "  s:\n    jsonl: { path: \"{r}/*.jsonl\", name: '^s-(?<id>[a-z])?$', head: 1 KiB, take: [{ fields: { n: /n } }] }\n";
    let only = |source: &str, value: &str| ReadOptions {
        only: Some(Only {
            sources: [source.to_owned()].into(),
            field: "id".into(),
            value: value.into(),
        }),
        ..ReadOptions::default()
    };
    let read = |options: &ReadOptions| {
        let tables = home.read_with(rule, options);
        let table = &tables.tables["s"];
        (table.files_matched, table.files.len())
    };
    assert_eq!(read(&ReadOptions::default()), (3, 3));
    assert_eq!(read(&only("s", "a")), (1, 1), "not even looked at");
    assert_eq!(read(&only("s", "c")), (0, 0));
    assert_eq!(read(&only("another", "a")), (3, 3));
    // A folder's name says nothing about the names in it; a file that does not say which it is
    // may be the one.
    let by_folder = |value: &str| ReadOptions {
        only: Some(Only {
            sources: ["s".to_owned()].into(),
            field: "folder".into(),
            value: value.into(),
        }),
        ..ReadOptions::default()
    };
    assert_eq!(read(&by_folder("r")), (3, 3));
    assert_eq!(read(&by_folder("other")), (3, 0));
}
