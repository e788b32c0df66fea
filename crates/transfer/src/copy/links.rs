//! What is not copied but made anew: further names of a file, symbolic links, pipes, sockets and devices.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileStamp, Loss};

use super::Copier;
use super::beside::part_path;
use super::error::CopyError;
use super::log::CopiedFile;
use super::part::remove_dead;
use super::walk::{Action, Entry, Inventory};

/// What became of the files that others are further names of.
#[derive(Default)]
struct FirstNames {
    /// Where in the log a copied one is.
    copied: HashMap<PathBuf, usize>,
    failed: HashSet<PathBuf>,
}

impl Copier<'_> {
    /// Makes them, after every file has its name.
    pub(super) fn make_links(&mut self, inventory: &Inventory) -> Result<(), CopyError> {
        let mut first_names = FirstNames::default();
        if inventory.entries.iter().any(|entry| matches!(entry.action, Action::HardLink(_))) {
            let (copied, failed) = (self.log.files.iter().enumerate(), self.log.failures.iter());
            first_names.copied = copied.map(|(at, file)| (file.path.clone(), at)).collect();
            first_names.failed = failed.map(|failure| failure.target.clone()).collect();
        }
        for entry in &inventory.entries {
            let made = self.make(entry, &first_names);
            self.noted(entry, made)?;
        }
        Ok(())
    }

    fn make(&mut self, entry: &Entry, first_names: &FirstNames) -> Result<(), CopyError> {
        match &entry.action {
            Action::Directory | Action::File | Action::AlreadyThere => {}
            Action::HardLink(first) => self.make_hard_link(first, entry, first_names)?,
            Action::Symlink => {
                let leads_to =
                    fs::read_link(&entry.source).map_err(CopyError::system("read", &entry.source))?;
                self.make_node(entry, |path| std::os::unix::fs::symlink(&leads_to, path))?;
                self.log.counts.symlinks += 1;
            }
            Action::Special => {
                self.make_node(entry, |path| files::make_special(&entry.source, path))?;
                self.log.counts.specials += 1;
            }
        }
        Ok(())
    }

    fn make_hard_link(
        &mut self,
        first: &Path,
        entry: &Entry,
        first_names: &FirstNames,
    ) -> Result<(), CopyError> {
        let shown = first.display().to_string();
        if self.log.mismatches.iter().any(|mismatch| mismatch.path == shown) {
            // It came back different and has no name: what has that name is another file, or none.
            return Ok(());
        }
        if first_names.failed.contains(first) {
            // What has that name, if anything, is not what this is a further name of.
            return self.copy_file(&entry.source, &entry.target);
        }
        let is_linked = files::stamp_of_link(first)
            .is_ok_and(|one| files::stamp_of_link(&entry.target).is_ok_and(|other| one.is_same_file(&other)));
        if !is_linked {
            match self.put(&entry.target, &entry.stamp, |path| fs::hard_link(first, path)) {
                // A file system on which no file has two names.
                Err(CopyError::System { source, .. }) if files::has_no_links(&source) => {
                    let cause = "the file system has no hard links: copied once more".to_owned();
                    self.log
                        .losses
                        .push((entry.target.clone(), Loss { what: "the hard link".into(), cause }));
                    return self.copy_file(&entry.source, &entry.target);
                }
                other => other?,
            }
        }
        self.log.counts.hard_links += 1;
        // A list of the copy has every name that a file can be read by.
        if let Some(file) = first_names.copied.get(first).and_then(|at| self.log.files.get(*at)) {
            self.log.files.push(CopiedFile { path: entry.target.clone(), ..file.clone() });
        }
        Ok(())
    }

    fn make_node(&mut self, entry: &Entry, make: impl Fn(&Path) -> io::Result<()>) -> Result<(), CopyError> {
        let mut losses = Vec::new();
        self.put(&entry.target, &entry.stamp, |path| {
            make(path)?;
            losses = files::copy_symlink_metadata(&entry.stamp, path);
            Ok(())
        })?;
        self.log.losses.extend(losses.into_iter().map(|loss| (entry.target.clone(), loss)));
        Ok(())
    }

    /// Makes something at `target`. What may be replaced there stays until the new one is whole, as it does for files.
    fn put(
        &self,
        target: &Path,
        new: &FileStamp,
        mut make: impl FnMut(&Path) -> io::Result<()>,
    ) -> Result<(), CopyError> {
        if !self.options.overwrite || files::stamp_of_link(target).is_err() {
            return make(target).map_err(CopyError::system("create", target));
        }
        self.destinations.check_name(target, new)?;
        let path = part_path(target);
        remove_dead(&path)?;
        make(&path).map_err(CopyError::system("create", &path))?;
        files::rename_over(&path, target).map_err(|error| {
            let _ = fs::remove_file(&path);
            CopyError::system("name", target)(error)
        })
    }
}
