//! A transcript in a file of JSON Lines, which only grows.

use super::record::{ends_turn, holds_message};
use super::{Look, Place, TurnEnded};
use crate::said::{Conversation, Kept};
use axiowl_lang::rule::Transcript;
use axiowl_sources::{World, jsonl};
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Reads one file.
pub(super) struct Lines<'a> {
    description: &'a Transcript,
    real: PathBuf,
    shown: String,
    resume: u64,
    message: Option<(Place, Option<String>)>,
    end: Option<TurnEnded>,
}

impl<'a> Lines<'a> {
    pub fn new(description: &'a Transcript, world: &World, shown: String) -> Option<Self> {
        let real = world.real_path(&shown)?;
        Some(Self {
            description,
            real,
            shown,
            resume: 0,
            message: None,
            end: None,
        })
    }

    pub fn path(&self) -> &str {
        &self.shown
    }

    pub fn look(&mut self, message_id: &str) -> io::Result<Look> {
        if self.message.is_none() {
            self.find_message(message_id)?;
        }
        if self.message.is_some() && self.end.is_none() {
            self.find_end()?;
        }
        Ok(Look {
            message: self.message.as_ref().map(|(place, _)| place.clone()),
            end: self.end.clone(),
        })
    }

    pub fn conversation(&self, budget: u64) -> io::Result<Conversation> {
        let mut kept = Kept::default();
        let scanned = jsonl::scan_lines(
            &self.real,
            &self.description.also,
            0,
            budget,
            None,
            &mut |offset, line| {
                if let Ok(parsed) = serde_json::from_slice::<Value>(line) {
                    let at = || place(&self.shown, offset, String::new());
                    kept.record(self.description, &parsed, at);
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(kept.conversation(scanned.complete && scanned.too_long == 0))
    }

    fn find_message(&mut self, message_id: &str) -> io::Result<()> {
        let mut found = None;
        let (description, shown) = (self.description, &self.shown);
        let scanned = jsonl::scan_lines(
            &self.real,
            &description.also,
            self.resume,
            u64::MAX,
            Some(message_id.as_bytes()),
            &mut |offset, line| {
                let Ok(parsed) = serde_json::from_slice::<Value>(line) else {
                    return ControlFlow::Continue(());
                };
                match holds_message(description, &parsed, message_id) {
                    None => ControlFlow::Continue(()),
                    Some((id, turn)) => {
                        found = Some((place(shown, offset, id), turn));
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        self.message = found;
        self.resume = scanned.offset;
        Ok(())
    }

    fn find_end(&mut self) -> io::Result<()> {
        let mut found = None;
        let (description, shown) = (self.description, &self.shown);
        let turn = self.message.as_ref().and_then(|(_, turn)| turn.as_deref());
        let scanned = jsonl::scan_lines(
            &self.real,
            &description.also,
            self.resume,
            u64::MAX,
            None,
            &mut |offset, line| {
                let Ok(parsed) = serde_json::from_slice::<Value>(line) else {
                    return ControlFlow::Continue(());
                };
                match ends_turn(description, &parsed, turn) {
                    None => ControlFlow::Continue(()),
                    Some(completed) => {
                        let place = place(shown, offset, String::new());
                        found = Some(TurnEnded { completed, place });
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        self.end = found;
        self.resume = scanned.offset;
        Ok(())
    }
}

fn place(path: &str, offset: u64, id: String) -> Place {
    Place {
        path: path.to_owned(),
        offset: Some(offset),
        row: None,
        id,
    }
}
