//! Bounded, read-only readers of provider files behind one [`World`].
//!
//! [`read_all`] turns the sources a rule declares into tables of rows. Every reader has
//! a limit on bytes, rows, files and time; every limit that is hit, every damaged or
//! unreadable file becomes an issue, and costs nothing but itself. Nothing here writes,
//! locks or creates a file below a provider's folder, starts a program unless the run allows
//! it, or knows a provider by name.

mod cancel;
mod column;
mod command;
mod convert;
mod document;
mod encoding;
mod facts;
mod file;
mod files;
mod find;
mod folder;
#[cfg(test)]
mod harness;
pub mod jsonl;
mod jsonscan;
pub mod leaf;
mod mutation_log;
mod pbtext;
pub mod pointer;
mod protobuf;
pub mod read;
pub mod record;
mod report;
mod roots;
mod row;
mod sqlite;
pub mod survey;
mod text;
pub mod threads;
pub mod timings;
mod tsv;
mod unread;
mod wire;
pub mod witness;
pub mod world;

pub use cancel::Cancel;
pub use facts::{FactQuery, NativeFacts};
pub use read::{ReadOptions, Table, Tables, read_all};
pub use roots::home_folders;
pub use row::{Field, Name, Row};
pub use sqlite::ask::Asker;
pub use sqlite::dump;
pub use sqlite::session::{Records, SessionReader};
pub use sqlite::{SqlProblem, check_sql};
pub use timings::Timings;
pub use witness::{Testimony, Witness};
pub use world::World;
