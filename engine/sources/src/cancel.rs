//! A run that is no longer wanted.
//!
//! Readers look at it between files, while they copy and while a statement runs. What was not
//! read by then is not there, and the tables say so, so that nothing follows from its absence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by a run and whoever may end it.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the run at its next look.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
