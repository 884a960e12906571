//! SQLite sources from rule text to rows.

use super::guard;
use crate::harness::{Home, columns, issues, rule};
use crate::read::{ReadOptions, Tables, read_sources};
use crate::{Cancel, World};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::codes;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const SOURCE: &str = "  s:
    sqlite:
      path: [\"{r}/state_*.sqlite\", \"{r}/old/state_*.sqlite\"]
      pick: highest_number
      tie: at
      sql: SELECT * FROM threads ORDER BY id
      columns: { id: text, title: text, at: unix_s, archived: bool?, tags: json? }
";

fn database(path: &Path, sql: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn threads(rows: &str) -> String {
    format!("CREATE TABLE threads(id, Title, at, tags); INSERT INTO threads VALUES {rows};")
}

#[test]
fn columns_are_found_by_name_and_absent_ones_are_said() {
    let home = Home::new();
    database(
        &home.path("r/state_5.sqlite"),
        &threads("('a','A',1,'[1]'),(7,NULL,'x','{')"),
    );
    let tables = home.read(SOURCE);
    let rows = columns(&tables, &["id", "title", "at", "archived", "tags"]);
    assert_eq!(
        rows[0],
        [
            json!("7"),
            json!(null),
            json!(null),
            json!(null),
            json!(null)
        ]
    );
    assert_eq!(
        rows[1],
        [json!("a"), json!("A"), json!(1000), json!(null), json!([1])]
    );
    assert_eq!(
        issues(&tables),
        [(codes::DAMAGED, Some(1))],
        "one cell is no JSON"
    );
    let table = &tables.tables["s"];
    assert_eq!(
        table.missing_columns.iter().collect::<Vec<_>>(),
        ["archived"]
    );
    assert!(!table.incomplete);

    let tables = home.read(&SOURCE.replace("archived: bool?", "archived: bool"));
    assert!(issues(&tables).contains(&(codes::COLUMN_MISSING, None)));
    assert_eq!(tables.tables["s"].rows.len(), 2, "rows come all the same");
    let named = SOURCE.replace("SELECT *", "SELECT id, archived");
    let tables = home.read(&named);
    assert_eq!(issues(&tables), [(codes::COLUMN_MISSING, None)]);
    assert!(
        tables.tables["s"].missing_columns.contains("archived") && tables.tables["s"].incomplete
    );
    let tables = home.read(&SOURCE.replace("FROM threads", "FROM sessions"));
    assert_eq!(issues(&tables), [(codes::DRIFT, None)]);
    assert_eq!(tables.tables["s"].not_understood.len(), 1);
}

#[test]
fn the_highest_number_counts_and_a_tie_goes_to_the_newest_row() {
    let home = Home::new();
    database(
        &home.path("r/state_9.sqlite"),
        &threads("('nine','',90,'')"),
    );
    database(
        &home.path("r/state_10.sqlite"),
        &threads("('ten','',1,''),('ten2','',7,'')"),
    );
    assert_eq!(
        columns(&home.read(SOURCE), &["id"]).concat(),
        [json!("ten"), json!("ten2")]
    );
    database(
        &home.path("r/old/state_10.sqlite"),
        &threads("('other','',7,'')"),
    );
    assert_eq!(
        columns(&home.read(SOURCE), &["id"]).len(),
        2,
        "equal: the first pattern"
    );
    database(
        &home.path("r/old/state_10.sqlite"),
        "INSERT INTO threads VALUES ('later','',8,'')",
    );
    assert_eq!(
        columns(&home.read(SOURCE), &["id"]).concat(),
        [json!("later"), json!("other")]
    );
    let all = home.read(&SOURCE.replace("highest_number", "all"));
    assert_eq!(
        (all.tables["s"].rows.len(), all.tables["s"].files_read),
        (5, 3)
    );
    let old = std::fs::File::options()
        .write(true)
        .open(home.path("r/state_10.sqlite"))
        .unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    std::fs::remove_dir_all(home.path("r/old")).unwrap();
    let newest = home.read(&SOURCE.replace("highest_number", "newest"));
    assert_eq!(columns(&newest, &["id"]).concat(), [json!("nine")]);
}

#[test]
fn elements_of_a_json_column_become_rows() {
    let home = Home::new();
    let store = r#"CREATE TABLE ItemTable(key TEXT, value BLOB); INSERT INTO ItemTable VALUES
        ('heads', '{"all":[{"id":"1","n":"a"},{"id":"2","n":null}]}'), ('map', '{"all":{"k":{"id":"3"}}}'),
        ('odd', '{"all":4}'), ('none', NULL), ('bad', '{');"#;
    database(&home.path("r/state.vscdb"), store);
    let source = "  s:
    sqlite:
      path: \"{r}/state.vscdb\"
      sql: SELECT key AS entry, value FROM ItemTable
      columns: { entry: text, value: json }
      each: { column: value, at: [/list, /all], fields: { id: /id, name: /n } }
";
    let tables = home.read(source);
    let rows = columns(&tables, &["id", "name", "entry", "key"]);
    assert_eq!(
        rows[0],
        [json!("1"), json!("a"), json!("heads"), json!("absent")]
    );
    assert_eq!(
        rows[1],
        [json!("2"), json!(null), json!("heads"), json!("absent")]
    );
    assert_eq!(rows[2], [json!("3"), json!(null), json!("map"), json!("k")]);
    assert_eq!(rows.len(), 3);
    assert_eq!(issues(&tables), [(codes::DAMAGED, Some(5))]);
    assert!(tables.tables["s"].incomplete, "rows may be missing");
    assert_eq!(tables.tables["s"].not_understood.len(), 1);
}

#[test]
fn rows_cells_and_time_have_limits() {
    let home = Home::new();
    let rows: Vec<String> = (0..50).map(|n| format!("({n},'t',1,'')")).collect();
    database(&home.path("r/state_1.sqlite"), &threads(&rows.join(",")));
    let tables = home.read(&SOURCE.replace("pick:", "max_rows: 20\n      pick:"));
    assert_eq!(
        (tables.tables["s"].rows.len(), tables.tables["s"].incomplete),
        (20, true)
    );
    assert_eq!(issues(&tables), [(codes::CAP, None)]);

    let huge = "INSERT INTO threads VALUES ('0', printf('%.3000000c', 'x'), 1, '')";
    database(&home.path("r/state_1.sqlite"), huge);
    let tables = home.read(SOURCE);
    assert!(
        tables
            .issues
            .iter()
            .any(|issue| issue.message.contains("`title` was cut"))
    );
    assert!(!tables.tables["s"].incomplete);

    let mut connection = Connection::open(home.path("r/state_1.sqlite")).unwrap();
    guard::restrict(
        &mut connection,
        Duration::from_millis(30),
        &Cancel::default(),
    )
    .unwrap();
    let started = Instant::now();
    let endless =
        "SELECT count(*) FROM threads a, threads b, threads c, threads d, threads e, threads f";
    let error = connection
        .query_row(endless, [], |row| row.get::<_, i64>(0))
        .unwrap_err();
    assert_eq!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::OperationInterrupted)
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_statement_may_only_select() {
    let home = Home::new();
    database(&home.path("r/state_1.sqlite"), &threads("('a','',1,'')"));
    for sql in [
        "DELETE FROM threads",
        "UPDATE threads SET id = 1",
        "DROP TABLE threads",
        "PRAGMA user_version",
        "ATTACH '/tmp/x.db' AS x",
        "VACUUM INTO '/tmp/x.db'",
        "SELECT load_extension('x') AS id",
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n) SELECT id FROM n",
        "BEGIN",
    ] {
        let tables =
            home.read(&SOURCE.replace("SELECT * FROM threads ORDER BY id", &format!("{sql:?}")));
        assert!(
            tables.tables["s"].rows.is_empty() && tables.tables["s"].incomplete,
            "{sql}"
        );
        assert!(!tables.issues.is_empty(), "{sql}");
    }
    assert_eq!(home.read(SOURCE).tables["s"].rows.len(), 1);
}

fn fixture(home: &Home, sources: &str) -> Tables {
    let text = format!(
        "now: 2026-11-30T14:00:00Z\nhome: /home/dev\nmaps: {{ /home/dev: {:?} }}\n",
        "."
    );
    let world = World::fixture(
        &home.path(""),
        &WorldSpec::parse("world.yaml", &text).unwrap(),
    );
    read_sources(&rule(sources), &world, &ReadOptions::default())
}

#[test]
fn a_fixture_keeps_databases_as_text() {
    let home = Home::new();
    home.write("state_3.sqlite.sql", threads("('text','',1,'')"));
    home.write("state_2.sqlite.sql", "CREATE nonsense");
    let tables = fixture(&home, SOURCE);
    assert_eq!(columns(&tables, &["id"]).concat(), [json!("text")]);
    let table = &tables.tables["s"];
    assert_eq!(
        (table.files_matched, table.files.as_slice()),
        (2, &["/home/dev/r/state_3.sqlite".to_owned()][..])
    );
    assert!(
        home.read(SOURCE).tables["s"].rows.is_empty(),
        "elsewhere a text is no database"
    );
    for bad in [
        "CREATE nonsense",
        "ATTACH '/tmp/axiowl-never.db' AS x; CREATE TABLE x.y(z)",
    ] {
        home.write("state_4.sqlite.sql", bad);
        let tables = fixture(&home, SOURCE);
        assert_eq!(issues(&tables), [(codes::DAMAGED, None)], "{bad}");
    }
    assert!(!Path::new("/tmp/axiowl-never.db").exists());
}

#[test]
fn a_damaged_database_is_an_issue() {
    let home = Home::new();
    let path = home.path("r/state_1.sqlite");
    let rows: Vec<String> = (0..2000)
        .map(|n| format!("({n},'{}',1,'')", "t".repeat(80)))
        .collect();
    database(&path, &threads(&rows.join(",")));
    let good = std::fs::read(&path).unwrap();
    for bad in [
        &b"no database at all, but long enough to look at"[..],
        &good[..good.len() / 2],
        &good[..100],
    ] {
        std::fs::write(&path, bad).unwrap();
        let tables = home.read(SOURCE);
        let found: Vec<&str> = issues(&tables).into_iter().map(|(code, _)| code).collect();
        assert_eq!(
            (found, tables.tables["s"].incomplete),
            (vec![codes::DAMAGED], true)
        );
    }
    std::fs::write(&path, "").unwrap();
    assert_eq!(
        issues(&home.read(SOURCE)),
        [(codes::DRIFT, None)],
        "an empty file has no table"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_damage_is_fatal(holes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), cut in any::<prop::sample::Index>()) {
        let home = Home::new();
        let path = home.path("r/state_1.sqlite");
        database(&path, &threads("('a','A',1,'[1]'),('b','B',2,'{}')"));
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in holes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        home.read(SOURCE);
        bytes.truncate(cut.index(bytes.len()));
        std::fs::write(&path, &bytes).unwrap();
        home.read(SOURCE);
        let log = home.write("state_1.sqlite-wal", &bytes);
        home.read(SOURCE);
        std::fs::remove_file(log).unwrap();
    }
}
