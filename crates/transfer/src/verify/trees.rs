//! Compares two trees.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp};
use iostall_measure::MonotonicClock;
use iostall_model::VerifyOutcome;
use iostall_model::transfer::{HashKind, Mismatch};

use super::unlisted::sorted_entries;
use super::{Verifier, says_nothing_of_the_file};
use crate::copy::CopyError;
use crate::copy::read_back::{BLOCK_BYTES, Reader, compare};
use crate::pipeline::HashWanted;

struct Pair {
    one: PathBuf,
    other: PathBuf,
    stat: FileStamp,
}

impl Verifier<'_> {
    /// Reads every file of two trees past the page cache and compares contents, links and kinds. Names that
    /// only the second tree has are [`VerifyOutcome::extra`]. Modes, owners and times are not compared.
    pub fn compare_trees(
        &self,
        one: &Path,
        other: &Path,
        hash: HashKind,
    ) -> Result<VerifyOutcome, CopyError> {
        let (mut pairs, mut extra) = (Vec::new(), Vec::new());
        for root in [one, other] {
            let stat = files::stamp_of_path(root).map_err(CopyError::system("find", root))?;
            if stat.kind != FileKind::Directory {
                return Err(CopyError::Names { message: format!("{} is not a directory", root.display()) });
            }
        }
        take_pairs(one, other, &mut pairs)?;
        take_extra(one, other, &mut extra)?;
        for pair in &pairs {
            self.progress.add_total(1, pair.stat.size_bytes * 2);
        }
        let extra = extra.iter().map(|path| path.display().to_string()).collect();
        let outcome = VerifyOutcome { files: pairs.len() as u64, extra, ..VerifyOutcome::default() };
        self.check_each(&pairs, outcome, |pair, reader, bytes| {
            let compared = self.compare_pair(pair, hash, reader, bytes);
            match compared {
                Err(error) if !error.is_cancelled() && !says_nothing_of_the_file(&error) => {
                    Ok(Some(different(pair, None, error.to_string())))
                }
                other => other,
            }
        })
    }

    fn compare_pair(
        &self,
        pair: &Pair,
        hash: HashKind,
        reader: &mut Reader<'_, MonotonicClock>,
        bytes: &mut u64,
    ) -> Result<Option<Mismatch>, CopyError> {
        let Pair { one, other, stat } = pair;
        let Ok(there) = files::stamp_of_link(other) else {
            return Ok(Some(different(pair, None, "is not there".to_owned())));
        };
        if there.kind != stat.kind {
            return Ok(Some(different(pair, None, format!("is {}, not {}", noun(there), noun(*stat)))));
        }
        match stat.kind {
            FileKind::Regular => {}
            FileKind::Symlink => {
                let (from, to) = (fs::read_link(one).ok(), fs::read_link(other).ok());
                let message = || "is a link to something else".to_owned();
                return Ok((from != to).then(|| different(pair, None, message())));
            }
            FileKind::Special if there.special_device == stat.special_device => return Ok(None),
            FileKind::Special => return Ok(Some(different(pair, None, "is another device".to_owned()))),
            FileKind::Directory => return Ok(None),
        }
        if there.size_bytes != stat.size_bytes {
            let message = format!("has {} bytes instead of {}", there.size_bytes, stat.size_bytes);
            return Ok(Some(different(pair, Some(there.size_bytes.min(stat.size_bytes)), message)));
        }
        self.progress.begin_file(other, stat.size_bytes * 2, "comparing");
        let wanted = HashWanted { whole: Some(hash), block_bytes: Some(BLOCK_BYTES), frames: false };
        let expected = reader.hashes(one, stat.size_bytes, wanted)?;
        let found = reader.hashes(other, stat.size_bytes, wanted)?;
        *bytes += stat.size_bytes * 2;
        Ok(compare(other, one, other, &expected, &found, BLOCK_BYTES))
    }
}

fn different(pair: &Pair, first_offset: Option<u64>, message: String) -> Mismatch {
    Mismatch { path: pair.other.display().to_string(), first_offset, message }
}

fn noun(stat: FileStamp) -> &'static str {
    match stat.kind {
        FileKind::Regular => "a file",
        FileKind::Directory => "a directory",
        FileKind::Symlink => "a link",
        FileKind::Special => "a device, pipe or socket",
    }
}

/// Everything in the first tree except directories that both have.
fn take_pairs(one: &Path, other: &Path, pairs: &mut Vec<Pair>) -> Result<(), CopyError> {
    for path in sorted_entries(one)? {
        let stat = files::stamp_of_link(&path).map_err(CopyError::system("look at", &path))?;
        let there = other.join(path.file_name().unwrap_or_default());
        let is_directory = |stat: FileStamp| stat.kind == FileKind::Directory;
        if is_directory(stat) && files::stamp_of_link(&there).is_ok_and(is_directory) {
            take_pairs(&path, &there, pairs)?;
        } else {
            // A directory has no size to read.
            let size_bytes = if stat.kind == FileKind::Regular { stat.size_bytes } else { 0 };
            pairs.push(Pair { one: path, other: there, stat: FileStamp { size_bytes, ..stat } });
        }
    }
    Ok(())
}

/// Names that only the second tree has; a directory without what is in it.
fn take_extra(one: &Path, other: &Path, extra: &mut Vec<PathBuf>) -> Result<(), CopyError> {
    for path in sorted_entries(other)? {
        let stat = files::stamp_of_link(&path).map_err(CopyError::system("look at", &path))?;
        let expected = one.join(path.file_name().unwrap_or_default());
        match files::stamp_of_link(&expected) {
            Err(_) => extra.push(path),
            Ok(from) if from.kind == FileKind::Directory && stat.kind == FileKind::Directory => {
                take_extra(&expected, &path, extra)?;
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::progress::Progress;

    #[test]
    fn two_trees_are_compared_by_content_links_and_kinds_and_extra_names_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for root in ["a", "b"] {
            fs::create_dir_all(path(root).join("same/deep")).unwrap();
            fs::write(path(root).join("same/deep/equal"), vec![7; 3_000_000]).unwrap();
            symlink("equal", path(root).join("same/link")).unwrap();
        }
        let progress = Progress::default();
        let verifier = Verifier { rate: None, progress: &progress };
        let compared = || verifier.compare_trees(&path("a"), &path("b"), HashKind::Xxh3).unwrap();
        let outcome = compared();
        assert_eq!(
            (outcome.files, outcome.equal, outcome.mismatches.len(), outcome.extra.len()),
            (2, 2, 0, 0)
        );

        let mut changed = vec![7; 3_000_000];
        changed[2_500_000] = 8;
        fs::write(path("b/same/deep/equal"), changed).unwrap();
        fs::remove_file(path("b/same/link")).unwrap();
        symlink("deep", path("b/same/link")).unwrap();
        fs::write(path("a/only-here"), b"x").unwrap();
        fs::create_dir(path("a/kind")).unwrap();
        fs::write(path("b/kind"), b"x").unwrap();
        fs::create_dir(path("b/extra")).unwrap();
        fs::write(path("b/extra/x"), b"x").unwrap();
        fs::write(path("b/same/extra"), b"x").unwrap();
        let outcome = compared();
        assert_eq!((outcome.files, outcome.equal), (4, 0));
        let found: Vec<_> =
            outcome.mismatches.iter().map(|found| (found.first_offset, &*found.message)).collect();
        assert_eq!(found[0], (None, "is a file, not a directory"));
        assert_eq!(found[1], (None, "is not there"));
        assert_eq!(found[2].0, Some(2_500_000));
        assert_eq!(found[3], (None, "is a link to something else"));
        let extra: Vec<PathBuf> = outcome.extra.iter().map(PathBuf::from).collect();
        assert_eq!(extra, [path("b/extra"), path("b/same/extra")]);
        verifier.compare_trees(&path("a"), &path("a/only-here"), HashKind::Xxh3).unwrap_err();
    }
}
