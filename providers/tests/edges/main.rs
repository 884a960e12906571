//! The edges against stand-ins for the providers' programs: shell scripts that say and write
//! what the provider files tell of the real ones, well-behaved and not. What must hold in all
//! of them is that nothing is said that is not so.
//!
//! The real clients are driven by the tests of the workspace's root.
#![cfg(target_os = "linux")]

mod antigravity_cli;
mod claude_code_cli;
mod claude_inbox;
mod claude_sessions;
mod codex;
mod codex_desktop;
mod codex_exec;
mod codex_open_thread;
mod codex_owner;
mod codex_queue;
mod copilot_cli;
mod cursor_cli;
mod echo;
mod gemini_cli;
mod grok;
mod opencode_cli;
mod opencode_server;
mod scene;
mod stand_in;
