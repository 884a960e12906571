//! The pipeline through the binary: commands, real states, faults. The provider is a stand-in
//! program that keeps a transcript; everything else is the product.
#![cfg(unix)]

#[path = "../program/mod.rs"]
mod program;

mod bounds;
mod commands;
mod desk;
mod edges;
mod faults;
mod kills;
mod load;
mod one_way;
mod registry;
mod resolving;
mod states;
mod waiting;
