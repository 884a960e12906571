//! Commands: only where allowed, in time, within limits, and never in a fixture.

use crate::World;
use crate::harness::{Home, columns, issues, rule};
use crate::read::{ReadOptions, Tables, read_sources};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::{Timestamp, codes};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RULE: &str = "  s:
    command:
      argv: [tool, list, \"a b; $HOME\"]
      readonly: proven
      reason: it prints what it is told to
      deadline: 1s
      max_bytes: 1 KiB
      each: { at: \"\", fields: { id: /id, at: /updated } }
      convert: { at: unix_s }
";

/// A home with a program `tool`.
fn home(script: &str) -> Home {
    let home = Home::new();
    let path = home.write("bin/tool", format!("#!/bin/sh\n{script}\n"));
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    home
}

fn run(home: &Home, allow_commands: bool) -> Tables {
    let path = format!("{}:/usr/bin:/bin", home.path("r/bin").display());
    let env = [
        ("PATH", path.as_str()),
        ("SECRET_TOKEN", "x"),
        ("LANG", "C"),
    ];
    let env: BTreeMap<String, String> = env.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let world = World::real(home.path(""), env, Timestamp::from_millis(0));
    let options = ReadOptions {
        allow_commands,
        ..ReadOptions::default()
    };
    read_sources(&rule(RULE), &world, &options)
}

#[test]
fn nothing_runs_unless_it_is_allowed() {
    let home = home("touch \"$0.ran\"; echo '[]'");
    let tables = run(&home, false);
    assert_eq!(issues(&tables), [(codes::COMMAND_OFF, None)]);
    assert!(
        !tables.tables["s"].incomplete,
        "what may not be asked says nothing about rows"
    );
    assert!(!home.path("r/bin/tool.ran").exists());
    let tables = run(&home, true);
    assert!(home.path("r/bin/tool.ran").exists());
    assert!(tables.issues.is_empty());
    std::fs::remove_file(home.path("r/bin/tool")).unwrap();
    assert_eq!(issues(&run(&home, true)), [(codes::COMMAND_OFF, None)]);
}

#[test]
fn its_output_gives_rows_and_no_shell_sees_its_arguments() {
    let home = home(
        "[ \"$2\" = 'a b; $HOME' ] && [ -z \"$SECRET_TOKEN\" ] && [ \"$LANG\" = C ] && [ \"$PWD\" -ef \"$(dirname \"$0\")/../..\" ] && echo '[{\"id\":\"x\",\"updated\":2}, {\"id\":\"y\"}]'",
    );
    let tables = run(&home, true);
    assert_eq!(issues(&tables), []);
    assert_eq!(
        columns(&tables, &["id", "at"]),
        [[json!("x"), json!(2000)], [json!("y"), json!(null)]]
    );
}

#[test]
fn a_program_that_fails_hangs_or_floods_is_ended_and_named() {
    for (script, code) in [
        ("echo '[]'; exit 3", codes::UNREADABLE),
        ("echo 'no json'", codes::DAMAGED),
        ("echo 3", "strange"),
        ("echo", ""),
        ("cat /dev/zero", codes::CAP),
        ("exec 1>&-; sleep 60", codes::CAP),
        ("sleep 60 & sleep 60", codes::CAP),
    ] {
        let home = home(script);
        let start = Instant::now();
        let tables = run(&home, true);
        assert!(start.elapsed() < Duration::from_secs(30), "{script}");
        assert_eq!(tables.tables["s"].rows.len(), 0);
        match code {
            "" => assert!(tables.issues.is_empty(), "{script}: {:?}", tables.issues),
            "strange" => assert_eq!(tables.tables["s"].not_understood.len(), 1),
            code => {
                assert_eq!(issues(&tables)[0].0, code, "{script}: {:?}", tables.issues);
                assert!(tables.tables["s"].incomplete);
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_it_started_is_ended_with_it() {
    let home = home("sleep 61 & echo $! > \"$0.child\"; wait");
    run(&home, true);
    let pid = std::fs::read_to_string(home.path("r/bin/tool.child")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let alive = || {
        let state = std::fs::read_to_string(&stat).unwrap_or_default();
        state
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    let end = Instant::now() + Duration::from_secs(10);
    while alive() && Instant::now() < end {
        std::thread::yield_now();
    }
    assert!(!alive(), "{stat}");
}

#[test]
fn a_fixture_reads_what_was_recorded_and_runs_nothing() {
    let home = home("touch \"$0.ran\"");
    std::fs::write(home.path("out.json"), "[{\"id\":\"z\"}]").unwrap();
    let spec = |commands: &str| {
        let text = format!(
            "now: 2026-11-30T14:00:00Z\nexecutables: {{ tool: {} }}\nmaps: {{ /home/dev: . }}\ncommands: {commands}\n",
            home.path("r/bin/tool").display()
        );
        World::fixture(
            &home.path(""),
            &WorldSpec::parse("world.yaml", &text).unwrap(),
        )
    };
    let options = ReadOptions {
        allow_commands: true,
        ..ReadOptions::default()
    };
    let read = |commands: &str| read_sources(&rule(RULE), &spec(commands), &options);
    let tables = read("{ \"tool list a b; $HOME\": out.json }");
    assert_eq!(columns(&tables, &["id"]), [[json!("z")]]);
    for missing in ["{}", "{ \"tool list a b; $HOME\": ../out.json }"] {
        assert_eq!(
            issues(&read(missing)),
            [(codes::UNREADABLE, None)],
            "{missing}"
        );
    }
    assert!(!home.path("r/bin/tool.ran").exists());
}
