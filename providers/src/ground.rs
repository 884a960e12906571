//! What every edge makes sure of before it touches a session: a session id that cannot be taken
//! for anything else, the program, the folder.
//!
//! Reads only. Knows no provider's files.

use axiowl_model::{display_safe, is_uuid};
use axiowl_pipeline::edge::{EdgeContext, EdgeError, Liveness, Target};
use std::path::PathBuf;

/// What a delivery stands on.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The provider's own session id.
    pub session: String,
    /// The provider's executable.
    pub program: PathBuf,
    /// The session's folder, which exists.
    pub folder: PathBuf,
}

/// Makes sure that a delivery is about this machine, not about one that was recorded.
///
/// # Errors
/// When it is recorded.
pub(crate) fn is_real(context: &EdgeContext<'_>) -> Result<(), EdgeError> {
    if context.world.is_fixture() {
        let reason = "nothing is delivered to sessions of a recorded machine".into();
        return Err(EdgeError::NotSubmitted { reason });
    }
    Ok(())
}

/// What a probe found, when it may not be delivered now.
pub(crate) fn not_now(liveness: Liveness) -> EdgeError {
    match liveness {
        Liveness::Closed { reason, remedy } => EdgeError::Refused {
            reason: format!("{reason}; {remedy}"),
        },
        Liveness::Unavailable { reason } => EdgeError::NotSubmitted { reason },
        Liveness::Idle { .. } | Liveness::Door { .. } => EdgeError::NotSubmitted {
            reason: "it cannot be resumed".into(),
        },
    }
}

/// Finds all of it.
///
/// # Errors
/// The reason why nothing can be delivered now.
pub(crate) fn survey(
    context: &EdgeContext<'_>,
    target: &Target,
    program: &str,
) -> Result<Ground, Missing> {
    survey_of(context, target, program, is_uuid)
}

/// The same, where a session id is no UUID.
///
/// # Errors
/// The reason why nothing can be delivered now.
pub(crate) fn survey_of(
    context: &EdgeContext<'_>,
    target: &Target,
    program: &str,
    is_session: impl Fn(&str) -> bool,
) -> Result<Ground, Missing> {
    let session = target.key.bare_session();
    // Anything else could be read as a name, an option or a new session.
    if !is_session(session) {
        return Err(Missing(format!(
            "`{}` is no session id of {program}",
            display_safe(session)
        )));
    }
    let found = context.world.executable(program);
    let Some(path) = found
        .as_deref()
        .and_then(|path| context.world.real_path(path))
    else {
        return Err(Missing(format!(
            "the program `{program}` is not installed; install it, or name its place under \
             `executables` in config.yaml"
        )));
    };
    if target.cwd.is_empty() {
        return Err(Missing("no folder of the session is recorded".into()));
    }
    let folder = context
        .world
        .real_path(&target.cwd)
        .filter(|folder| folder.is_dir());
    let Some(folder) = folder else {
        let cwd = display_safe(&target.cwd);
        return Err(Missing(format!("the session's folder is gone: {cwd}")));
    };
    Ok(Ground {
        session: session.to_owned(),
        program: path,
        folder,
    })
}

/// Why nothing can be delivered now.
#[derive(Debug)]
pub(crate) struct Missing(pub String);

impl From<Missing> for Liveness {
    fn from(missing: Missing) -> Self {
        Self::Unavailable { reason: missing.0 }
    }
}
