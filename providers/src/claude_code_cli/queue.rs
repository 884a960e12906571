//! What the transcript of an open session says about a message that waits there: it is put into
//! the queue, and taken out again when the model gets it (`providers/claude-code.md` C.3).
//!
//! Only tells where a message waits. Where it was read is the rule's business.

use axiowl_model::{Evidence, MessageId, VISIBLE_MARK};
use axiowl_sources::World;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A session that is idle takes a message out again within a tenth of a second.
const SETTLED: Duration = Duration::from_millis(500);

/// Follows the queue from the transcript's end on.
pub(super) struct Waiting {
    path: PathBuf,
    shown: String,
    mark: String,
    next: u64,
    /// Where it was put in, and when that was noticed.
    since: Option<(u64, Instant)>,
    told: bool,
}

impl Waiting {
    /// Begins at the end that the transcript has now.
    pub fn behind(path: PathBuf, world: &World, message: MessageId) -> Self {
        let next = path.metadata().map_or(0, |meta| meta.len());
        Self {
            shown: world.recorded(&path),
            path,
            mark: format!("{VISIBLE_MARK}{message}]"),
            next,
            since: None,
            told: false,
        }
    }

    /// The record that put the message into the queue, once, when it stays there.
    pub fn look(&mut self) -> Option<Evidence> {
        if self.told || self.read().is_none() {
            return None;
        }
        let (offset, since) = self.since?;
        if since.elapsed() < SETTLED {
            return None;
        }
        self.told = true;
        Some(Evidence {
            path: Some(self.shown.clone()),
            offset: Some(offset),
            ..Evidence::new("transcript_record", "queue-operation enqueue")
        })
    }

    /// Reads the whole lines that were added.
    fn read(&mut self) -> Option<()> {
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.next)).ok()?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).ok()?;
            if line.last() != Some(&b'\n') {
                return Some(());
            }
            let offset = self.next;
            self.next += line.len() as u64;
            self.take(offset, &line);
        }
    }

    fn take(&mut self, offset: u64, line: &[u8]) {
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        if record["type"] != "queue-operation" {
            return;
        }
        let ours = || {
            let content = record["content"].as_str().unwrap_or_default();
            content.starts_with(&self.mark)
        };
        match record["operation"].as_str() {
            Some("enqueue") if ours() => self.since = Some((offset, Instant::now())),
            // These name no message: ours may be the one that was taken out.
            Some("dequeue" | "remove" | "popAll") => self.since = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn a_message_counts_as_queued_once_when_it_stays_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let message = MessageId::new();
        let world = World::real(
            folder.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let operation = |name: &str, text: &str| {
            format!(
                "{{\"type\":\"queue-operation\",\"operation\":\"{name}\",\"content\":\"{text}\"}}\n"
            )
        };
        let mark = format!("{VISIBLE_MARK}{message}] hello");
        fs::write(&path, operation("enqueue", &mark)).unwrap();
        let mut waiting = Waiting::behind(path.clone(), &world, message);
        let append = |text: &str| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let mut told = || {
            let until = Instant::now() + SETTLED * 2;
            let mut found = None;
            while found.is_none() && Instant::now() < until {
                found = waiting.look();
                std::thread::yield_now();
            }
            found
        };
        assert_eq!(told(), None, "what stood there before is not ours");
        append(&operation("enqueue", &format!("about {mark}")));
        assert_eq!(told(), None, "another's text that names it");
        append(&(operation("enqueue", &mark) + &*operation("dequeue", "")));
        assert_eq!(told(), None, "taken out at once");
        append("rubbish\n");
        let offset = path.metadata().unwrap().len();
        append(&operation("enqueue", &mark));
        let evidence = told().unwrap();
        assert_eq!(evidence.offset, Some(offset));
        assert_eq!(told(), None, "told once");
    }
}
