//! Walks a process through all its points: in the first run it is killed at the first one, in
//! the second at the second, until a run comes to its end. After each run the next command
//! comes along, and whatever it finds must be whole.

use crate::body;
use crate::fake::{Desk, Memory, PaperEdge, State, key, proven, quick, run_worker};
use crate::{
    Decision, EvidenceLog, Ledger, OPERATOR, Opening, Pipeline, SendRequest, StartWorker, Worker,
    WorkerProcesses,
};
use axiowl_model::{MessageId, Stage};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which process of the test binary this is, and which point kills it.
const ROLE: &str = "AXIOWL_TEST_ROLE";
const STATE: &str = "AXIOWL_TEST_STATE";
const MESSAGE: &str = "AXIOWL_TEST_MESSAGE";
const KILL_AT: &str = "AXIOWL_TEST_KILL_AT";

static PASSED: AtomicUsize = AtomicUsize::new(0);

/// Kills this process when it is the point's turn. A handler or a destructor never runs.
pub(crate) fn point(name: &'static str) {
    let Some(at) = variable(KILL_AT).and_then(|text| text.parse::<usize>().ok()) else {
        return;
    };
    if PASSED.fetch_add(1, Ordering::SeqCst) == at {
        eprintln!("killed at point {at}: {name}");
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
        loop {
            std::thread::park();
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test by itself: what a process that is to be killed does.
#[test]
fn process() {
    let (Some(role), Some(state)) = (variable(ROLE), variable(STATE)) else {
        return;
    };
    let root = PathBuf::from(state);
    let message = || variable(MESSAGE).unwrap().parse::<MessageId>().unwrap();
    match &*role {
        "send" => drop(
            pipeline(&root)
                .send(&SendRequest::new("Beta", "hello"))
                .unwrap(),
        ),
        "answer" => {
            let request = SendRequest {
                from: proven("b", "Beta"),
                reply_to: Some(message()),
                ..SendRequest::new(OPERATOR, "yes")
            };
            pipeline(&root).send(&request).unwrap();
        }
        "worker" => {
            let edge = edge(&root);
            run_worker(&root, message(), &edge.table(), &quick()).unwrap();
        }
        "settle" => with_worker(&root, &edge(&root), |worker| {
            worker.settle(message()).unwrap();
        }),
        "decide" => with_worker(&root, &edge(&root), |worker| {
            worker
                .decide(message(), Decision::Failed, "somebody")
                .unwrap();
        }),
        role => panic!("{role}"),
    }
}

/// The paper edge, which has points of its own. They are before and after every word it writes.
fn edge(root: &Path) -> PaperEdge {
    PaperEdge::new(root).hook(|at, _| {
        point(match at {
            "before_starting" => "edge: before the start",
            "starting" => "edge: started",
            "written" => "edge: written",
            "submitted" => "edge: told that it was taken",
            _ => "edge: told that it was seen",
        });
    })
}

/// Starts `true` where a worker would be: the walk starts its own.
fn pipeline(root: &Path) -> Pipeline {
    struct Points(WorkerProcesses);
    impl StartWorker for Points {
        fn start(&self, message: MessageId) -> std::io::Result<()> {
            point("before a worker is started");
            self.0.start(message)?;
            point("after a worker was started");
            Ok(())
        }
    }
    let workers = Points(WorkerProcesses::new("true", root).unwrap());
    let pass = Box::new(crate::fake::CountedPass::default());
    Pipeline::open_with(root, Opening::default(), quick(), pass, Box::new(workers)).unwrap()
}

fn with_worker(root: &Path, edge: &PaperEdge, work: impl FnOnce(&Worker<'_>)) {
    let ledger = Ledger::open(root).unwrap();
    let (log, table, desk) = (EvidenceLog::at(root), edge.table(), Desk::new(root));
    work(&Worker {
        state_root: root,
        ledger: &ledger,
        log: &log,
        edges: &table,
        surroundings: &desk,
        limits: &quick(),
    });
}

/// Runs a role and kills it at a point; true when it came to its end before that.
fn ran(state: &State, role: &str, message: Option<MessageId>, at: usize) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["crash::walk::process", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(STATE, state.root())
        .env(KILL_AT, at.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(message) = message {
        command.env(MESSAGE, message.to_string());
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let killed = said.contains("killed at point");
    assert!(
        output.status.success() || killed,
        "{role} failed by itself: {said}"
    );
    !killed
}

/// Calls `check` after each death; returns how many points there are.
fn walk(
    role: &str,
    prepare: impl Fn(&State) -> Option<MessageId>,
    check: impl Fn(&State, usize),
) -> usize {
    for at in 0..500 {
        let state = State::new();
        let message = prepare(&state);
        if ran(&state, role, message, at) {
            return at;
        }
        check(&state, at);
    }
    panic!("{role} has no end");
}

/// The next command comes: it starts whatever was left, and all of it ends.
fn next_command(state: &State, memory: Memory) -> PaperEdge {
    let edge = state.edge().memory(memory);
    for id in state.pipeline().resume_abandoned().unwrap() {
        state.work(id, &edge).unwrap();
    }
    assert!(
        state.ledger().pending_sessions().unwrap().is_empty(),
        "nothing is left to do"
    );
    edge
}

#[test]
fn a_send_killed_at_each_of_its_points_left_a_whole_message_or_none() {
    let beta = |state: &State| {
        state.agent("Beta", "b");
        None
    };
    let points = walk("send", beta, |state, at| {
        let accepted = state.ledger().recent(10).unwrap();
        assert!(accepted.len() <= 1, "point {at}");
        let edge = next_command(state, Memory::Honest);
        let got = edge.got(&key("b"));
        assert_eq!(
            got.len(),
            accepted.len(),
            "point {at}: what was accepted is delivered"
        );
        for message in &accepted {
            assert_eq!(got, [message.id.to_string()], "point {at}");
            assert_eq!(
                state.stage_words(message.id).last(),
                Some(&"turn_done"),
                "point {at}"
            );
            assert_eq!(
                body::unquote(&message.visible_body).as_deref(),
                Some("hello")
            );
        }
    });
    assert!(points > 12, "only {points} points");
}

#[test]
fn a_worker_killed_at_each_of_its_points_is_followed_by_one_that_neither_loses_nor_doubles() {
    let one = |state: &State| {
        state.agent("Beta", "b");
        Some(state.message("Beta"))
    };
    for memory in [Memory::Honest, Memory::Unknown] {
        let points = walk("worker", one, |state, at| {
            let id = state.ledger().recent(1).unwrap()[0].id;
            let edge = next_command(state, memory);
            let (got, last) = (edge.got(&key("b")), state.stages(id).pop().unwrap().stage);
            match (memory, last) {
                // Once, and told so.
                (_, Stage::TurnDone) => assert_eq!(got, [id.to_string()], "point {at}"),
                // Nobody could know, so nobody tried again.
                (Memory::Unknown, Stage::Uncertain) => assert!(got.len() <= 1, "point {at}"),
                _ => panic!("point {at}: {last}, {got:?}"),
            }
        });
        assert!(points > 30, "only {points} points");
    }
}

#[test]
fn an_answer_killed_at_each_of_its_points_settles_its_question_with_it_or_not_at_all() {
    let asked = |state: &State| {
        state.agent("Beta", "b");
        let id = state.message("Beta");
        state.work(id, &state.edge()).unwrap();
        Some(id)
    };
    let points = walk("answer", asked, |state, at| {
        let question = state.ledger().recent(2).unwrap().pop().unwrap();
        let answers = state.ledger().replies_to(question.id).unwrap();
        assert!(answers.len() <= 1, "point {at}");
        let expected = if answers.is_empty() {
            Stage::TurnDone
        } else {
            Stage::Replied
        };
        assert_eq!(question.stage, expected, "point {at}");
    });
    assert!(points > 9, "only {points} points");
}

#[test]
fn settling_killed_at_each_of_its_points_moved_the_message_or_did_not() {
    for (role, last) in [("settle", "turn_done"), ("decide", "failed")] {
        let uncertain = |state: &State| {
            state.agent("Beta", "b");
            let id = state.message("Beta");
            let edge = state.edge().script(crate::fake::Script::SubmittedThenNot);
            state.work(id, &edge).unwrap();
            Some(id)
        };
        walk(role, uncertain, |state, at| {
            let id = state.ledger().recent(1).unwrap()[0].id;
            let stage = *state.stage_words(id).last().unwrap();
            let whole = ["uncertain", "seen", last].contains(&stage);
            assert!(whole, "{role}, point {at}: {stage}");
            assert_eq!(
                state.edge().got(&key("b")).len(),
                1,
                "nothing is handed over"
            );
        });
    }
}
