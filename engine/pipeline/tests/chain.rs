//! Agents that pass messages on, each in processes of its own: workers, agents and senders know
//! each other by the ledger alone, and a circle is seen all the same.
#![cfg(unix)]

mod fake;

use axiowl_model::MessageId;
use axiowl_pipeline::{Pipeline, Rejection, SendRequest, StartWorker};
use fake::{CountedPass, PaperEdge, State, key, proven, quick, run_worker, until};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STATE: &str = "AXIOWL_TEST_STATE";
const MESSAGE: &str = "AXIOWL_TEST_MESSAGE";
const AGENT: &str = "AXIOWL_TEST_AGENT";

fn process(root: &Path, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([role, "--exact", "--nocapture"])
        .env(STATE, root)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

struct Workers(PathBuf);

impl StartWorker for Workers {
    fn start(&self, message: MessageId) -> io::Result<()> {
        let mut command = process(&self.0, "worker_process");
        let mut child = command.env(MESSAGE, message.to_string()).spawn()?;
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

fn pipeline(root: &Path) -> Pipeline {
    let (pass, starter) = (
        Box::<CountedPass>::default(),
        Box::new(Workers(root.to_owned())),
    );
    Pipeline::open(root, quick(), pass, starter).unwrap()
}

/// Not a test by itself: delivers, and runs the target's agent in the turn of its first message.
#[test]
fn worker_process() {
    let (Ok(state), Ok(message)) = (std::env::var(STATE), std::env::var(MESSAGE)) else {
        return;
    };
    let root = PathBuf::from(state);
    let folder = root.clone();
    let edge = PaperEdge::new(&root).hook(move |point, delivery| {
        let agent = delivery.target.key.bare_session().to_owned();
        let once = folder.join(format!("{agent}.turn"));
        if point == "seen" && std::fs::File::create_new(once).is_ok() {
            let mut command = process(&folder, "agent_process");
            assert!(command.env(AGENT, agent).status().unwrap().success());
        }
    });
    run_worker(&root, message.parse().unwrap(), &edge.table(), &quick()).unwrap();
}

/// Not a test by itself: what a model does in its turn. It names no message.
#[test]
fn agent_process() {
    let (Ok(state), Ok(agent)) = (std::env::var(STATE), std::env::var(AGENT)) else {
        return;
    };
    let root = PathBuf::from(state);
    let send = |to: &str| {
        let request = SendRequest {
            from: proven(&agent, &agent.to_uppercase()),
            ..SendRequest::new(to, "pass it on")
        };
        pipeline(&root).send(&request)
    };
    let told = |result: Result<_, Rejection>| match result {
        Ok(_) => "accepted".to_owned(),
        Err(rejection) => format!("{}: {rejection}", rejection.code()),
    };
    match &*agent {
        "b" => drop(send("C").unwrap()),
        "c" => {
            let outcome = [told(send("A")), told(send("B"))].join("\n");
            std::fs::write(root.join("outcome"), outcome).unwrap();
        }
        _ => {}
    }
}

#[test]
fn a_circle_through_processes_is_stopped_with_its_chain_and_an_answer_is_none() {
    let state = State::new();
    for (name, session) in [("A", "a"), ("B", "b"), ("C", "c")] {
        state.agent(name, session);
    }
    let ask = SendRequest {
        from: proven("a", "A"),
        ..SendRequest::new("B", "go")
    };
    pipeline(state.root()).send(&ask).unwrap();
    let ledger = state.ledger();
    until("three deliveries", || {
        let done = ledger.recent(9).unwrap();
        done.len() == 3 && done.iter().all(|message| message.stage.rank() >= Some(3))
    });
    let outcome = std::fs::read_to_string(state.root().join("outcome")).unwrap();
    let lines: Vec<_> = outcome.lines().collect();
    assert_eq!(lines[1], "accepted", "C may answer B");
    assert!(lines[0].starts_with("hop_circle: "), "{outcome}");
    assert!(
        lines[0].ends_with("A > B > C > paper:local:paper:session:a"),
        "{outcome}"
    );
    let copies = ["a", "b", "c"].map(|session| state.edge().got(&key(session)).len());
    assert_eq!(copies, [0, 2, 1]);
}
