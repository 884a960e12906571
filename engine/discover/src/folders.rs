//! Folders that the conditions of a run ask about.

use axiowl_sources::World;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Which folders exist. Thousands of sessions work in a few, several conditions ask about each,
/// and one run gives one answer.
#[derive(Debug, Default)]
pub struct Folders(Mutex<HashMap<String, bool>>);

impl Folders {
    /// Whether a folder exists.
    pub fn exists(&self, path: &str, world: &World) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exists) = known.get(path) {
            return *exists;
        }
        let exists = world.dir_exists(path);
        known.insert(path.to_owned(), exists);
        exists
    }
}
