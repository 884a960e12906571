//! Sessions of databases: the statement that fits, limits, damage, and one copy for many looks.

use super::*;
use crate::harness::Home;
use axiowl_lang::rule::Transcript;
use serde_json::json;
use std::fs;

const RULE: &str = "
sqlite:
  path: ''
  session: ''
  mirror: only
  max_rows: 3
  columns: { row: int, id: text, text: text, when: unix_s? }
  select:
    - { when_table: [m, newer.part], sql: 'SELECT id, part AS text FROM newer WHERE session = ?1' }
    - { when_table: m, sql: 'SELECT rowid AS row, id, text, at AS \"when\" FROM m WHERE session = ?1 ORDER BY at' }
message: []
";

struct Scene {
    home: Home,
    rule: Transcript,
    reader: SessionReader,
}

impl Scene {
    fn new(sql: &str) -> Self {
        let home = Home::new();
        let connection = Connection::open(home.path("r/a.db")).unwrap();
        connection.execute_batch(sql).unwrap();
        Self {
            home,
            rule: serde_yaml::from_str(RULE).unwrap(),
            reader: SessionReader::new(1 << 20),
        }
    }

    fn read(&self, session: &str) -> io::Result<Option<Records>> {
        let sqlite = self.rule.sqlite.as_ref().unwrap();
        let statements: Vec<&TranscriptSelect> = sqlite.select.iter().map(|s| &s.value).collect();
        let path = self.home.path("r/a.db");
        let path = path.to_str().unwrap();
        self.reader
            .read(&self.home.world(), path, sqlite, &statements, session)
    }

    fn texts(&self, session: &str) -> Vec<Value> {
        let records = self.read(session).unwrap().unwrap();
        records.rows.iter().map(|row| row["text"].clone()).collect()
    }
}

const M: &str = "CREATE TABLE m (id TEXT, session TEXT, text, at INTEGER);
    INSERT INTO m VALUES ('m2', 's', 'second', 2), ('m1', 's', 'first', 1), ('x', 't', 'other', 0);";

#[test]
fn a_session_is_read_in_order_and_nothing_of_another() {
    let scene = Scene::new(M);
    let records = scene.read("s").unwrap().unwrap();
    assert!(!records.cut);
    assert_eq!(
        json!(records.rows),
        json!([
            { "id": "m1", "row": 2, "text": "first", "when": 1000 },
            { "id": "m2", "row": 1, "text": "second", "when": 2000 },
        ])
    );
    assert_eq!(scene.texts("' OR 1=1 --"), [] as [Value; 0]);
}

#[test]
fn the_first_statement_whose_tables_exist_is_run() {
    let newer = "CREATE TABLE newer (id TEXT, session TEXT, part TEXT);
        INSERT INTO newer VALUES ('n', 's', 'newer');";
    assert_eq!(Scene::new(&format!("{M}{newer}")).texts("s"), ["newer"]);
    let without_column = newer.replace("part TEXT", "body TEXT");
    let scene = Scene::new(&format!("{M}{without_column}"));
    assert_eq!(scene.texts("s"), ["first", "second"]);
    assert!(
        Scene::new("CREATE TABLE none (x)")
            .read("s")
            .unwrap()
            .is_none()
    );
}

#[test]
fn c443_a_session_beyond_the_limits_is_understood_in_part() {
    let many = "INSERT INTO m VALUES ('m3', 's', 'third', 3), ('m4', 's', 'fourth', 4);";
    let records = Scene::new(&format!("{M}{many}"))
        .read("s")
        .unwrap()
        .unwrap();
    assert_eq!((records.rows.len(), records.cut), (3, true));
    let large = "INSERT INTO m VALUES ('m3', 's', printf('%.*c', 1100000, 'x'), 3);";
    let records = Scene::new(&format!("{M}{large}")).read("s");
    // The store is larger than the reader may copy.
    assert!(records.unwrap_err().to_string().contains("MiB"));
    let mut scene = Scene::new(&format!("{M}{large}"));
    scene.reader = SessionReader::new(1 << 30);
    let records = scene.read("s").unwrap().unwrap();
    assert!(records.cut && records.rows.len() == 3);
}

#[test]
fn what_cannot_be_read_is_an_error_and_never_an_empty_session() {
    let scene = Scene::new(M);
    fs::remove_file(scene.home.path("r/a.db")).unwrap();
    assert_eq!(scene.read("s").unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::write(
        scene.home.path("r/a.db"),
        "no database, just some text in a file\n",
    )
    .unwrap();
    assert!(scene.read("s").is_err());
    let scene = Scene::new("CREATE TABLE m (id TEXT)");
    assert!(
        scene.read("s").is_err(),
        "the statement needs a column that is not there"
    );
}

#[test]
fn c438_the_owner_sees_nothing_of_it_and_new_records_are_found() {
    let scene = Scene::new(M);
    let owner = Connection::open(scene.home.path("r/a.db")).unwrap();
    owner
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0")
        .unwrap();
    for n in 3..6 {
        owner
            .execute("INSERT INTO m VALUES (?1, 'live', ?1, ?1)", [n as i64])
            .unwrap();
        let listing = || -> Vec<_> {
            let entries = fs::read_dir(scene.home.path("r")).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let bytes = || fs::read(scene.home.path("r/a.db-shm")).unwrap();
        let before = (listing(), bytes());
        assert_eq!(scene.texts("live").len(), n - 2);
        assert_eq!((listing(), bytes()), before);
    }
}
