//! Discovery against foreign bytes, through the binary: damaged, huge, hostile, half-written and
//! locked stores of several providers at once. Every test asks the same of it: what is sound
//! beside the damage is found, the damage is named, memory and time are bounded, and the
//! providers' files are left as they were.

#![cfg(unix)]

#[path = "../program/mod.rs"]
mod program;

mod content;
mod found;
mod home;
mod huge;
mod kinds;
mod locked;
mod measured;
mod names;
mod own_files;
mod permissions;
mod samples;
mod untouched;
mod written;
