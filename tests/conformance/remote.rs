//! Sessions on other machines are out of scope, and that is said (section 30).

use crate::scene::Scene;
use serde_json::Value;

/// C340, C341, C093: `remote` reports itself out of scope, and fails.
#[test]
fn c093_c340_c341_remote_is_out_of_scope_and_fails() {
    let scene = Scene::both();
    let run = scene.run(&["discover", "remote", "--json"]);
    assert_eq!(run.code, 1, "{run}");
    let line = &run.lines("discovery_excluded")[0];
    assert_eq!(
        (&line["provider"], &line["status"]),
        (&"remote".into(), &"out_of_scope".into())
    );
    let plain = scene.run(&["discover", "remote"]);
    assert_eq!(plain.code, 1);
    assert!(plain.stdout.contains("out of scope"), "{plain}");
    assert!(scene.table().is_empty(), "nothing was merged");
}

/// C342: after the local scopes, `all` says that remote was left out.
#[test]
fn c342_all_ends_with_remote_left_out() {
    let scene = Scene::both();
    let run = scene.ok(&["discover", "all", "--json"]);
    let last: Value = serde_json::from_str(run.stdout.lines().last().expect("line")).expect("JSON");
    assert_eq!(last["schema"], "axiowl.discovery_excluded/1");
    assert_eq!(last["provider"], "remote");
    let plain = scene.ok(&["discover", "all"]);
    assert!(
        plain
            .stdout
            .lines()
            .last()
            .expect("line")
            .starts_with("remote "),
        "{plain}"
    );
}

/// C344: what is said about remote hides no local failure.
#[test]
fn c344_remote_hides_no_local_failure() {
    let scene = Scene::codex();
    // A folder where the table should be: the merge fails.
    std::fs::create_dir_all(scene.axiowl.path("state/registry/agents.tsv")).expect("folder");
    let run = scene.run(&["discover", "all"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("agents.tsv"), "{run}");
    assert_eq!(scene.run(&["discover", "codex"]).code, 1);
}
