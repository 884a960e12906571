//! `axiowl install` and `axiowl uninstall`: what they choose, what they write into clients' own
//! configuration, what they leave, and whether the real clients see it.

#![cfg(unix)]

mod choices;
mod files;
mod guards;
mod machine;
#[path = "../owl/mod.rs"]
mod owl;
#[path = "../program/mod.rs"]
mod program;
mod real;
mod real_door;
mod together;
