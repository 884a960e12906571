//! Which of the files that a pattern may find are never read, by where they lie.

use axiowl_lang::secrets::is_secret_path;

/// Whether a path is secret by the folders below the user's home (whose own name means
/// nothing), or, elsewhere, by those from the root's own folder on.
pub(crate) fn is_secret(recorded: &str, root: &str, home: &str) -> bool {
    let rest = recorded
        .strip_prefix(home)
        .filter(|rest| rest.starts_with(['/', '\\']));
    let from_root = || {
        let name = root.rfind(['/', '\\']).map_or(0, |at| at);
        recorded.get(name..)
    };
    is_secret_path(rest.or_else(from_root).unwrap_or(recorded))
        || is_settings_of_a_client(recorded, home)
}

/// A hidden JSON file right in the user's home is some client's own settings, with its login.
pub(super) fn is_settings_of_a_client(recorded: &str, home: &str) -> bool {
    let below = recorded.strip_prefix(home);
    let name = below.and_then(|rest| rest.strip_prefix(['/', '\\']));
    name.is_some_and(|name| {
        let right_there = name.starts_with('.') && !name.contains(['/', '\\']);
        right_there && name.to_lowercase().ends_with(".json")
    })
}
