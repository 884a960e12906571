//! A provider made of files. A session is one file whose lines are the messages it got;
//! everything an edge may answer can be scripted.

use super::PROVIDER;
use axiowl_model::{Evidence, SessionKey};
use axiowl_pipeline::EdgeTable;
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Sighting, Target, TurnEnd,
};
use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the paper edge does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Deliver,
    /// The door takes it, and that is all that is known.
    OnlySubmit,
    Queue,
    Closed,
    Unavailable,
    Refuse,
    NotSubmitted,
    SubmittedThenNot,
    TurnFailed,
    Uncertain,
    Misdeliver,
    /// Ends without a word.
    Silent,
    /// Writes the message and never says `Starting`.
    Forgetful,
}

/// What `find` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Honest,
    Unknown,
    /// Finds the message, and no end of its turn.
    NoTurn,
    /// The same, and nobody works on it any more.
    BrokenOff,
    /// Says that nothing is there, whatever is.
    Blank,
}

type Hook = Arc<dyn Fn(&str, &Delivery<'_>) + Send + Sync>;

/// Delivers into files below a folder.
#[derive(Clone)]
pub struct PaperEdge {
    pub provider: &'static str,
    pub folder: PathBuf,
    pub script: Script,
    pub memory: Memory,
    pub submits: Arc<AtomicUsize>,
    pub finds: Arc<AtomicUsize>,
    busy: Arc<Mutex<HashSet<String>>>,
    /// Called at every point of a delivery, by its name.
    pub hook: Hook,
}

impl PaperEdge {
    pub fn new(state: &Path) -> Self {
        Self {
            provider: PROVIDER,
            folder: state.join("paper"),
            script: Script::Deliver,
            memory: Memory::Honest,
            submits: Arc::default(),
            finds: Arc::default(),
            busy: Arc::default(),
            hook: Arc::new(|_, _| {}),
        }
    }

    pub fn script(mut self, script: Script) -> Self {
        self.script = script;
        self
    }

    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    pub fn provider(mut self, provider: &'static str) -> Self {
        self.provider = provider;
        self
    }

    pub fn hook(mut self, hook: impl Fn(&str, &Delivery<'_>) + Send + Sync + 'static) -> Self {
        self.hook = Arc::new(hook);
        self
    }

    pub fn table(&self) -> EdgeTable {
        EdgeTable::new([Box::new(self.clone()) as Box<dyn Edge>]).unwrap()
    }

    pub fn submits(&self) -> usize {
        self.submits.load(Ordering::SeqCst)
    }

    fn file(&self, key: &SessionKey) -> PathBuf {
        self.folder.join(key.bare_session())
    }

    /// The messages a session got, in order.
    pub fn got(&self, key: &SessionKey) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(key)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn write(&self, delivery: &Delivery<'_>) {
        std::fs::create_dir_all(&self.folder).unwrap();
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.file(&delivery.target.key))
            .unwrap();
        writeln!(file, "{}", delivery.message_id).unwrap();
    }

    fn evidence(&self, delivery: &Delivery<'_>) -> Evidence {
        Evidence {
            path: Some(self.file(&delivery.target.key).display().to_string()),
            ..Evidence::new("transcript_record", delivery.message_id.to_string())
        }
    }
}

impl Edge for PaperEdge {
    fn provider(&self) -> &'static str {
        self.provider
    }

    fn probe(&self, _context: &EdgeContext, _target: &Target) -> Liveness {
        match self.script {
            Script::Closed => Liveness::Closed {
                reason: "it is open in a window".into(),
                remedy: "close the window".into(),
            },
            Script::Unavailable => Liveness::Unavailable {
                reason: "no paper is there".into(),
            },
            _ => Liveness::Idle {
                route: "paper".into(),
            },
        }
    }

    fn submit(
        &self,
        context: &EdgeContext,
        delivery: &Delivery,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let session = delivery.target.key.session.clone();
        assert!(
            self.busy.lock().unwrap().insert(session.clone()),
            "two deliveries at once"
        );
        self.submits.fetch_add(1, Ordering::SeqCst);
        assert!(context.state_root.is_absolute());
        // Also when a handover that is barred unwinds through here.
        let _busy = Busy(&self.busy, session);
        self.work(delivery, progress)
    }

    fn is_under_way(&self, _context: &EdgeContext, _delivery: &Delivery) -> bool {
        self.memory != Memory::BrokenOff
    }

    fn find(&self, _context: &EdgeContext, delivery: &Delivery) -> Finding {
        self.finds.fetch_add(1, Ordering::SeqCst);
        let id = delivery.message_id.to_string();
        match self.memory {
            Memory::Unknown => Finding::Unknown {
                reason: "the paper is wet".into(),
            },
            Memory::Blank => Finding::Absent,
            Memory::Honest | Memory::NoTurn | Memory::BrokenOff
                if self.got(&delivery.target.key).contains(&id) =>
            {
                let ended = TurnEnd {
                    completed: true,
                    evidence: self.evidence(delivery),
                };
                Finding::Seen(Sighting {
                    message: Some(self.evidence(delivery)),
                    turn: (self.memory == Memory::Honest).then_some(ended),
                })
            }
            Memory::Honest | Memory::NoTurn | Memory::BrokenOff => Finding::Absent,
        }
    }
}

/// One delivery to a session, until dropped.
struct Busy<'a>(&'a Mutex<HashSet<String>>, String);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().remove(&self.1);
    }
}

impl PaperEdge {
    #[expect(clippy::result_large_err, reason = "see `Edge::submit`")]
    fn work(
        &self,
        delivery: &Delivery,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let evidence = || self.evidence(delivery);
        let reason = || String::from("the paper says so");
        let at = |point: &str| (self.hook)(point, delivery);
        match self.script {
            Script::Refuse => return Err(EdgeError::Refused { reason: reason() }),
            Script::Silent => return Ok(()),
            Script::Forgetful => {
                self.write(delivery);
                progress(Progress::Submitted(evidence()));
                return Ok(());
            }
            _ => {}
        }
        at("before_starting");
        progress(Progress::Starting {
            route: "paper".into(),
        });
        at("starting");
        match self.script {
            Script::NotSubmitted => return Err(EdgeError::NotSubmitted { reason: reason() }),
            Script::Uncertain => return Err(EdgeError::Uncertain { reason: reason() }),
            Script::Misdeliver => {
                let evidence = evidence();
                return Err(EdgeError::Misdelivered {
                    reason: reason(),
                    evidence,
                });
            }
            Script::Queue => {
                progress(Progress::Queued(evidence()));
                progress(Progress::Held(evidence()));
                return Ok(());
            }
            _ => {}
        }
        self.write(delivery);
        at("written");
        progress(Progress::Submitted(evidence()));
        at("submitted");
        match self.script {
            Script::OnlySubmit => return Ok(()),
            Script::SubmittedThenNot => {
                return Err(EdgeError::NotSubmitted { reason: reason() });
            }
            _ => {}
        }
        progress(Progress::Seen(evidence()));
        at("seen");
        if self.script == Script::TurnFailed {
            let evidence = evidence();
            return Err(EdgeError::TurnFailed {
                reason: reason(),
                evidence,
            });
        }
        progress(Progress::TurnDone(evidence()));
        Ok(())
    }
}
