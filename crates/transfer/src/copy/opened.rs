//! Directories of the destination whose own modes forbid what is to be done in them, as in a cache of modules or an export.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};

use super::plan::CopyPlan;

/// Directories of ours that were read-only, and are writable while names are made or removed in them.
pub(super) struct Opened {
    modes: Vec<(PathBuf, u32)>,
    /// Those that get the modes of their sources in the end.
    finished: HashSet<PathBuf>,
}

impl Opened {
    pub(super) fn open(plan: &CopyPlan) -> Self {
        let finished = plan.inventory.read_only.clone();
        let mut modes = Vec::new();
        for path in finished.union(&plan.extras.read_only) {
            let Ok(there) = files::stamp_of_link(path) else { continue };
            // Where this fails, so does what is made in it, with a message of its own.
            if there.kind == FileKind::Directory && set_mode(path, there.mode | 0o700).is_ok() {
                modes.push((path.clone(), there.mode));
            }
        }
        Self { modes, finished }
    }

    pub(super) fn close(self, is_finished: bool) {
        for (path, mode) in self.modes {
            if !is_finished || !self.finished.contains(&path) {
                // It may have been removed meanwhile.
                let _ = set_mode(&path, mode);
            }
        }
    }
}

fn set_mode(directory: &Path, mode: u32) -> io::Result<()> {
    files::set_mode(&File::open(directory)?, mode)
}
