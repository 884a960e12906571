use super::*;
use axiowl_model::Timestamp;
use std::fs;
use std::sync::Arc;

const STARTED: i64 = 10_000_000_000_000;

/// A home, the world it is examined in, and what a run notes of it.
struct Scene {
    _folder: tempfile::TempDir,
    home: PathBuf,
    witness: Arc<Witness>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("chats")).unwrap();
        fs::write(home.join("chats/a.jsonl"), "one").unwrap();
        Self {
            _folder: folder,
            home,
            witness: Arc::new(Witness::default()),
        }
    }

    fn at(&self, below: &str) -> PathBuf {
        self.home.join(below)
    }

    fn world(&self, now: i64) -> World {
        let env = [("SET".to_owned(), "value".to_owned())];
        World::real(self.home.clone(), env.into(), Timestamp::from_millis(now))
    }

    fn witnessed(&self) -> World {
        self.world(STARTED).witnessed(Arc::clone(&self.witness))
    }

    fn testimony(&self) -> Testimony {
        let nobody = |_: &str, _: &str| false;
        self.witness.testimony(STARTED, STARTED, nobody).unwrap()
    }

    fn holds(&self, testimony: &Testimony) -> Result<(), String> {
        testimony.holds(&self.world(STARTED + 1))
    }
}

/// What an examination of `chats/a.jsonl` at this depth notices of a change.
fn notices(depth: Depth, change: impl FnOnce(&Scene)) -> bool {
    let scene = Scene::new();
    scene.witness.path(&scene.at("chats/a.jsonl"), depth);
    let testimony = scene.testimony();
    assert_eq!(scene.holds(&testimony), Ok(()));
    change(&scene);
    scene.holds(&testimony).is_err()
}

#[test]
fn each_depth_notices_what_it_rests_on() {
    use Depth::{Content, Identity, Kind};
    let gone = |scene: &Scene| fs::remove_file(scene.at("chats/a.jsonl")).unwrap();
    let longer = |scene: &Scene| fs::write(scene.at("chats/a.jsonl"), "one, two").unwrap();
    let another = |scene: &Scene| {
        fs::write(scene.at("b"), "one").unwrap();
        fs::rename(scene.at("b"), scene.at("chats/a.jsonl")).unwrap();
    };
    let folder = |scene: &Scene| {
        fs::remove_file(scene.at("chats/a.jsonl")).unwrap();
        fs::create_dir(scene.at("chats/a.jsonl")).unwrap();
    };
    for depth in [Kind, Identity, Content] {
        assert!(notices(depth, gone) && notices(depth, folder), "{depth:?}");
    }
    assert!(!notices(Kind, another) && notices(Identity, another) && notices(Content, another));
    assert!(!notices(Kind, longer) && !notices(Identity, longer) && notices(Content, longer));
}

#[cfg(unix)]
#[test]
fn the_same_bytes_written_again_with_their_old_time_are_noticed() {
    // Only the change time tells, which no program can set.
    let rewritten = |scene: &Scene| {
        let path = scene.at("chats/a.jsonl");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        loop {
            use std::os::unix::fs::MetadataExt as _;
            let old = file.metadata().unwrap();
            file.set_modified(before).unwrap();
            let new = file.metadata().unwrap();
            // The file system's clock ticks.
            if (old.ctime(), old.ctime_nsec()) != (new.ctime(), new.ctime_nsec()) {
                break;
            }
        }
    };
    assert!(notices(Depth::Content, rewritten));
    assert!(!notices(Depth::Identity, rewritten));
}

#[test]
fn a_name_that_comes_or_goes_in_a_folder_is_noticed() {
    let scene = Scene::new();
    scene.witness.path(&scene.at("chats"), Depth::Content);
    let testimony = scene.testimony();
    fs::write(scene.at("other"), "x").unwrap();
    assert_eq!(scene.holds(&testimony), Ok(()), "beside it");
    fs::write(scene.at("chats/b.jsonl"), "x").unwrap();
    let why = scene.holds(&testimony).unwrap_err();
    assert!(why.ends_with("chats changed"), "{why}");
}

#[test]
fn what_was_not_there_must_still_be_absent() {
    for depth in [Depth::Kind, Depth::Identity, Depth::Content] {
        let scene = Scene::new();
        scene.witness.path(&scene.at("chats/b.jsonl"), depth);
        let testimony = scene.testimony();
        assert_eq!(scene.holds(&testimony), Ok(()));
        fs::write(scene.at("chats/b.jsonl"), "").unwrap();
        assert!(scene.holds(&testimony).is_err(), "{depth:?}");
    }
}

#[test]
fn what_a_world_answers_is_asked_again() {
    let scene = Scene::new();
    let world = scene.witnessed();
    let chats = scene.at("chats").to_string_lossy().into_owned();
    let later = scene.at("later").to_string_lossy().into_owned();
    assert!(world.exists(&chats) && world.dir_exists(&chats) && !world.dir_exists(&later));
    assert_eq!(world.env("SET"), Some("value"));
    assert_eq!(world.executable("no-such-program"), None);
    let own = std::process::id();
    assert!(world.pid_alive(own, None) && !world.pid_alive(u32::MAX - 1, None));
    let testimony = scene.testimony();
    assert_eq!(scene.holds(&testimony), Ok(()));
    let other = |name: &str, value: &str| {
        let env = [("SET", "value"), (name, value)];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let now = Timestamp::from_millis(STARTED);
        testimony.holds(&World::real(scene.home.clone(), env.into(), now))
    };
    assert_eq!(other("UNASKED", "x"), Ok(()));
    assert_eq!(
        other("SET", "other"),
        Err("another answer about the variable SET".into())
    );
    // No value of a variable is written down.
    assert!(!serde_json::to_string(&testimony).unwrap().contains("value"));
    fs::create_dir(scene.at("later")).unwrap();
    assert!(scene.holds(&testimony).is_err());
}

#[test]
fn time_that_decides_runs_out() {
    let scene = Scene::new();
    let world = scene.witnessed();
    assert!(world.is_newer(STARTED - 100, 500) && !world.is_newer(STARTED - 900, 500));
    let testimony = scene.testimony();
    for (now, holds) in [(0, true), (400, true), (401, false), (-1, false)] {
        let then = scene.world(STARTED + now);
        assert_eq!(testimony.holds(&then).is_ok(), holds, "{now}");
        assert_eq!(then.is_newer(STARTED - 100, 500), now <= 400, "{now}");
    }
}

#[test]
fn nothing_is_concluded_from_what_may_not_be_seen_again() {
    let nobody = |_: &str, _: &str| false;
    // Shortly before the run.
    let scene = Scene::new();
    let file = scene.at("chats/a.jsonl");
    scene.witness.path(&file, Depth::Content);
    let changed = stamp::newest(fs::metadata(&file).ok().as_ref());
    let at = |started: i64| scene.witness.testimony(started, started, nobody);
    assert!(at(changed + RACY - 1).is_err() && at(changed + RACY).is_ok());
    // While it was read.
    fs::write(&file, "more than before").unwrap();
    scene.witness.path(&file, Depth::Content);
    assert!(scene.witness.testimony(STARTED, STARTED, nobody).is_err());
    // By a question that has no second answer.
    let scene = Scene::new();
    scene.witness.unsure("a program was asked");
    assert_eq!(
        scene.witness.testimony(STARTED, STARTED, nobody),
        Err("a program was asked")
    );
}

#[test]
fn the_registry_has_to_answer_as_it_did() {
    let witness = Witness::default();
    assert!(!witness.asks_registry());
    witness.registered("s1", "p", false);
    witness.registered("s2", "p", true);
    assert!(witness.asks_registry());
    let test = |registered: fn(&str, &str) -> bool| {
        witness.testimony(STARTED, STARTED, registered).is_ok()
    };
    assert!(test(|session, provider| session == "s2" && provider == "p"));
    assert!(!test(|_, _| false) && !test(|_, _| true));
}

#[test]
fn a_testimony_survives_being_kept() {
    let scene = Scene::new();
    scene.witness.path(&scene.at("chats"), Depth::Content);
    scene.witness.env("A", None);
    scene.witness.turns_at(STARTED + 5);
    let testimony = scene.testimony();
    let kept = serde_json::to_string(&testimony).unwrap();
    let read: Testimony = serde_json::from_str(&kept).unwrap();
    assert_eq!(read, testimony);
    assert_eq!(read.paths(), 1);
}

#[test]
fn what_a_shared_part_saw_counts_as_seen() {
    let scene = Scene::new();
    let file = scene.at("chats/a.jsonl");
    let part = Arc::new(Witness::default());
    part.path(&file, Depth::Content);
    part.turns_at(STARTED + 50);
    scene.world(STARTED).witnessed(Arc::clone(&part)).env("SET");
    scene.witness.path(&file, Depth::Kind);
    scene.witness.adopt(Arc::clone(&part));
    let testimony = scene.testimony();
    assert_eq!(testimony.paths(), 1, "the deeper look stands for both");
    assert_eq!(scene.holds(&testimony), Ok(()));
    assert!(testimony.holds(&scene.world(STARTED + 50)).is_err());
    fs::write(&file, "other bytes").unwrap();
    assert!(scene.holds(&testimony).is_err());
    // What one of them saw before the change and the other after it is no state that was read.
    scene.witness.path(&scene.at("chats"), Depth::Content);
    let late = Arc::new(Witness::default());
    late.path(&file, Depth::Content);
    scene.witness.adopt(late);
    let nobody = |_: &str, _: &str| false;
    assert!(scene.witness.testimony(i64::MAX, STARTED, nobody).is_err());
}

#[test]
fn a_shared_part_that_is_unsure_leaves_no_testimony() {
    let scene = Scene::new();
    let part = Arc::new(Witness::default());
    scene.witness.adopt(Arc::clone(&part));
    scene.testimony();
    part.unsure("nobody can tell");
    let nobody = |_: &str, _: &str| false;
    let said = scene.witness.testimony(STARTED, STARTED, nobody);
    assert_eq!(said, Err("nobody can tell"));
}
