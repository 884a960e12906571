//! Records that clients write as lines of JSON.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The records of a file; half-written lines are left out, and a file that is not there has
/// none.
pub fn records(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
