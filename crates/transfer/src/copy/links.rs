//! Entries that are created rather than copied: hard links, symbolic links, pipes, sockets and devices.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{self, Loss};

use super::beside::part_path;
use super::context::CopyContext;
use super::entry::{Action, Entry};
use super::error::CopyError;
use super::file::FileCopier;
use super::log::{CopiedFile, Recorded};
use super::part::remove_dead;
use super::walk::Inventory;

/// Creates links and special files after every file has its name.
pub(super) struct LinkMaker<'l, 'c, 'a> {
    copier: &'l mut FileCopier<'c, 'a>,
    /// Position in the log of each file that has hard links.
    copied_at: HashMap<PathBuf, usize>,
    failed: HashSet<PathBuf>,
}

impl<'l, 'c, 'a> LinkMaker<'l, 'c, 'a> {
    pub(super) fn new(copier: &'l mut FileCopier<'c, 'a>, inventory: &Inventory) -> Self {
        let (mut copied_at, mut failed) = (HashMap::new(), HashSet::new());
        let first_name = |entry: &Entry| match &entry.action {
            Action::HardLink(first) => Some(Arc::clone(first)),
            _ => None,
        };
        let firsts: HashSet<Arc<PathBuf>> = inventory.entries.iter().filter_map(first_name).collect();
        if !firsts.is_empty() {
            let log = &copier.log;
            let files = log.files.iter().enumerate().filter(|(_, file)| firsts.contains(&file.path));
            copied_at = files.map(|(at, file)| (file.path.clone(), at)).collect();
            failed = log.failures.iter().map(|failure| failure.target.clone()).collect();
        }
        Self { copier, copied_at, failed }
    }

    /// Creates the entry if it is a link or special file; records a failure unless it ends the copy.
    pub(super) fn make_or_note(&mut self, entry: &Entry) -> Result<(), CopyError> {
        let made = self.make(entry);
        self.copier.log.note(self.copier.context.options, || entry.paths(), made)
    }

    fn make(&mut self, entry: &Entry) -> Result<(), CopyError> {
        match &entry.action {
            Action::Directory | Action::File | Action::UpToDate | Action::Compare => return Ok(()),
            Action::NewerThere => {
                self.copier.log.counts.newer_there += 1;
                self.copier.log.record(Recorded::NewerThere, &entry.target(), entry.size_bytes());
                return Ok(());
            }
            Action::HardLink(first) => self.make_hard_link(first, entry)?,
            Action::Symlink => {
                let source = entry.source();
                let leads_to = fs::read_link(&source).map_err(CopyError::system("read", &source))?;
                self.make_node(entry, |path| files::make_symlink(&leads_to, path))?;
                self.copier.log.counts.symlinks += 1;
            }
            Action::Special => {
                self.make_node(entry, |path| files::make_special(&entry.source(), path))?;
                self.copier.log.counts.specials += 1;
            }
        }
        self.copier.log.record(Recorded::Created, &entry.target(), 0);
        Ok(())
    }

    fn make_hard_link(&mut self, first: &Path, entry: &Entry) -> Result<(), CopyError> {
        let (source, target) = entry.paths();
        let (log, shown) = (&mut *self.copier.log, first.display().to_string());
        if log.mismatches.iter().any(|mismatch| mismatch.path == shown) {
            // The copy came back different and was not renamed: that name is missing or an older file.
            return Ok(());
        }
        if self.failed.contains(first) {
            // That name does not refer to the file that this is a hard link of.
            return self.copier.copy(&source, &target);
        }
        let is_linked = files::stamp_of_link(first)
            .is_ok_and(|one| files::stamp_of_link(&target).is_ok_and(|other| one.is_same_file(&other)));
        if !is_linked {
            match put(self.copier.context, entry, |path| fs::hard_link(first, path)) {
                // The file system has no hard links.
                Err(CopyError::System { source: error, .. }) if files::has_no_links(&error) => {
                    let cause = "the file system has no hard links: copied once more".to_owned();
                    log.losses.push((target.clone(), Loss { what: "hard link".into(), cause }));
                    return self.copier.copy(&source, &target);
                }
                other => other?,
            }
        }
        log.counts.hard_links += 1;
        // The list of checksums includes every name of a file.
        if let Some(file) = self.copied_at.get(first).and_then(|at| log.files.get(*at)).cloned() {
            log.files.push(CopiedFile { path: target, ..file });
        }
        Ok(())
    }

    fn make_node(&mut self, entry: &Entry, make: impl Fn(&Path) -> io::Result<()>) -> Result<(), CopyError> {
        let mut losses = Vec::new();
        put(self.copier.context, entry, |path| {
            make(path)?;
            losses = files::copy_symlink_metadata(&entry.source(), &entry.stat(), path);
            Ok(())
        })?;
        self.copier.log.losses.extend(losses.into_iter().map(|loss| (entry.target(), loss)));
        Ok(())
    }
}

/// Creates an entry at its destination. What it replaces stays until the new one is complete, as with files.
fn put(
    context: &CopyContext<'_>,
    entry: &Entry,
    mut make: impl FnMut(&Path) -> io::Result<()>,
) -> Result<(), CopyError> {
    let target = &entry.target();
    if !context.options.overwrite || files::stamp_of_link(target).is_err() {
        return make(target).map_err(CopyError::system("create", target));
    }
    context.destinations.check_name(target, &entry.stat())?;
    let path = part_path(target);
    remove_dead(&path)?;
    make(&path).map_err(CopyError::system("create", &path))?;
    files::rename_over(&path, target).map_err(|error| {
        let _ = fs::remove_file(&path);
        CopyError::system("name", target)(error)
    })
}
