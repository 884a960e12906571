//! Folders and files that only their owner may open. The registry, the message ledger and
//! the evidence log are all made through here; what stands in them is not its business.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

/// Makes a folder, and those above it that are missing, open to its owner only (0700).
/// A folder that is already there is left as it is.
///
/// # Errors
/// As [`std::fs::DirBuilder::create`].
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Options that make new files readable and writable by their owner only (0600).
pub fn private_file_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "the mode exists on unix only"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        // Where a pipe has the file's name, opening it fails, and does not wait for somebody to
        // read from it. Of files it changes nothing.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    options
}

/// Closes a folder that belongs to AxiOwl alone to others, should it stand open. What its owner
/// may do there is left alone: a folder that was made read-only is meant to stay so.
pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes a rename in `folder` survive a power cut. Windows has no such call and needs none.
pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn closing_a_folder_gives_its_owner_nothing_that_was_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        for (before, after) in [
            (0o755, 0o700),
            (0o555, 0o500),
            (0o500, 0o500),
            (0o700, 0o700),
        ] {
            let mode = std::fs::Permissions::from_mode(before);
            std::fs::set_permissions(dir.path(), mode).unwrap();
            close_to_others(dir.path()).unwrap();
            let mode = std::fs::metadata(dir.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, after, "{before:o}");
        }
    }
}
