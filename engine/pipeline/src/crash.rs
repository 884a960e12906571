//! The moments at which a crash matters: around every transaction, every recorded decision and
//! every start of a worker. This crate's own tests kill the process at each of them in turn;
//! outside those tests a point is nothing at all.

/// Passes a point.
#[cfg(not(all(test, unix)))]
#[inline(always)]
pub(crate) fn point(_name: &'static str) {}

#[cfg(all(test, unix))]
pub(crate) use walk::point;

#[cfg(all(test, unix))]
mod walk;
