//! The two surfaces of the Codex store: which thread belongs to which (section 19).

use crate::codex_home::{A, B, Thread, scene, thread};
use crate::scene::{CODEX, FOLDERS};

/// C259 to C262, C264, A27: one store, two surfaces, and no thread in both.
#[test]
fn c259_to_c262_c264_a27_a_thread_belongs_to_one_surface() {
    let cases = [
        ("codex_exec", "exec", "codex_cli", "codex_cli_exec_thread"),
        ("codex_exec", "vscode", "codex_cli", "codex_cli_exec_thread"),
        ("", "exec", "codex_cli", "codex_cli_exec_thread"),
        ("codex-tui", "cli", "codex_cli", "codex_cli_tui_thread"),
        (
            "codex_cli_rs",
            "vscode",
            "codex_cli",
            "codex_cli_tui_thread",
        ),
        (
            "codex_vscode",
            "vscode",
            "codex",
            "codex_app_server_resumable",
        ),
        (
            "Codex Desktop",
            "vscode",
            "codex",
            "codex_app_server_resumable",
        ),
    ];
    for (originator, source, provider, proof) in cases {
        let scene = scene(&[Thread {
            originator,
            source,
            ..thread(A)
        }]);
        scene.world(&format!("{FOLDERS}{CODEX}"));
        let mut rows = scene.discover("codex");
        rows.extend(scene.discover("codex-cli"));
        let [row] = &rows[..] else {
            panic!("{originator} {source}: {rows:#?}")
        };
        assert_eq!(
            (&row["provider"], &row["source"]),
            (&provider.into(), &proof.into()),
            "{originator} {source}"
        );
        assert_eq!(row["provider_session_id"], A);
    }
}

/// C260, C261: a thread that is registered as `codex_cli` stays there, whatever made it.
#[test]
fn c260_c261_a_registered_codex_cli_thread_stays_one() {
    let scene = scene(&[thread(A)]);
    scene.ok(&[
        "registry",
        "add-agent",
        "--provider",
        "codex_cli",
        "--session",
        A,
        "--name",
        "Mine",
    ]);
    let rows = scene.discover("codex-cli");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["source"], "codex_cli_registry_thread");
    assert!(scene.discover("codex").is_empty(), "never in both");
}

/// C263: a usable name or the accepted fallback, or nothing is enrolled.
#[test]
fn c263_a_name_or_the_accepted_fallback_is_required() {
    let exec = |title: &'static str| Thread {
        name: None,
        title,
        cwd: "/",
        originator: "codex_exec",
        ..thread(A)
    };
    let named = scene(&[exec("Fix the till")]);
    named.world("dirs: [/]\n");
    assert_eq!(
        named.discover("codex-cli")[0]["display_name"],
        "Fix the till"
    );
    let fallback = scene(&[exec(B)]);
    fallback.world("dirs: [/]\n");
    let row = &fallback.discover("codex-cli")[0];
    assert_eq!(
        (&row["display_name"], &row["decision"]),
        (&A.into(), &"enrolled".into()),
        "{row}"
    );
    // The desktop surface accepts no such name from an ordinary run.
    let desktop = scene(&[Thread {
        originator: "codex_vscode",
        ..exec(B)
    }]);
    desktop.world(&format!("dirs: [/]\n{CODEX}"));
    assert_eq!(desktop.discover("codex")[0]["decision"], "skipped");
}
