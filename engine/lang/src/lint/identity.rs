//! Who is calling: an identity names its source, and never what the model wrote.

use super::{Lint, Place};
use crate::at::At;
use crate::codes;
use crate::diag::Diagnostic;
use crate::rule::{IdentityClass, IdentityRule};
use crate::scalar::Pointer;

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    for identity in &rule.identity {
        written_by_the_host(lint, identity);
        has_a_source(lint, identity);
    }
}

fn written_by_the_host(lint: &mut Lint, identity: &At<IdentityRule>) {
    let require = &identity.require;
    let pointers = identity.from.iter().chain(&require.equal);
    let pointers = pointers.chain(&require.present).chain(&identity.message);
    for pointer in pointers {
        if written_by_the_model(pointer) {
            let (file, at): Place = lint.place(pointer.span);
            let message = format!("`{}` holds what the model wrote", pointer.as_str());
            lint.push(
                Diagnostic::error(codes::IDENTITY_FROM_MODEL, message)
                    .at(file, at, "no identity")
                    .help("read what only the host fills, such as `/_meta/…`"),
            );
        }
    }
}

fn written_by_the_model(pointer: &Pointer) -> bool {
    match pointer.segments().first().map(String::as_str) {
        None | Some("") => true,
        Some(first) => ["arguments", "name", "*"].contains(&first),
    }
}

/// Each class has its source, and what no request can show needs somebody who confirms it.
fn has_a_source(lint: &mut Lint, identity: &At<IdentityRule>) {
    let (from, env) = (!identity.from.is_empty(), identity.env.is_some());
    let verified = identity.verify.is_some();
    let problem = match identity.class {
        IdentityClass::HostMeta if !from || env => "`host_meta` is read `from` the request",
        IdentityClass::TranscriptCall if !verified || env => {
            "`transcript_call` needs `verify`, which looks into the transcript"
        }
        IdentityClass::HostEnvProtected if !env || from || !verified => {
            "`host_env_protected` needs `env`, and `verify`, which looks at the host"
        }
        IdentityClass::HookMarker if !verified || from || env => {
            "`hook_marker` needs `verify`, which takes the marker"
        }
        _ => return,
    };
    let (file, at): Place = lint.place(identity.span);
    lint.push(
        Diagnostic::error(codes::VALUE, problem)
            .at(file, at, "this identity")
            .help("give `from` (or `env`) and `verify` as its class asks"),
    );
}
