//! A home with a session, a stand-in program, and everything an edge is given.

use axiowl_model::{Evidence, MessageId, RunId, SessionKey, Timestamp};
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, LookError, Progress, Sighting,
    Target, TranscriptLook, TurnEnd,
};
use axiowl_sources::World;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const SESSION: &str = "01a22d45-4155-71f2-b15e-0b00e2cb854c";
pub const OTHER: &str = "01a22d45-4155-71f2-b15e-0b00e2cb0000";
/// Enough for everything that ends by itself.
pub const LONG: Duration = Duration::from_secs(120);

/// The steps of the running attempt so far, below the home.
pub const STEPS: &str = "steps";

/// A temporary home.
pub struct Scene {
    _folder: tempfile::TempDir,
    pub home: PathBuf,
    pub transcript: PathBuf,
    pub message: MessageId,
    provider: &'static str,
    executables: BTreeMap<String, String>,
    pub env: BTreeMap<String, String>,
    pub child_env: Vec<(String, String)>,
    pub provider_home: Option<PathBuf>,
    pub experimental: bool,
    pub cwd: String,
    pub key: SessionKey,
    pub output_cap: usize,
    /// Bytes that the body has more than usual.
    pub long_body: usize,
    axiowl: PathBuf,
}

/// How one attempt went.
#[derive(Debug)]
pub struct Ran {
    /// The steps by name, in order.
    pub steps: Vec<&'static str>,
    pub evidence: Vec<Evidence>,
    pub result: Result<(), EdgeError>,
    pub took: Duration,
}

impl Ran {
    /// The kind of the end.
    pub fn end(&self) -> &'static str {
        match &self.result {
            Ok(()) => "ok",
            Err(EdgeError::Refused { .. }) => "refused",
            Err(EdgeError::NotSubmitted { .. }) => "not_submitted",
            Err(EdgeError::TurnFailed { .. }) => "turn_failed",
            Err(EdgeError::Uncertain { .. }) => "uncertain",
            Err(EdgeError::Misdelivered { .. }) => "misdelivered",
        }
    }

    /// Steps and end at once. A program's word and its record come at the same time; which of
    /// the two is noticed first does not matter.
    #[track_caller]
    pub fn is(&self, steps: &[&str], end: &str) {
        let mut had = self.steps.clone();
        if let Some(place) = had
            .windows(2)
            .position(|pair| pair == ["seen", "submitted"])
        {
            had.swap(place, place + 1);
        }
        assert_eq!((had.as_slice(), self.end()), (steps, end), "{self:?}");
    }

    /// The error's words.
    pub fn reason(&self) -> String {
        self.result
            .as_ref()
            .map_or_else(ToString::to_string, |()| String::new())
    }

    #[track_caller]
    pub fn tells(&self, part: &str) {
        assert!(self.reason().contains(part), "`{part}` in {self:?}");
    }
}

impl Scene {
    /// A home with a transcript at `transcript`, below it, and a project folder.
    pub fn new(provider: &'static str, transcript: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let cwd = home.join("a project");
        fs::create_dir_all(&cwd).unwrap();
        let transcript = home.join(transcript);
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        fs::write(&transcript, "{\"type\":\"earlier\"}\n").unwrap();
        let child_env = vec![
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("CLAUDECODE".to_owned(), "1".to_owned()),
            ("CODEX_THREAD_ID".to_owned(), OTHER.to_owned()),
        ];
        Self {
            axiowl: home.join("bin/axiowl"),
            transcript,
            message: MessageId::new(),
            provider,
            executables: BTreeMap::new(),
            env: BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]),
            child_env,
            provider_home: None,
            experimental: false,
            cwd: cwd.display().to_string(),
            key: SessionKey::local(provider, SESSION),
            output_cap: 64 * 1024,
            long_body: 0,
            home,
            _folder: folder,
        }
    }

    /// Installs a stand-in. Its script knows `$H` (the home), `$T` (the transcript) and
    /// `$SESSION`, and `$OTHER`.
    pub fn program(&mut self, name: &str, script: &str) {
        let path = self.home.join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let (home, transcript) = (self.home.display(), self.transcript.display());
        let text = format!(
            "#!/bin/sh\nH='{home}'\nT='{transcript}'\nSESSION={SESSION}\nOTHER={OTHER}\n{script}\n"
        );
        // By another process: a file that this one has open for writing, even in a child that
        // another test has just forked, cannot be run.
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(writer.wait().unwrap().success());
        self.executables
            .insert(name.into(), path.display().to_string());
    }

    pub fn file(&self, below: &str) -> PathBuf {
        self.home.join(below)
    }

    pub fn read(&self, below: &str) -> String {
        fs::read_to_string(self.file(below)).unwrap_or_default()
    }

    pub fn world(&self) -> World {
        World::real(
            self.home.clone(),
            self.env.clone(),
            Timestamp::from_millis(0),
        )
        .with_executables(self.executables.clone())
    }

    fn with<T>(
        &self,
        limit: Duration,
        work: impl FnOnce(&dyn Edge, &EdgeContext, &Delivery) -> T,
    ) -> T {
        let world = self.world();
        let context = EdgeContext {
            world: &world,
            state_root: self.home.join("state"),
            axiowl: self.axiowl.clone(),
            child_env: self.child_env.clone(),
            provider_home: self.provider_home.clone(),
            experimental: self.experimental,
        };
        let target = Target {
            key: self.key.clone(),
            display_name: "A Session".into(),
            cwd: self.cwd.clone(),
            home: String::new(),
        };
        let transcript = Transcript(&self.transcript);
        let body = self.body();
        let delivery = Delivery {
            message_id: self.message,
            run_id: RunId::new(),
            target: &target,
            visible_body: &body,
            deadline: Instant::now() + limit,
            output_cap: self.output_cap,
            transcript: &transcript,
        };
        let edges = axiowl_providers::edges();
        let edge = edges
            .iter()
            .find(|edge| edge.provider() == self.provider)
            .unwrap();
        work(edge.as_ref(), &context, &delivery)
    }

    /// What the target reads.
    pub fn body(&self) -> String {
        format!(
            "[AxiOwl {}] from \"operator\"\n| a \"quoted\" body --secret-word",
            self.message
        ) + &*"x".repeat(self.long_body)
    }

    /// One attempt, of which nothing stays that is under way.
    pub fn deliver(&self, limit: Duration) -> Ran {
        let (ran, traces) = self.attempt(limit);
        assert_eq!(traces, 0, "a delivery that is over leaves no trace");
        ran
    }

    /// One attempt, after which somebody still has the message, unread.
    pub fn deliver_leaving_a_trace(&self, limit: Duration) -> Ran {
        let (ran, traces) = self.attempt(limit);
        assert_eq!(traces, 1, "{ran:?}");
        ran
    }

    fn attempt(&self, limit: Duration) -> (Ran, usize) {
        self.with(limit, |edge, context, delivery| {
            let (mut steps, mut evidence) = (Vec::new(), Vec::new());
            fs::write(self.file(STEPS), "").unwrap();
            let before = Instant::now();
            let result = edge.submit(context, delivery, &mut |progress| {
                let (step, proof) = match progress {
                    Progress::Starting { route } => ("starting", Evidence::new("route", route)),
                    Progress::Submitted(proof) => ("submitted", proof),
                    Progress::Held(proof) => ("held", proof),
                    Progress::Queued(proof) => ("queued", proof),
                    Progress::Seen(proof) => ("seen", proof),
                    Progress::TurnDone(proof) => ("turn_done", proof),
                };
                steps.push(step);
                evidence.push(proof);
                // For tests that wait for one of them.
                fs::write(self.file(STEPS), steps.join("\n")).unwrap();
            });
            let traces = fs::read_dir(context.state_root.join("in-flight"))
                .into_iter()
                .flatten();
            let ran = Ran {
                steps,
                evidence,
                result,
                took: before.elapsed(),
            };
            (ran, traces.count())
        })
    }

    /// An attempt whose caller unwinds at the last moment, as the pipeline does when the ledger
    /// cannot record that a handover begins.
    pub fn deliver_barred(&self) {
        self.with(LONG, |edge, context, delivery| {
            let unwinds = AssertUnwindSafe(|| {
                let _ = edge.submit(context, delivery, &mut |_| {
                    resume_unwind(Box::new("barred"))
                });
            });
            assert!(catch_unwind(unwinds).is_err());
            let traces = fs::read_dir(context.state_root.join("in-flight"))
                .into_iter()
                .flatten();
            assert_eq!(traces.count(), 0);
        });
    }

    pub fn probe(&self) -> Liveness {
        self.with(LONG, |edge, context, delivery| {
            edge.probe(context, delivery.target)
        })
    }

    pub fn find(&self, limit: Duration) -> Finding {
        self.with(limit, |edge, context, delivery| {
            edge.find(context, delivery)
        })
    }

    /// The reason why it cannot be delivered to now.
    #[track_caller]
    pub fn unavailable(&self) -> String {
        match self.probe() {
            Liveness::Unavailable { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The reason why an open session is refused.
    #[track_caller]
    pub fn closed(&self) -> String {
        match self.probe() {
            Liveness::Closed { reason, remedy } => format!("{reason}; {remedy}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Reads the stand-ins' transcripts: JSON lines with the message's id, and ends of turns.
struct Transcript<'a>(&'a Path);

impl TranscriptLook for Transcript<'_> {
    fn look(&self, message: MessageId) -> Result<Sighting, LookError> {
        let path = self.0.display().to_string();
        let text = fs::read_to_string(self.0).map_err(|error| LookError {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let mut sighting = Sighting::default();
        let id = message.to_string();
        let said = |line: &&str| !line.contains("queue-operation");
        for line in text.lines().filter(said) {
            let proof = || Evidence {
                path: Some(path.clone()),
                ..Evidence::new("transcript_record", "")
            };
            if sighting.message.is_none() {
                sighting.message = line.contains(&id).then(proof);
            } else if line.contains("\"end\":") && sighting.turn.is_none() {
                let completed = line.contains("\"end\":true");
                sighting.turn = Some(TurnEnd {
                    completed,
                    evidence: proof(),
                });
            }
        }
        Ok(sighting)
    }
}
