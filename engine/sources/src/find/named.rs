//! Files that rows name by their paths, instead of patterns. The same holds for them: nothing
//! outside the roots and no secret.

use super::secrets::is_settings_of_a_client;
use super::{Finder, outside, report_unless_absent, secret};
use crate::file::Hit;
use crate::report::Report;
use crate::roots::Root;
use axiowl_lang::secrets::is_secret_path;
use std::path::{Path, PathBuf};

impl Finder<'_> {
    /// A file that a row names by its recorded path; it must lie below one of the roots.
    pub(crate) fn named(&mut self, recorded: &str, report: &mut Report) -> Option<Hit> {
        let real = self.world.real_path(recorded)?;
        let metadata = real.symlink_metadata();
        self.note(&real, metadata.as_ref().ok());
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => {
                report_unless_absent(report, self.world, &real, &error);
                return None;
            }
        };
        let canonical = if metadata.is_symlink() {
            real.canonicalize().ok()?
        } else {
            self.parent(&real)?.join(real.file_name()?)
        };
        let mut places = self.roots.values().flat_map(Root::places);
        let Some(place) = places.find(|place| canonical.starts_with(&place.canonical)) else {
            report.gap(outside(
                recorded,
                "the recorded path lies outside the roots",
            ));
            return None;
        };
        let below = canonical.strip_prefix(&place.canonical).ok()?;
        let home = self.world.home();
        if is_secret_path(&below.to_string_lossy()) || is_settings_of_a_client(recorded, home) {
            report.issue(secret(recorded));
            return None;
        }
        let metadata = if metadata.is_symlink() {
            canonical.metadata().ok()?
        } else {
            metadata
        };
        metadata
            .is_file()
            .then(|| Hit::new(self.world, real, recorded.to_owned(), &metadata, 0))
    }

    /// The canonical folder a file lies in; asked once for each folder.
    fn parent(&mut self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent()?;
        if let Some(known) = self.parents.get(parent) {
            return known.clone();
        }
        let canonical = parent.canonicalize().ok();
        self.parents.insert(parent.to_path_buf(), canonical.clone());
        canonical
    }
}
