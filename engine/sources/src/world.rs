//! Everything a rule may know of the machine besides its sources.

/// The examined machine: file system, clock, environment, processes, executables.
pub struct World {}
