//! Bounded, read-only readers of provider files behind one [`World`].

mod facts;
pub mod world;

pub use facts::{FactQuery, NativeFacts};
pub use world::World;

/// A row of a source: field name to value. Times are milliseconds since the epoch.
pub type Row = serde_json::Map<String, serde_json::Value>;
