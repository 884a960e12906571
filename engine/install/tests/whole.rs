//! A file that is ours as a whole, and a switch that its client's user may have set.

use axiowl_install::{
    ConfigFile, Entry, Format, Part, Plan, Recipe, Records, What, Why, plan, plan_removal,
};
use serde_json::{Value, json};
use std::fs;
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

    fn program(&self) -> PathBuf {
        self.folder.path().join("client/extensions/ours/main.mjs")
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("client/settings.json")
    }

    fn records(&self) -> Records {
        Records::of(&self.folder.path().join("state"))
    }

    fn recipe(&self, text: &str) -> Recipe {
        let file = |path, format, entry| ConfigFile {
            path,
            format,
            entries: vec![entry],
        };
        let switch = Entry::key(Part::Switch, &["flags", "EXTENSIONS"], json!(true));
        let program = Entry::whole(Part::Door, text);
        Recipe {
            key: "client".into(),
            files: vec![
                file(self.program(), Format::Whole, program),
                file(self.settings(), Format::Jsonc, switch),
            ],
        }
    }

    fn planned(&self, text: &str) -> Plan {
        let old = self.records().read("client").expect("readable");
        plan(&self.recipe(text), old.as_ref()).expect("a plan")
    }

    fn install(&self, text: &str) -> Vec<What> {
        let records = self.records();
        let _guard = records.lock().expect("a lock");
        let plan = self.planned(text);
        let steps = plan.steps.iter().map(|step| step.what).collect();
        plan.apply(&records).expect("applied");
        steps
    }

    fn uninstall(&self) -> Vec<What> {
        let records = self.records();
        let old = records.read("client").expect("readable").expect("a record");
        let plan = plan_removal("client", &old, &records).expect("a plan");
        let steps = plan.steps.iter().map(|step| step.what).collect();
        plan.apply(&records).expect("applied");
        steps
    }

    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn it_comes_byte_for_byte_once_is_renewed_and_goes_with_its_folders() {
    let scene = Scene::new();
    let text = "// one\r\nconst a = \"{\";\n\n";
    assert_eq!(scene.install(text), [What::Adds, What::Adds]);
    assert_eq!(read(&scene.program()), text);
    assert!(scene.planned(text).is_empty());
    assert_eq!(scene.install(text), [What::Keeps, What::Keeps]);
    assert_eq!(scene.install("// two\n"), [What::Renews, What::Keeps]);
    assert_eq!(read(&scene.program()), "// two\n");
    assert_eq!(scene.uninstall(), [What::TakesOut, What::TakesOut]);
    assert!(!scene.folder.path().join("client").exists());
}

#[test]
fn somebody_elses_file_of_that_name_is_neither_changed_nor_taken_away() {
    let scene = Scene::new();
    scene.write(&scene.program(), "// mine\n");
    let refused = plan(&scene.recipe("// ours\n"), None).expect_err("it is foreign");
    assert!(matches!(refused.why, Why::ForeignFile), "{refused}");
    assert_eq!(refused.path, scene.program());
    assert!(refused.hint().contains("move that file away"));
    assert!(!scene.settings().exists());
    // The same text is no reason to take it away later.
    scene.write(&scene.program(), "// ours\n");
    assert_eq!(scene.install("// ours\n"), [What::Keeps, What::Adds]);
    assert_eq!(scene.uninstall(), [What::TakesOut]);
    assert_eq!(read(&scene.program()), "// ours\n");
}

#[test]
fn what_somebody_made_of_ours_is_not_overwritten_and_stays() {
    let scene = Scene::new();
    scene.install("// ours\n");
    scene.write(&scene.program(), "// ours, mended\n");
    let old = scene.records().read("client").expect("readable");
    let refused = plan(&scene.recipe("// newer\n"), old.as_ref()).expect_err("it is changed");
    assert!(matches!(refused.why, Why::ForeignFile), "{refused}");
    assert_eq!(scene.uninstall(), [What::LeavesForeign, What::TakesOut]);
    assert_eq!(read(&scene.program()), "// ours, mended\n");
}

#[test]
fn a_switch_that_its_user_has_set_is_left_whatever_it_says() {
    for set in ["false", "true", "\"x\""] {
        let scene = Scene::new();
        let text = format!("{{ // mine\n  \"flags\": {{ \"EXTENSIONS\": {set} }}\n}}\n");
        scene.write(&scene.settings(), &text);
        assert_eq!(
            scene.install("// ours\n"),
            [What::Adds, What::Keeps],
            "{set}"
        );
        assert_eq!(scene.uninstall(), [What::TakesOut], "{set}");
        assert_eq!(read(&scene.settings()), text);
    }
    let scene = Scene::new();
    let text = "{ \"flags\": { \"OTHER\": true }, \"theme\": \"x\" }";
    scene.write(&scene.settings(), text);
    assert_eq!(scene.install("// ours\n"), [What::Adds, What::Adds]);
    let with: Value = serde_json::from_str(&read(&scene.settings())).expect("JSON");
    assert_eq!(with["flags"], json!({ "OTHER": true, "EXTENSIONS": true }));
    scene.uninstall();
    assert_eq!(read(&scene.settings()), text);
}
