//! Layers of rules through the binary: new, eject, packs, trust, diff, and what discover, list
//! and doctor say about rules that do not fit.

mod program;

use program::{Axiowl, Run};
use serde_json::json;
use std::path::{Path, PathBuf};

fn says(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code, code, "{run}");
    let said = format!("{}{}", run.stdout, run.stderr);
    for word in words {
        assert!(said.contains(word), "no {word:?} in\n{run}");
    }
}

fn rules(axiowl: &Axiowl) -> PathBuf {
    axiowl.home().join(".config/axiowl/rules")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("text")
}

/// A session of the provider that `rules new` writes a skeleton for.
fn session(axiowl: &Axiowl, id: u8, line: &str) {
    let cwd = axiowl.home();
    let id = format!("0192b1c0-0000-7000-8000-00000000000{id}");
    let first = json!({ "type": "session", "id": id, "cwd": cwd });
    axiowl.write(
        &format!("home/.acme/sessions/{id}.jsonl"),
        format!("{first}\n{line}\n"),
    );
}

/// What `rules new` writes works before anything is changed, and is what it says it is.
#[test]
fn a_new_rule_checks_and_tests_clean_and_finds_a_session() {
    let axiowl = Axiowl::new();
    says(
        &axiowl.run(&["rules", "new", "acme"]),
        0,
        &["wrote     ", "axiowl rules check", "axiowl rules test acme"],
    );
    let folder = rules(&axiowl).join("acme");
    let folder = folder.to_str().expect("text");
    says(
        &axiowl.run(&["rules", "check", folder]),
        0,
        &["1 rules checked: 0 errors, 0 warnings"],
    );
    says(
        &axiowl.run(&["rules", "test", "acme"]),
        0,
        &["passed   acme/example"],
    );
    session(&axiowl, 1, "{\"type\":\"title\",\"title\":\"Mine\"}");
    says(
        &axiowl.run(&["discover", "acme"]),
        0,
        &["enrolled   1", "verdict    verified"],
    );
    for (key, code) in [("acme", 1), ("Acme", 2), ("1x", 2), ("a-b", 2)] {
        assert_eq!(axiowl.run(&["rules", "new", key]).code, code, "{key}");
    }
}

/// An override is made of what stands right below the user's rules, and follows its updates.
#[test]
fn eject_makes_an_override_of_the_highest_layer_below_the_users() {
    let axiowl = Axiowl::new();
    let pack = axiowl.path("vendor");
    axiowl.copy_rule("echo", &pack.join("echo"));
    let file = pack.join("echo/rule.yaml");
    let vendors = read(&file).replace(
        "title: The demo's echo agent",
        "title: The vendor's echo agent",
    );
    std::fs::write(&file, &vendors).expect("pack");
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("packs: [{}]\n", pack.display()),
    );
    says(&axiowl.run(&["rules", "list"]), 0, &["vendor"]);

    says(
        &axiowl.run(&["rules", "eject", "echo", "--patch"]),
        0,
        &["vendor"],
    );
    let patch = rules(&axiowl).join("echo/rule.yaml");
    let text = read(&patch);
    assert!(text.contains("\nextends: vendor\n"), "{text}");
    std::fs::write(&patch, text + "  name.reject: { append: [untitled] }\n").expect("patch");
    let run = axiowl.run(&["rules", "show", "echo", "--effective"]);
    says(&run, 0, &["The vendor's echo agent", "untitled", "user"]);
    assert_eq!(
        axiowl.run(&["rules", "eject", "echo"]).code,
        1,
        "it is there already"
    );

    // The vendor's update: the patch holds, says so, and shows what came.
    std::fs::write(
        &file,
        vendors.replace("The vendor's echo agent", "Echo, second edition"),
    )
    .expect("pack");
    says(&axiowl.run(&["discover", "echo"]), 0, &["AX016"]);
    let run = axiowl.run(&["rules", "diff", "echo"]);
    says(
        &run,
        0,
        &[
            "override  user a patch",
            "-title: The vendor's echo agent",
            "+title: Echo, second edition",
            "+  reject: [blank, multiline, uuid, session_id, untitled]",
        ],
    );
    let told = axiowl
        .run(&["rules", "diff", "echo", "--json"])
        .lines("rule_diff")
        .remove(0);
    assert_eq!(
        (&told["moved"], &told["patch"]),
        (&json!(true), &json!(true))
    );
    says(
        &axiowl.run(&["rules", "diff", "echo", "--accept"]),
        0,
        &["accepted"],
    );
    let told = axiowl
        .run(&["rules", "diff", "echo", "--json"])
        .lines("rule_diff")
        .remove(0);
    assert_eq!(told["moved"], false);
    assert!(!axiowl.run(&["discover", "echo"]).stderr.contains("AX016"));
}

/// A whole copy gets nothing by itself; the difference says what is in both.
#[test]
fn diff_of_a_copy_shows_what_both_changed() {
    let axiowl = Axiowl::new();
    let pack = axiowl.path("vendor");
    axiowl.copy_rule("echo", &pack.join("echo"));
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("packs: [{}]\n", pack.display()),
    );
    says(
        &axiowl.run(&["rules", "eject", "echo"]),
        0,
        &["copied    from the pack vendor rule"],
    );
    let own = rules(&axiowl).join("echo/rule.yaml");
    std::fs::write(&own, read(&own).replace("title: The demo's", "title: My")).expect("own");
    let theirs = pack.join("echo/rule.yaml");
    std::fs::write(
        &theirs,
        read(&theirs).replace("title: The demo's", "title: Their"),
    )
    .expect("theirs");
    let run = axiowl.run(&["rules", "diff", "echo"]);
    says(
        &run,
        0,
        &[
            "override  user a copy",
            "+title: Their echo agent",
            "changed below and in the override",
            "a copy gets none of it by itself",
        ],
    );
    says(
        &axiowl.run(&["rules", "diff", "echo", "--accept"]),
        0,
        &["accepted"],
    );
    assert!(
        read(&own).contains("title: My echo agent"),
        "accept changed the override"
    );
    assert!(
        !axiowl
            .run(&["rules", "diff", "echo"])
            .stdout
            .contains("what changed below")
    );
}

#[test]
fn a_script_of_a_pack_runs_only_as_long_as_it_is_the_one_that_was_trusted() {
    let axiowl = Axiowl::new();
    let pack = axiowl.path("vendor");
    axiowl.copy_rule("echo", &pack.join("echo"));
    let file = pack.join("echo/rule.yaml");
    std::fs::write(&file, read(&file) + "\npolicy: policy.rhai\n").expect("rule");
    let script = pack.join("echo/policy.rhai");
    std::fs::write(
        &script,
        "fn review(row, ctx) { #{ notes: [\"looked at\"] } }\n",
    )
    .expect("script");
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("packs: [{}]\n", pack.display()),
    );
    axiowl.write(
        "home/.axiowl-echo/0190aaaa-0000-7000-8000-00000000ec40.jsonl",
        format!("{}\n", json!({ "type": "session", "id": "0190aaaa-0000-7000-8000-00000000ec40", "name": "E", "cwd": axiowl.home() })),
    );
    let enrolled = |axiowl: &Axiowl| {
        let run = axiowl.run(&["discover", "echo", "--json", "--dry-run"]);
        let agents = run.lines("discovered_agent");
        agents.iter().any(|agent| agent["sendable"] == true)
    };
    // Not trusted: what the script would decide is decided against enrolment, aloud.
    says(
        &axiowl.run(&["discover", "echo", "--dry-run"]),
        0,
        &["AX018", "axiowl rules trust"],
    );
    assert!(!enrolled(&axiowl));
    let folder = pack.to_str().expect("text").to_owned();
    says(
        &axiowl.run(&["rules", "trust", &folder]),
        0,
        &["trusted, as it is now", "may run"],
    );
    assert!(enrolled(&axiowl));
    says(&axiowl.run(&["rules", "trust", "--list"]), 0, &["vendor"]);
    // Another byte, and it has to be given again.
    std::fs::write(&script, read(&script) + "// more\n").expect("script");
    assert!(!enrolled(&axiowl));
    says(
        &axiowl.run(&["rules", "trust", &folder]),
        0,
        &["trusted, as it is now"],
    );
    assert!(enrolled(&axiowl));
    says(
        &axiowl.run(&["rules", "trust", &folder, "--revoke"]),
        0,
        &["no longer trusted"],
    );
    assert!(!enrolled(&axiowl));
    says(
        &axiowl.run(&["rules", "trust"]),
        2,
        &["no folder was named"],
    );
}

/// A provider that has a rule is changed, never replaced by a skeleton.
#[test]
fn new_refuses_a_provider_that_any_layer_has() {
    let axiowl = Axiowl::new();
    let pack = axiowl.path("vendor");
    let theirs =
        read(Path::new("rules/echo/rule.yaml")).replace("provider: echo", "provider: theirs");
    axiowl.write("vendor/theirs/rule.yaml", theirs);
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("packs: [{}]\n", pack.display()),
    );
    for provider in ["codex", "theirs"] {
        let eject = format!("axiowl rules eject {provider} --patch");
        let said = [
            &*format!("there is a rule for `{provider}` already"),
            &*eject,
        ];
        says(&axiowl.run(&["rules", "new", provider]), 1, &said);
        assert!(!rules(&axiowl).join(provider).exists());
    }
}

/// What a rule takes from another one is changed there, and everything that could lead somebody
/// to the wrong rule says so.
#[test]
fn a_shared_part_leads_to_the_rule_that_holds_it() {
    let axiowl = Axiowl::new();
    says(
        &axiowl.run(&["rules", "eject", "codex_cli", "--patch"]),
        0,
        &["wrote"],
    );
    let file = rules(&axiowl).join("codex_cli/rule.yaml");
    let text = read(&file);
    for absent in ["sources.", "name.reject", "name.candidates"] {
        assert!(!text.contains(absent), "{absent} is not its own:\n{text}");
    }
    for present in ["proof[", "axiowl rules eject codex --patch"] {
        assert!(text.contains(present), "{present}\n{text}");
    }
    let patch = format!("{text}  sources.threads.sqlite.path: {{ replace: x }}\n");
    std::fs::write(&file, patch).expect("patch");
    let folder = file.parent().and_then(Path::to_str).expect("text");
    says(
        &axiowl.run(&["rules", "check", folder]),
        1,
        &[
            "AX014",
            "`sources` is shared from `codex`",
            "axiowl rules eject codex --patch",
        ],
    );
    std::fs::remove_dir_all(folder).expect("removed");

    // A store of another shape: both rules do not fit, and one of them is to be mended.
    let database = axiowl.path("home/.codex/state_5.sqlite");
    std::fs::create_dir_all(database.parent().expect("folder")).expect("folder");
    let database = rusqlite::Connection::open(database).expect("database");
    database
        .execute_batch(
            "CREATE TABLE threads (id TEXT, other TEXT); INSERT INTO threads VALUES ('a', 'b');",
        )
        .expect("table");
    let way = "start with: axiowl rules capture codex";
    for arguments in [
        &["discover", "codex-cli"][..],
        &["rules", "list"],
        &["doctor"],
    ] {
        let run = axiowl.run(arguments);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(way), "{run}");
        assert!(!said.contains("rules capture codex_cli"), "{run}");
    }
}

/// Trust that was given can be taken back whatever became of the folder since.
#[test]
fn trust_is_taken_back_of_a_folder_that_changed_or_is_gone() {
    let axiowl = Axiowl::new();
    let pack = axiowl.path("vendor");
    axiowl.copy_rule("echo", &pack.join("echo"));
    let rule = read(&pack.join("echo/rule.yaml"));
    let scripted = format!("{rule}\npolicy: policy.rhai\n");
    let write = |note: &str| {
        std::fs::create_dir_all(pack.join("echo")).expect("folder");
        std::fs::write(pack.join("echo/rule.yaml"), &scripted).expect("rule");
        let script = format!("fn review(row, ctx) {{ #{{ notes: [\"{note}\"] }} }}\n");
        std::fs::write(pack.join("echo/policy.rhai"), script).expect("script");
    };
    let folder = pack.to_str().expect("text");
    let echo = pack.join("echo");
    let echo = echo.to_str().expect("text");
    let listed = || axiowl.run(&["rules", "trust", "--list"]).stdout;
    let trust = |folder: &str| says(&axiowl.run(&["rules", "trust", folder]), 0, &["trusted"]);
    let revoke = |what: &str, times: usize| {
        let run = axiowl.run(&["rules", "trust", "--revoke", what]);
        assert_eq!(run.code, i32::from(times == 0), "{run}");
        assert_eq!(
            run.stdout.matches("no longer trusted").count(),
            times,
            "{run}"
        );
    };
    // Two states were trusted, and neither is the present one.
    for note in ["one", "two"] {
        write(note);
        trust(folder);
    }
    write("three");
    let others = "0123456789ab\t/elsewhere/echo\n";
    let list = axiowl.home().join(".config/axiowl/trusted");
    std::fs::write(&list, read(&list) + others).expect("list");
    revoke(folder, 2);
    assert_eq!(read(&list), others, "the trust of other folders stays");
    revoke(folder, 0);
    // Nothing in it can run any more; its former self is trusted all the same.
    trust(echo);
    std::fs::remove_file(pack.join("echo/policy.rhai")).expect("script");
    std::fs::write(pack.join("echo/rule.yaml"), &rule).expect("rule");
    revoke(echo, 1);
    // It is gone altogether, or only a part of it is.
    for (what, removed) in [(folder, folder), (echo, echo), (folder, echo)] {
        write("four");
        trust(folder);
        std::fs::remove_dir_all(removed).expect("removed");
        revoke(what, 1);
    }
    // The list shows digests, and a digest is enough.
    write("five");
    trust(folder);
    let shown = listed();
    let mine = shown.lines().find(|line| line.contains("vendor"));
    let digest = mine.and_then(|line| line.split_whitespace().next());
    revoke(digest.expect("digest"), 1);
    revoke("0123456789ab", 1);
    assert!(listed().contains("nothing is trusted"));
}

#[test]
fn only_the_whole_hash_of_a_content_is_trust_and_no_trust_is_lost() {
    let axiowl = Axiowl::new();
    let folders: Vec<String> = (0..8)
        .map(|number| {
            let folder = axiowl.path(&format!("packs/{number}/echo"));
            axiowl.copy_rule("echo", &folder);
            let rule = read(&folder.join("rule.yaml"));
            // Two of them hold the same.
            let note = number / 2 * 2;
            std::fs::write(
                folder.join("rule.yaml"),
                format!("{rule}\npolicy: policy.rhai\n"),
            )
            .expect("rule");
            let script = format!("fn review(row, ctx) {{ #{{ notes: [\"{note}\"] }} }}\n");
            std::fs::write(folder.join("policy.rhai"), script).expect("script");
            folder.to_str().expect("text").to_owned()
        })
        .collect();
    // All at once: each change is made on what the others left.
    let children: Vec<_> = folders
        .iter()
        .map(|folder| {
            let mut command = axiowl.command(&["rules", "trust", folder]);
            let quiet = command.stdout(std::process::Stdio::null());
            quiet.spawn().expect("axiowl runs")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let list = axiowl.home().join(".config/axiowl/trusted");
    let lines = || read(&list).lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines().len(), 8);
    // The content is what runs, so it is taken back wherever it was trusted.
    std::fs::remove_dir_all(&folders[0]).expect("gone");
    let run = axiowl.run(&["rules", "trust", "--revoke", &folders[0]]);
    says(&run, 0, &["packs/0/echo", "packs/1/echo"]);
    assert_eq!(lines().len(), 6);
    // A content that only begins like a trusted one is another content.
    let pack = axiowl.path("packs/2");
    let config = axiowl.home().join(".config/axiowl/config.yaml");
    let pack = format!("packs: [{}]\n", pack.to_str().expect("text"));
    std::fs::write(config, pack).expect("config");
    let kept_back = || {
        let run = axiowl.run(&["rules", "list"]);
        assert_eq!(run.code, 0, "{run}");
        run.stderr.contains("is not trusted")
    };
    assert!(!kept_back());
    let short: String = lines()
        .iter()
        .map(|line| {
            let (hash, folder) = line.split_once('\t').expect("two fields");
            assert_eq!(hash.len(), 64);
            format!("{}{}\t{folder}\n", &hash[..12], "0".repeat(52))
        })
        .collect();
    std::fs::write(&list, short).expect("list");
    assert!(kept_back());
}

#[test]
fn drift_is_counted_and_said_by_discover_list_and_doctor() {
    let axiowl = Axiowl::new();
    assert_eq!(axiowl.run(&["rules", "new", "acme"]).code, 0);
    // Not here: nothing to say, and no drift.
    says(
        &axiowl.run(&["doctor", "acme", "--strict"]),
        0,
        &["not here"],
    );
    let file = rules(&axiowl).join("acme/rule.yaml");
    let rule = read(&file).replace(
        "      take:\n",
        "      records: { at: /type, known: [session, title] }\n      take:\n",
    );
    std::fs::write(&file, rule).expect("rule");
    for id in 1..=3 {
        session(&axiowl, id, "{\"type\":\"headline\",\"headline\":\"Mine\"}");
    }
    let said = "3 records of an unknown sort (headline)";
    let mends = "to mend it, start with: axiowl rules capture acme";
    says(&axiowl.run(&["doctor", "acme"]), 0, &["drift", said, mends]);
    says(&axiowl.run(&["doctor", "acme", "--strict"]), 1, &[said]);
    says(&axiowl.run(&["rules", "list"]), 0, &["acme", " -"]);
    says(
        &axiowl.run(&["discover", "acme"]),
        0,
        &["verdict    drift", said, mends],
    );
    says(
        &axiowl.run(&["discover", "acme", "--strict"]),
        1,
        &["verdict    drift"],
    );
    says(
        &axiowl.run(&["rules", "list"]),
        0,
        &["drift", &format!("acme: {said}; {mends}")],
    );
    let told = axiowl.run(&["rules", "list", "--json"]).lines("rule");
    let acme = told
        .iter()
        .find(|rule| rule["provider"] == "acme")
        .expect("acme");
    assert_eq!(
        (&acme["verdict"], &acme["cases"], &acme["layer"]),
        (&json!("drift"), &json!(1), &json!("user"))
    );
    let told = axiowl
        .run(&["doctor", "acme", "--json"])
        .lines("doctor_rule")
        .remove(0);
    assert_eq!(
        (&told["verdict"], &told["found"]),
        (&json!("drift"), &json!(3))
    );

    // Nothing understood at all: blind, and never silence.
    let store = axiowl.home().join(".acme/sessions");
    std::fs::rename(&store, store.with_file_name("chats")).expect("moved");
    says(
        &axiowl.run(&["discover", "acme", "--strict"]),
        1,
        &["verdict    blind", "chats/"],
    );
    says(
        &axiowl.run(&["doctor", "--strict"]),
        1,
        &["blind", "3 files that nothing fits"],
    );
    // A verdict of an older rule is said to be one.
    std::fs::write(&file, read(&file) + "# changed\n").expect("rule");
    says(&axiowl.run(&["rules", "list"]), 0, &["blind (older rule)"]);
}

#[test]
fn a_broken_override_is_named_and_the_layer_below_is_used() {
    let axiowl = Axiowl::new();
    assert_eq!(axiowl.run(&["rules", "eject", "echo", "--patch"]).code, 0);
    let file = rules(&axiowl).join("echo/rule.yaml");
    std::fs::write(
        &file,
        read(&file) + "  name.rejects: { append: [untitled] }\n",
    )
    .expect("patch");
    let line = read(&file).lines().count();
    let run = axiowl.run(&["discover", "echo"]);
    says(
        &run,
        0,
        &[
            "AX014",
            &format!("rule.yaml:{line}:"),
            "name.rejects",
            "reject",
            "the user rule for echo is broken; the built-in one is used",
        ],
    );
    says(&axiowl.run(&["rules", "check"]), 1, &["AX014"]);
    assert_eq!(axiowl.run(&["rules", "list"]).code, 1);
}
