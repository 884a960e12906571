//! Every kind of source meets bytes that nobody meant for it: arbitrary ones, and what a reader
//! understands with pieces changed, cut off or repeated.
//!
//! Whatever they are: nothing panics, a row has every field its source declares, a reader stays
//! within its limits, the same bytes give the same rows, and reading changes nothing.

use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_lang::source::Source;
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::{ReadOptions, Tables, World, read_all};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// All kinds, each over the same file. Every source declares `id`.
const RULE: &str = r#"axiowl: 1
provider: sample
title: A sample provider
roots: { r: ~/r }
sources:
  sqlite:
    sqlite: { path: "{r}/file", sql: SELECT * FROM t, columns: { id: text, at: unix_s?, list: json? }, max_rows: 100 }
  mirror:
    sqlite: { path: "{r}/file", mirror: only, sql: SELECT id FROM t, columns: { id: text } }
  pairs:
    sqlite:
      path: "{r}/file"
      key_value: { table: t, key: id, value: list, keys: [a], each: { at: /all, fields: { id: /id } } }
  jsonl:
    jsonl:
      path: "{r}/file"
      head: 256
      tail: 256
      then: whole
      take:
        - { prefix: true, fields: { id: /id } }
        - { probe: '"title"', where: { /type: title }, fields: { title: /title } }
  lines:
    jsonl: { path: "{r}/file", per: line, head: 0, tail: 1 KiB, last_by: id, take: [ { fields: { id: /id } } ] }
  compressed:
    jsonl: { path: "{r}/file.zst", head: 1 KiB, take: [ { fields: { id: /id } } ] }
  mutation_log:
    mutation_log: { path: "{r}/file", fields: { id: /id, every: /list/*/id } }
  json:
    json: { path: "{r}/file", comments: true, each: { at: /list, fields: { id: /id } } }
  yaml:
    yaml: { path: "{r}/file", fields: { id: /id } }
  toml:
    toml: { path: "{r}/file", fields: { id: /id } }
  text:
    text: { path: "{r}/file", pattern: 'id[=:] ?(?<id>\S+)' }
  pbtext:
    pbtext: { path: "{r}/file", fields: { id: [id, "*.id"], at: at.seconds as unix_s } }
  protobuf:
    protobuf: { path: "{r}/file", each: { at: "1", fields: { id: "1", title: "2.1" } } }
  folder:
    folder:
      path: "{r}/*"
      fields: { id: { file: file, json: /id }, word: { file: file, matches: 'id' }, doc: { file: file, yaml: /id } }
  files:
    files: { path: "{r}/*", name: '^(?<id>.)' }
  tsv:
    tsv: { path: "{r}/file", escaped: true, columns: { id: text, at: rfc3339?, live: bool? } }
  command:
    command: { argv: [tool, list], readonly: proven, reason: nothing runs in a fixture, max_bytes: 64 KiB, each: { at: "", fields: { id: /id } } }
rows: { from: json, session: "{id}" }
name: { candidates: [ { from: id, label: name } ] }
status: [ { is: active } ]
proof: [ { source: sample, grants: [enroll, send] } ]
"#;

static SAMPLE: LazyLock<LoadedRule> = LazyLock::new(|| {
    let folder = RuleFolder::new("sample", Layer::Disk, "sample", RULE);
    load(&folder, &|_| None).unwrap_or_else(|found| panic!("{found:#?}"))
});

/// The word for a kind in a rule file. A new kind does not compile before it stands here, and
/// does not pass before it stands in the rule.
fn kind(source: &Source) -> &'static str {
    match source {
        Source::Sqlite(_) => "sqlite",
        Source::Jsonl(_) => "jsonl",
        Source::MutationLog(_) => "mutation_log",
        Source::Json(_) => "json",
        Source::Yaml(_) => "yaml",
        Source::Toml(_) => "toml",
        Source::Text(_) => "text",
        Source::PbText(_) => "pbtext",
        Source::Protobuf(_) => "protobuf",
        Source::Folder(_) => "folder",
        Source::Files(_) => "files",
        Source::Tsv(_) => "tsv",
        Source::Command(_) => "command",
    }
}

const KINDS: [&str; 13] = [
    "sqlite",
    "jsonl",
    "mutation_log",
    "json",
    "yaml",
    "toml",
    "text",
    "pbtext",
    "protobuf",
    "folder",
    "files",
    "tsv",
    "command",
];

/// A home whose one file holds the bytes, in every place a source looks at.
fn home(bytes: &[u8]) -> (tempfile::TempDir, World) {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("home/r/inner");
    std::fs::create_dir_all(&below).unwrap();
    for file in ["home/r/file", "home/r/file.zst", "home/r/inner/file", "out"] {
        std::fs::write(folder.path().join(file), bytes).unwrap();
    }
    let text = "now: 2026-11-30T15:00:00Z\nhome: /h\nmaps: { /h: home }\nexecutables: { tool: /h/tool }\ncommands: { \"tool list\": out }\n";
    let spec = WorldSpec::parse("world.yaml", text).unwrap();
    let world = World::fixture(folder.path(), &spec);
    (folder, world)
}

fn read(world: &World, threads: usize) -> Tables {
    let options = ReadOptions {
        allow_commands: true,
        threads: Some(threads),
        ..ReadOptions::default()
    };
    read_all(&SAMPLE, world, &options)
}

fn shown(tables: &Tables) -> String {
    format!("{:?} {:?}", tables.tables, tables.issues)
}

/// Names below a folder with what is in the files.
fn contents(folder: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut out = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            out.insert((name, Vec::new()));
            out.extend(contents(&path));
        } else {
            out.insert((name, std::fs::read(&path).unwrap()));
        }
    }
    out
}

fn check(bytes: &[u8]) {
    let (folder, world) = home(bytes);
    let before = contents(folder.path());
    let tables = read(&world, 1);
    for (name, table) in &tables.tables {
        for row in &table.rows {
            assert!(row.contains_key("id"), "{name}: {row:?}");
        }
        // No byte gives more than one row.
        assert!(
            table.rows.len() <= bytes.len() + 2,
            "{name}: {} rows of {} bytes",
            table.rows.len(),
            bytes.len()
        );
    }
    assert_eq!(tables.tables.len(), SAMPLE.rule.sources.len());
    assert_eq!(shown(&tables), shown(&read(&world, 4)));
    assert_eq!(contents(folder.path()), before, "reading left a trace");
}

/// Something that each kind understands.
fn understood() -> Vec<Vec<u8>> {
    let database = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t (id, at, list); INSERT INTO t VALUES ('a', 1, '{\"all\":[{\"id\":\"x\"}]}'), ('b', NULL, '[]');",
            )
            .unwrap();
        connection.close().unwrap();
        std::fs::read(path).unwrap()
    };
    let texts: [&[u8]; 9] = [
        b"{\"id\":\"a\",\"type\":\"x\"}\n{\"type\":\"title\",\"title\":\"T\",\"id\":\"b\"}\n",
        b"{\"kind\":0,\"v\":{\"id\":\"a\",\"list\":[{\"id\":1}]}}\n{\"kind\":2,\"k\":[\"list\"],\"v\":[{\"id\":2}]}\n",
        b"{\"id\":\"a\",\"list\":[{\"id\":\"x\"},{\"id\":\"y\"}]}",
        b"[{\"id\":\"x\"},{\"id\":\"y\"}]",
        b"id: a\nlist:\n- id: x\n",
        b"id = \"a\"\n[list]\nid = 1\n",
        b"id: \"a\" at: { seconds: 1790000000 }\n",
        b"\x0a\x09\x0a\x01a\x12\x04\x0a\x02TT\x0a\x03\x0a\x01b",
        b"id\tat\tlive\na\t1970-01-01T00:00:01Z\ttrue\nb\t\tno\n",
    ];
    let mut out: Vec<Vec<u8>> = texts.map(<[u8]>::to_vec).to_vec();
    out.push(database);
    out
}

/// A piece of bytes that something is done to.
#[derive(Debug, Clone)]
enum Change {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<prop::sample::Index>;
    let change = prop_oneof![
        8 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => at().prop_map(Change::Cut),
        1 => (at(), at()).prop_map(|(a, b)| Change::Repeat(a, b)),
        2 => (at(), prop::collection::vec(any::<u8>(), 1..12)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ];
    prop::collection::vec(change, 0..12)
}

fn changed(mut bytes: Vec<u8>, changes: Vec<Change>) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        match change {
            Change::Set(at, byte) => bytes[at.index(length)] = byte,
            Change::Cut(at) => bytes.truncate(at.index(length)),
            Change::Repeat(a, b) => {
                let (a, b) = (a.index(length), b.index(length));
                let piece = bytes[a.min(b)..a.max(b)].to_vec();
                bytes.extend(piece);
            }
            Change::Insert(at, piece) => {
                let at = at.index(length);
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

#[test]
fn every_kind_of_source_is_here_and_understands_something() {
    let sources = SAMPLE.rule.sources.values();
    let there: BTreeSet<&str> = sources.map(kind).collect();
    assert_eq!(there, BTreeSet::from(KINDS));
    let mut fruitful = BTreeSet::new();
    for bytes in understood() {
        check(&bytes);
        let (_folder, world) = home(&bytes);
        let tables = read(&world, 1).tables;
        let with_id = |name: &&String| {
            let mut rows = tables[*name].rows.iter();
            rows.any(|row| !row["id"].is_null())
        };
        fruitful.extend(tables.keys().filter(with_id).cloned());
    }
    let mut named: BTreeSet<String> = SAMPLE.rule.sources.keys().cloned().collect();
    // Its file is compressed; what is in it is the readers' own business elsewhere.
    named.remove("compressed");
    assert_eq!(fruitful, named);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_kind_of_source_minds_arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&bytes);
    }

    #[test]
    fn no_kind_of_source_minds_arbitrary_text(text in "(\\PC|[\\n\\t\\[\\]{}:\",=#-]){0,200}") {
        check(text.as_bytes());
    }

    #[test]
    fn no_kind_of_source_minds_damage(which in 0..10_usize, changes in changes()) {
        check(&changed(understood().swap_remove(which), changes));
    }
}
