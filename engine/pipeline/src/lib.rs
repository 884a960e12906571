//! The message pipeline: one path for every send, from request to proof.

pub mod edge;
pub mod identity;
