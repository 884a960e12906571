//! A state root, and what a pipeline and a worker need around them.
#![allow(dead_code, unused_imports, reason = "each test binary uses its part")]

mod paper;

pub use paper::{Memory, PaperEdge, Script};

use axiowl_model::{
    AgentRecord, DiscoverySummary, MessageId, SessionKey, StageLine, Timestamp, Verdict,
};
use axiowl_pipeline::edge::{LookError, Sighting, Target, TranscriptLook};
use axiowl_pipeline::identity::ProvenSender;
use axiowl_pipeline::{
    Accepted, EdgeTable, EvidenceLog, Ledger, Limits, PassSummary, Pipeline, Rejection,
    SendRequest, SenderClaim, StartWorker, Surroundings, TargetedPass, WorkDone, Worker,
    WorkerError,
};
use axiowl_registry::{NewAgent, Registry};
use axiowl_sources::World;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub const PROVIDER: &str = "paper";

pub fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

pub fn key(session: &str) -> SessionKey {
    SessionKey::local(PROVIDER, format!("paper:session:{session}"))
}

/// The machine as far as tests need one.
pub struct Desk {
    world: World,
}

impl Desk {
    pub fn new(home: &Path) -> Self {
        let world = World::real(home.to_owned(), std::collections::BTreeMap::new(), now());
        Self { world }
    }
}

impl Surroundings for Desk {
    fn world(&self) -> &World {
        &self.world
    }

    fn axiowl(&self) -> &Path {
        Path::new("/nowhere/axiowl")
    }

    fn child_env(&self, _provider: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    fn provider_home(&self, _target: &Target) -> Option<PathBuf> {
        None
    }

    fn transcript(&self, _target: &Target) -> Box<dyn TranscriptLook + '_> {
        Box::new(NoTranscript)
    }
}

struct NoTranscript;

impl TranscriptLook for NoTranscript {
    fn look(&self, _message: MessageId) -> Result<Sighting, LookError> {
        Ok(Sighting::default())
    }
}

/// A pass that counts its calls and may put rows into the registry.
#[derive(Clone, Default)]
pub struct CountedPass {
    pub senders: Arc<AtomicUsize>,
    pub targets: Arc<AtomicUsize>,
    pub finds: Option<(Registry, NewAgent)>,
}

impl CountedPass {
    fn look(&self, calls: &AtomicUsize) -> PassSummary {
        calls.fetch_add(1, Ordering::SeqCst);
        if let Some((registry, new)) = &self.finds {
            registry.add_agent(new).unwrap();
        }
        PassSummary::local(vec![DiscoverySummary {
            provider: PROVIDER.into(),
            node_id: "local".into(),
            found: 7,
            enrolled: usize::from(self.finds.is_some()),
            updated: 0,
            skipped: 0,
            evidence: 0,
            pruned: 0,
            issues: Vec::new(),
            verdict: Verdict::Verified,
            registry: String::new(),
        }])
    }
}

impl TargetedPass for CountedPass {
    fn sender(&self, _text: &str) -> PassSummary {
        self.look(&self.senders)
    }

    fn target(&self, _text: &str) -> PassSummary {
        self.look(&self.targets)
    }
}

/// Starts nothing and remembers what it was asked for.
#[derive(Clone, Default)]
pub struct NoWorker(pub Arc<Mutex<Vec<MessageId>>>);

impl StartWorker for NoWorker {
    fn start(&self, message: MessageId) -> std::io::Result<()> {
        self.0.lock().unwrap().push(message);
        Ok(())
    }
}

/// A temporary state root.
pub struct State {
    pub dir: tempfile::TempDir,
    pub limits: Limits,
    pub pass: CountedPass,
    pub started: NoWorker,
}

impl State {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            limits: quick(),
            pass: CountedPass::default(),
            started: NoWorker::default(),
        }
    }

    /// A state root that no disk is waited for, where the system has such a place.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self {
            dir: dir.unwrap(),
            ..Self::new()
        }
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn registry(&self) -> Registry {
        Registry::at(self.root())
    }

    /// A sendable row of the paper provider.
    pub fn agent(&self, name: &str, session: &str) -> AgentRecord {
        self.registry()
            .add_agent(&agent(name, key(session)))
            .unwrap()
            .row
    }

    pub fn pipeline(&self) -> Pipeline {
        let (pass, starter) = (Box::new(self.pass.clone()), Box::new(self.started.clone()));
        Pipeline::open(self.root(), self.limits.clone(), pass, starter).unwrap()
    }

    pub fn ledger(&self) -> Ledger {
        Ledger::open(self.root()).unwrap()
    }

    pub fn edge(&self) -> PaperEdge {
        PaperEdge::new(self.root())
    }

    pub fn send(&self, request: &SendRequest) -> Result<Accepted, Rejection> {
        self.pipeline().send(request)
    }

    /// Sends to a target as the operator.
    pub fn message(&self, to: &str) -> MessageId {
        self.send(&SendRequest::new(to, "hello"))
            .unwrap()
            .line
            .message_id
    }

    /// Runs a worker with an edge in this thread.
    pub fn work(&self, id: MessageId, edge: &PaperEdge) -> Result<WorkDone, WorkerError> {
        run_worker(self.root(), id, &edge.table(), &self.limits)
    }

    /// The stages of a message, oldest first.
    pub fn stages(&self, id: MessageId) -> Vec<StageLine> {
        let lines = self.ledger().lines_since(id, 0).unwrap();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    pub fn stage_words(&self, id: MessageId) -> Vec<&'static str> {
        self.stages(id)
            .iter()
            .map(|line| line.stage.as_str())
            .collect()
    }

    /// The evidence log's lines about a message.
    pub fn events(&self, id: MessageId) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(EvidenceLog::at(self.root()).path()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["message_id"] == id.to_string())
            .collect()
    }

    pub fn event_words(&self, id: MessageId) -> Vec<String> {
        let words = self.events(id).into_iter();
        words
            .map(|line| line["event"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub fn run_worker(
    root: &Path,
    id: MessageId,
    edges: &EdgeTable,
    limits: &Limits,
) -> Result<WorkDone, WorkerError> {
    run_worker_on(Ledger::open(root).unwrap(), root, id, edges, limits)
}

pub fn run_worker_on(
    ledger: Ledger,
    root: &Path,
    id: MessageId,
    edges: &EdgeTable,
    limits: &Limits,
) -> Result<WorkDone, WorkerError> {
    let (log, desk) = (EvidenceLog::at(root), Desk::new(root));
    let worker = Worker {
        state_root: root,
        ledger: &ledger,
        log: &log,
        edges,
        surroundings: &desk,
        limits,
    };
    worker.run(id)
}

/// Limits under which a test never waits long.
pub fn quick() -> Limits {
    Limits {
        lease: Duration::from_secs(2),
        delivery: Duration::from_secs(20),
        watch: Duration::from_millis(200),
        // Rates have tests of their own.
        pair_messages: usize::MAX,
        target_messages: usize::MAX,
        ..Limits::default()
    }
}

pub fn agent(name: &str, key: SessionKey) -> NewAgent {
    NewAgent {
        key,
        display_name: name.into(),
        aliases: Vec::new(),
        sendable: true,
        home: String::new(),
        cwd: "/work/somewhere".into(),
        now: now(),
    }
}

pub fn proven(session: &str, name: &str) -> SenderClaim {
    SenderClaim::Proven(ProvenSender::new(key(session), name, "host_meta"))
}

/// Waits for a condition that another thread or process brings about.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
