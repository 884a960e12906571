//! Calls that have named their caller once. The proof of a call (a record that stands in a
//! transcript, a running part) can be read by others while the call is under way; whoever shows
//! it a second time is refused.
//!
//! Knows no provider: a call is a text that its verifier makes.

use axiowl_registry::{create_private_dir, private_file_options};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Below the state folder.
const FOLDER: &str = "calls";
/// The calls of one hour stand in one folder.
const HOUR: Duration = Duration::from_secs(60 * 60);
/// How many hours a call is remembered. Longer than any host waits for one.
const HOURS: u64 = 24;

/// Why a call does not count.
#[derive(Debug, thiserror::Error)]
pub enum NotSpent {
    /// It has named its caller before.
    #[error(
        "this very call has been answered already, and a proof counts once; a host that asks again makes a new call"
    )]
    Before,
    /// Nothing could be noted, so that nobody could tell a second time.
    #[error("that the call was made cannot be noted in {}: {error}", path.display())]
    Unwritten {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Notes that a call has named its caller.
///
/// # Errors
/// When it has before, or that cannot be noted.
pub fn spend(state: &Path, call: &str, now: SystemTime) -> Result<(), NotSpent> {
    let root = state.join(FOLDER);
    let own = &blake3::hash(call.as_bytes()).to_hex()[..32];
    let hour = hour(now);
    let folder = root.join(hour.to_string());
    let unwritten = |error| NotSpent::Unwritten {
        path: folder.clone(),
        error,
    };
    create_private_dir(&root).map_err(unwritten)?;
    create_private_dir(&folder).map_err(unwritten)?;
    let mut options = private_file_options();
    let made = options.write(true).create_new(true).open(folder.join(own));
    match made {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(NotSpent::Before),
        Err(error) => return Err(unwritten(error)),
    }
    // Written first and compared then: of two that ask around the turn of an hour, one sees the
    // other.
    for entry in fs::read_dir(&root).map_err(unwritten)? {
        let path = entry.map_err(unwritten)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(other) = name.and_then(|name| name.parse::<u64>().ok()) else {
            continue;
        };
        if other != hour && path.join(own).try_exists().map_err(unwritten)? {
            return Err(NotSpent::Before);
        }
        // A clock that was set back leaves folders of hours to come.
        if other.abs_diff(hour) > HOURS
            && let Err(error) = fs::remove_dir_all(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "calls of long ago stay noted");
        }
    }
    Ok(())
}

fn hour(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / HOUR.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_once_and_is_forgotten_after_a_day() {
        let state = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let later = |hours| now + HOUR * hours;
        assert!(spend(state.path(), "one", now).is_ok());
        for then in [now, later(1), later(23), now - HOUR] {
            let again = spend(state.path(), "one", then);
            assert!(matches!(again, Err(NotSpent::Before)), "{again:?}");
        }
        assert!(spend(state.path(), "two", later(1)).is_ok());
        assert!(spend(state.path(), "three", later(60)).is_ok());
        let kept = fs::read_dir(state.path().join(FOLDER)).unwrap().count();
        assert_eq!(kept, 1, "only the hour of the last call");
    }

    #[test]
    fn of_many_that_show_one_call_at_once_one_is_believed() {
        let state = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let believed = std::thread::scope(|scope| {
            let askers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| spend(state.path(), "one", now).is_ok()))
                .collect();
            let answers = askers.into_iter().map(|asker| asker.join().unwrap());
            answers.filter(|believed| *believed).count()
        });
        assert_eq!(believed, 1);
    }

    #[test]
    fn what_cannot_be_noted_is_not_believed() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(FOLDER), "a file").unwrap();
        let refused = spend(state.path(), "one", SystemTime::now());
        assert!(
            matches!(refused, Err(NotSpent::Unwritten { .. })),
            "{refused:?}"
        );
    }
}
