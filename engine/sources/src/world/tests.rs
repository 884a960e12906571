use super::*;
use crate::Row;

fn fixture() -> (tempfile::TempDir, World) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("home/work/real")).unwrap();
    std::fs::write(dir.path().join("home/a.txt"), "a").unwrap();
    std::fs::write(dir.path().join("home/kept.db.sql"), "").unwrap();
    let text = "now: 2026-11-30T14:00:00Z\nenv: { A: b, EMPTY: '' }\ndirs: [/srv/only-listed/]\n\
        executables: { tool: /opt/tool }\nlocks: [/home/dev/x.lock]\npids: { 7: 42 }\n\
        facts: { yes: true, some: [s1] }\nmaps: { /home/dev: home }\nregistered: { s1: [p] }\n";
    let world = World::fixture(dir.path(), &WorldSpec::parse("world.yaml", text).unwrap());
    (dir, world)
}

#[test]
fn a_fixture_answers_from_its_description_alone() {
    let (_dir, world) = fixture();
    assert_eq!(world.home(), "/home/dev");
    assert_eq!(
        (world.env("A"), world.env("EMPTY"), world.env("HOME")),
        (Some("b"), None, None)
    );
    assert!(world.dir_exists("/srv/only-listed") && world.exists("/srv/only-listed/"));
    assert!(world.dir_exists("/home/dev/work/real") && !world.dir_exists("/home/dev/a.txt"));
    assert!(world.exists("/home/dev/a.txt"));
    assert!(world.exists("/home/dev/kept.db") && !world.exists("/home/dev/other.db"));
    assert!(!world.exists("/etc/passwd") && !world.dir_exists("/tmp"));
    assert_eq!(world.executable("tool").as_deref(), Some("/opt/tool"));
    assert_eq!(world.executable("sh"), None);
    assert_eq!(world.lock_held("/home/dev/x.lock"), Some(true));
    assert_eq!(world.lock_held("/home/dev/y.lock"), Some(false));
    assert!(world.pid_alive(7, Some("42")) && world.pid_alive(7, None));
    assert!(!world.pid_alive(7, Some("43")) && !world.pid_alive(1, None));
    assert_eq!(world.registered_as("s1"), ["p"]);
    assert!(world.registered_as("s2").is_empty());
}

#[test]
fn facts_come_from_the_fixture_or_native_code_and_silence_is_no() {
    let (_dir, world) = fixture();
    let (row, roots) = (Row::new(), BTreeMap::new());
    let ask = |world: &World, name: &str, session: &str| {
        world.fact(
            name,
            &FactQuery {
                world,
                roots: &roots,
                row: &row,
                session,
            },
        )
    };
    assert_eq!(ask(&world, "yes", "any"), Ok(true));
    assert_eq!(ask(&world, "some", "p:session:s1"), Ok(true));
    assert_eq!(ask(&world, "some", "s2"), Ok(false));
    assert!(ask(&world, "other", "s1").is_err());

    struct Native;
    impl NativeFacts for Native {
        fn names(&self) -> &'static [&'static str] {
            &["known"]
        }
        fn fact(&self, _: &str, query: &FactQuery) -> Result<bool, String> {
            Ok(query.session == "s1")
        }
    }
    let real = World::real("/h".into(), BTreeMap::new(), Timestamp::from_millis(0));
    let real = real.with_native(Arc::new(Native));
    assert_eq!(ask(&real, "known", "s1"), Ok(true));
    assert!(ask(&real, "yes", "s1").is_err());
}

#[test]
fn another_home_keeps_no_variable_that_leads_elsewhere() {
    let env = [
        ("PATH", "/bin"),
        ("XDG_STATE_HOME", "/x"),
        ("SOME_HOME", "/y"),
        ("HOME", "/z"),
    ];
    let env = env.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let world = World::other_home("/other".into(), &env, Timestamp::from_millis(0));
    assert_eq!(world.home(), "/other");
    assert_eq!(
        (world.env("PATH"), world.env("HOME")),
        (Some("/bin"), Some("/other"))
    );
    assert_eq!(
        (world.env("XDG_STATE_HOME"), world.env("SOME_HOME")),
        (None, None)
    );
}
