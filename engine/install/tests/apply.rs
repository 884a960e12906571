//! A change is made as a whole or not at all, and never over somebody else's.

use axiowl_install::{
    ApplyError, ConfigFile, Entry, Format, Part, Recipe, Records, Why, plan, plan_removal,
};
use serde_json::json;
use std::path::{Path, PathBuf};

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("file");
        path
    }

    fn records(&self) -> Records {
        Records::of(&self.path("state"))
    }
}

fn file(path: &Path) -> ConfigFile {
    let server = json!({ "command": "/bin/axiowl", "args": ["mcp"] });
    ConfigFile {
        path: path.to_owned(),
        format: Format::Json,
        entries: vec![Entry::key(Part::Server, &["servers", "axiowl"], server)],
    }
}

fn recipe(files: &[&Path]) -> Recipe {
    Recipe {
        key: "client".into(),
        files: files.iter().map(|path| file(path)).collect(),
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("file")
}

#[test]
fn a_file_that_somebody_wrote_since_the_plan_is_left() {
    let scene = Scene::new();
    let path = scene.write("a.json", "{}");
    let made = plan(&recipe(&[&path]), None).expect("a plan");
    std::fs::write(&path, "{\"mine\":1}").expect("file");
    let error = made.apply(&scene.records()).expect_err("changed meanwhile");
    assert!(
        matches!(&error, ApplyError::Refused(refusal) if matches!(refusal.why, Why::ChangedMeanwhile)),
        "{error}"
    );
    assert_eq!(read(&path), "{\"mine\":1}");
    assert!(scene.records().read("client").expect("readable").is_none());

    // The same for a file that was not there, and for taking out.
    let new = scene.path("b.json");
    let made = plan(&recipe(&[&new]), None).expect("a plan");
    std::fs::write(&new, "{}").expect("file");
    made.apply(&scene.records()).expect_err("it is there now");
    assert_eq!(read(&new), "{}");
    let records = scene.records();
    plan(&recipe(&[&path]), None)
        .expect("a plan")
        .apply(&records)
        .expect("added");
    let record = records.read("client").expect("readable").expect("a record");
    let out = plan_removal("client", &record, &records).expect("a plan");
    std::fs::write(&path, "{}").expect("file");
    out.apply(&records).expect_err("changed meanwhile");
    assert_eq!(read(&path), "{}");
    assert!(
        records.read("client").expect("readable").is_some(),
        "what was added stays known"
    );
}

/// A file that cannot be made whoever asks: the kernel's own folder takes none.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_written_puts_those_before_it_back() {
    let scene = Scene::new();
    let first = scene.write("a.json", "{ \"a\": 1 }");
    let second = scene.path("sub/b.json");
    let third = Path::new("/proc/axiowl.json");
    let made = plan(&recipe(&[&first, &second, third]), None).expect("a plan");
    let error = made
        .apply(&scene.records())
        .expect_err("the third cannot be written");
    assert!(matches!(error, ApplyError::Refused(_)), "{error}");
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(read(&first), "{ \"a\": 1 }");
    assert!(
        !second.exists() && !scene.path("sub").exists(),
        "made folders go, too"
    );
    assert!(scene.records().read("client").expect("readable").is_none());
}

#[test]
fn what_was_recorded_before_a_death_can_be_taken_out_after_it() {
    let scene = Scene::new();
    let path = scene.write("a.json", "{\n  \"a\": 1\n}\n");
    let records = scene.records();
    plan(&recipe(&[&path]), None)
        .expect("a plan")
        .apply(&records)
        .expect("added");
    // As if the process had died between the record and the file.
    std::fs::write(&path, "{\n  \"a\": 1\n}\n").expect("file");
    let record = records.read("client").expect("readable").expect("a record");
    plan_removal("client", &record, &records)
        .expect("a plan")
        .apply(&records)
        .expect("nothing to do");
    assert_eq!(read(&path), "{\n  \"a\": 1\n}\n");
    assert!(records.read("client").expect("readable").is_none());
}

#[test]
fn a_byte_order_mark_and_the_ends_of_lines_stay() {
    let scene = Scene::new();
    let text = "\u{feff}{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}\r\n";
    let path = scene.write("a.json", text);
    let records = scene.records();
    plan(&recipe(&[&path]), None)
        .expect("a plan")
        .apply(&records)
        .expect("added");
    let with = read(&path);
    assert!(
        with.starts_with(
            "\u{feff}{\r\n\t\"a\": [\r\n\t\t1\r\n\t],\r\n\t\"servers\": {\r\n\t\t\"axiowl\""
        ),
        "{with:?}"
    );
    assert!(!with.replace("\r\n", "").contains('\n'), "{with:?}");
    let record = records.read("client").expect("readable").expect("a record");
    plan_removal("client", &record, &records)
        .expect("a plan")
        .apply(&records)
        .expect("taken out");
    assert_eq!(read(&path), text);
}
