//! The MCP server through the binary, with a host that the test plays: lifecycles, who is calling,
//! and every way of pretending to be somebody else.
#![cfg(target_os = "linux")]

#[path = "../program/mod.rs"]
mod program;

mod answers;
mod broken;
mod claude;
mod clients;
mod codex;
mod copilot;
mod crowds;
mod ground;
mod host;
mod http;
mod lifecycles;
mod markers;
mod opencode;
mod recorded;
mod strangers;
mod visitors;
mod web;
