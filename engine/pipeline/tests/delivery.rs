//! What a worker makes of what an edge says.

mod fake;

use axiowl_model::{LOCAL_NODE, MessageId, SessionKey, Stage};
use axiowl_pipeline::edge::{Edge, Target};
use axiowl_pipeline::{EdgeTable, Followed, NoEdge, SendRequest, WorkDone, stage_exit_code};
use fake::{PaperEdge, Script, State, agent, key, run_worker, until};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

fn one_message() -> (State, MessageId) {
    let state = State::new();
    state.agent("Beta", "b");
    let id = state.message("Beta");
    (state, id)
}

fn ends(script: Script) -> (Vec<&'static str>, String) {
    let (state, id) = one_message();
    state.work(id, &state.edge().script(script)).unwrap();
    let reason = state.stages(id).last().unwrap().reason.clone();
    (state.stage_words(id), reason)
}

#[test]
fn a_delivery_that_goes_well_records_each_stage_with_its_proof() {
    let (state, id) = one_message();
    let edge = state.edge();
    assert_eq!(state.work(id, &edge).unwrap(), WorkDone::Served(vec![id]));
    assert_eq!(
        state.stage_words(id),
        ["accepted_by_axiowl", "submitted", "seen", "turn_done"]
    );
    for line in &state.stages(id)[1..] {
        assert_eq!(line.route, "paper");
        assert_eq!(line.evidence.kind, "transcript_record");
        assert!(line.evidence.path.is_some());
    }
    assert_eq!(edge.got(&key("b")), [id.to_string()]);
    // Nothing is left to do.
    assert_eq!(state.work(id, &edge).unwrap(), WorkDone::Served(vec![]));
    assert_eq!(edge.submits(), 1);
}

#[test]
fn each_end_of_an_edge_is_the_stage_it_proves() {
    let accepted = "accepted_by_axiowl";
    for (script, stages, reason) in [
        (Script::OnlySubmit, vec![accepted, "submitted"], ""),
        (Script::Queue, vec![accepted, "queued", "held"], ""),
        (
            Script::Closed,
            vec![accepted, "refused"],
            "it is open in a window; close the window",
        ),
        (
            Script::Unavailable,
            vec![accepted, "refused"],
            "no paper is there",
        ),
        (
            Script::Refuse,
            vec![accepted, "refused"],
            "the paper says so",
        ),
        (
            Script::NotSubmitted,
            vec![accepted, "failed"],
            "the paper says so",
        ),
        (
            Script::TurnFailed,
            vec![accepted, "submitted", "seen", "failed"],
            "the paper says so",
        ),
        (
            Script::Uncertain,
            vec![accepted, "uncertain"],
            "the paper says so",
        ),
        (
            Script::Misdeliver,
            vec![accepted, "misdelivered"],
            "the paper says so",
        ),
        (
            Script::SubmittedThenNot,
            vec![accepted, "submitted", "uncertain"],
            "after submitted: failed before anything was handed over: the paper says so",
        ),
        (
            Script::Silent,
            vec![accepted, "uncertain"],
            "the edge ended without saying what became of the message",
        ),
        (Script::Forgetful, vec![accepted, "submitted"], ""),
    ] {
        assert_eq!(ends(script), (stages, reason.to_owned()), "{script:?}");
    }
}

#[test]
fn c213_c226_c227_the_provider_key_alone_picks_the_edge() {
    let state = State::new();
    let other = SessionKey::local("stone", "stone:session:1");
    for (name, key) in [
        ("Stone", other.clone()),
        ("Remote", SessionKey::local("remote", "remote:session:1")),
        (
            "Away",
            SessionKey {
                node: "n2".into(),
                ..key("b")
            },
        ),
        ("Unknown", SessionKey::local("water", "water:session:1")),
    ] {
        state.registry().add_agent(&agent(name, key)).unwrap();
    }
    let (paper, stone) = (state.edge(), state.edge().provider("stone"));
    let edges = || {
        let both: [Box<dyn Edge>; 2] = [Box::new(paper.clone()), Box::new(stone.clone())];
        EdgeTable::new(both).unwrap()
    };
    let sent = |name: &str| {
        let id = state.message(name);
        run_worker(state.root(), id, &edges(), &state.limits).unwrap();
        state.stages(id).pop().unwrap()
    };
    assert_eq!(sent("Stone").stage, Stage::TurnDone);
    assert_eq!((paper.submits(), stone.submits()), (0, 1));
    for (name, reason) in [
        ("Remote", "remote delivery is out of scope in this build"),
        (
            "Away",
            "the session lives on node `n2`, and only sessions of this one can be delivered to",
        ),
        ("Unknown", "no delivery edge serves the provider `water`"),
    ] {
        let line = sent(name);
        assert_eq!((line.stage, line.reason.as_str()), (Stage::Refused, reason));
    }
    assert_eq!((paper.submits(), stone.submits()), (0, 1));
    let target = Target {
        key: SessionKey {
            node: "n2".into(),
            ..key("b")
        },
        display_name: String::new(),
        cwd: String::new(),
        home: String::new(),
    };
    assert!(edges().on_node("n2").pick(&target).is_ok());
    assert!(matches!(
        edges().pick(&target),
        Err(NoEdge::OtherNode { .. })
    ));
    assert_eq!(edges().providers().collect::<Vec<_>>(), ["paper", "stone"]);
    assert_eq!(LOCAL_NODE, "local");
}

#[test]
fn two_workers_racing_for_one_message_hand_it_over_once() {
    let (state, id) = one_message();
    let edge = state.edge();
    let gate = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                gate.wait();
                state.work(id, &edge).unwrap();
            });
        }
    });
    assert_eq!(edge.submits(), 1);
    assert_eq!(edge.got(&key("b")), [id.to_string()]);
    assert_eq!(state.stage_words(id).last(), Some(&"turn_done"));
}

#[test]
fn waiting_yields_every_line_and_says_how_it_ended() {
    for (script, wanted, exit) in [
        (Script::Deliver, Stage::TurnDone, 0),
        (Script::Deliver, Stage::Submitted, 0),
        (Script::Closed, Stage::Submitted, 5),
        (Script::NotSubmitted, Stage::Seen, 7),
        (Script::Misdeliver, Stage::Seen, 7),
        (Script::Uncertain, Stage::Seen, 8),
        (Script::OnlySubmit, Stage::Replied, 9),
    ] {
        let (state, id) = one_message();
        let pipeline = state.pipeline();
        let edge = state.edge().script(script);
        let mut lines = Vec::new();
        let mut follow = |wait| {
            let followed = pipeline.wait_for(id, wanted, wait, |line| lines.push(line.stage));
            followed.unwrap()
        };
        let followed = if exit == 9 {
            state.work(id, &edge).unwrap();
            follow(Duration::from_millis(50))
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| state.work(id, &edge).unwrap());
                follow(Duration::from_secs(60))
            })
        };
        assert_eq!(followed.exit_code(), exit, "{script:?} {followed:?}");
        assert_eq!(lines[0], Stage::Accepted);
        assert_eq!(*lines.last().unwrap(), followed.stage());
        if exit == 9 {
            assert_eq!(followed, Followed::TimedOut(Stage::Submitted));
        }
    }
    assert_eq!(stage_exit_code(Stage::Expired), 9);
}

#[test]
fn messages_to_three_sessions_from_eight_threads_keep_their_order() {
    let state = State::new();
    let sessions = ["a", "b", "c"];
    let name = |session: &str| format!("Agent {session}");
    for session in sessions {
        state.agent(&name(session), session);
    }
    let edge = state.edge();
    let workers = Arc::new(Mutex::new(Vec::new()));
    let starter = Threads {
        root: state.root().to_owned(),
        edge: edge.clone(),
        limits: state.limits.clone(),
        workers: Arc::clone(&workers),
    };
    let pipeline = axiowl_pipeline::Pipeline::open(
        state.root(),
        state.limits.clone(),
        Box::new(state.pass.clone()),
        Box::new(starter),
    )
    .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let pipeline = &pipeline;
            scope.spawn(move || {
                for i in 0..6 {
                    let to = name(sessions[(thread + i) % sessions.len()]);
                    pipeline
                        .send(&SendRequest::new(to, format!("{thread}/{i}")))
                        .unwrap();
                }
            });
        }
    });
    until("every delivery", || {
        let messages = state.ledger().recent(100).unwrap();
        messages.len() == 48
            && messages
                .iter()
                .all(|message| message.stage == Stage::TurnDone)
    });
    for worker in workers.lock().unwrap().drain(..) {
        worker.join().unwrap();
    }
    assert_eq!(edge.submits(), 48);
    for session in sessions {
        let inbox = axiowl_pipeline::Inbox::Session(key(session));
        let accepted = state.ledger().inbox(&inbox, None).unwrap();
        let accepted: Vec<_> = accepted
            .iter()
            .map(|message| message.id.to_string())
            .collect();
        assert_eq!(edge.got(&key(session)), accepted);
    }
}

/// Runs each worker in a thread of its own.
struct Threads {
    root: std::path::PathBuf,
    edge: PaperEdge,
    limits: axiowl_pipeline::Limits,
    workers: Arc<Mutex<Vec<std::thread::JoinHandle<()>>>>,
}

impl axiowl_pipeline::StartWorker for Threads {
    fn start(&self, message: MessageId) -> std::io::Result<()> {
        let (root, edge, limits) = (self.root.clone(), self.edge.clone(), self.limits.clone());
        let worker = std::thread::spawn(move || {
            run_worker(&root, message, &edge.table(), &limits).unwrap();
        });
        self.workers.lock().unwrap().push(worker);
        Ok(())
    }
}
