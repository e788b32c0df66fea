//! Puts the files of a relation together again that a server has sent in parts: an increment of its own has only the blocks that
//! changed since its base.
//!
//! ```text
//! oldest set, whole ──► its increment onto it ──► … ──► the set that is restored
//! ```
//!
//! One set after another is restored beside the files and applied to those before it, so there is never more than one whole copy and
//! one increment at the same time.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, OpenDirectory, path_from_bytes};
use iostall_model::backup::{FileEntry, Manifest, StoredName};

use super::error::RestoreError;
use super::plan::{is_in, plain};
use super::roots::{Elsewhere, Roots};
use crate::backup::pages::{Fork, INCREMENTAL, IncrementalFile, RelationFile};
use crate::backup::read::{OpenSet, ReadError};
use crate::pipeline::PipelineError;
use crate::progress::Progress;

/// Where the sets before it are restored meanwhile, in the directory that has not its name yet.
const WORK: &str = ".iostall-increments";
/// Increments are made of servers with blocks of this size only.
const BLOCK_BYTES: u32 = 8192;
const BLOCKS_AT_ONCE: usize = 128;
const LABEL: &str = "backup_label";
/// A list of the files as they were sent, of which no server knows anything.
const MANIFEST: &str = "backup_manifest";
/// What the label of an increment says besides: no server starts on it.
const OF_INCREMENT: &str = "INCREMENTAL FROM ";

/// Restores the set to the path, beside the others, and parts of it elsewhere.
pub(super) type RestoreBase<'r> = &'r dyn Fn(&OpenSet, &Path, &[Elsewhere]) -> Result<(), RestoreError>;

struct Files {
    main: PathBuf,
    /// What is not below that.
    elsewhere: Vec<Elsewhere>,
    /// The directory below each of the roots; empty for the roots themselves.
    within: PathBuf,
}

impl Files {
    fn of(roots: &Roots, elsewhere: &[Elsewhere]) -> Self {
        let made = elsewhere.iter().zip(roots.temporary_parts());
        let elsewhere = made.map(|(part, to)| Elsewhere { to: to.to_owned(), ..part.clone() }).collect();
        Self { main: roots.main.temporary.clone(), elsewhere, within: PathBuf::new() }
    }

    fn inside(&self, name: &str) -> Self {
        let elsewhere = self.elsewhere.iter();
        let elsewhere = elsewhere.map(|part| Elsewhere { to: part.to.join(name), ..part.clone() }).collect();
        Self { main: self.main.join(name), elsewhere, within: self.within.join(name) }
    }

    /// A file, by the descriptors of the roots: whoever owns the directory above could put another in the place of one of them.
    fn find(&self, roots: &Roots, name: &[u8]) -> Result<(OpenDirectory, OsString), RestoreError> {
        let path = path_from_bytes(name.to_vec());
        let directory = roots.below_within(&self.within, path.parent().unwrap_or(Path::new("")));
        let directory = directory.map_err(RestoreError::system("open the directory of", &self.at(name)))?;
        Ok((directory, path.file_name().unwrap_or_default().to_owned()))
    }

    fn at(&self, name: &[u8]) -> PathBuf {
        let name = path_from_bytes(name.to_vec());
        let inside =
            self.elsewhere.iter().find_map(|part| Some(part.to.join(name.strip_prefix(&part.name).ok()?)));
        inside.unwrap_or_else(|| self.main.join(&name))
    }

    fn directories(&self) -> impl Iterator<Item = &Path> {
        self.elsewhere.iter().map(|part| part.to.as_path()).chain([self.main.as_path()])
    }

    fn make(&self) -> Result<(), RestoreError> {
        let make = |path: &Path| {
            files::create_new_directory_private(path).map_err(RestoreError::system("make", path))
        };
        self.directories().try_for_each(make)
    }

    fn remove(&self) -> Result<(), RestoreError> {
        let remove = |path: &Path| fs::remove_dir_all(path).map_err(RestoreError::system("remove", path));
        self.directories().try_for_each(remove)
    }
}

/// Makes the files of `set`, which were restored as they were sent, whole. Returns how many visibility maps are empty now.
pub(super) fn combine(
    set: &OpenSet,
    roots: &Roots,
    elsewhere: &[Elsewhere],
    progress: &Progress,
    restore: RestoreBase<'_>,
) -> Result<u64, RestoreError> {
    let own = Files::of(roots, elsewhere);
    let work = own.inside(WORK);
    work.make()?;
    let bases: Vec<_> = set.chain.there().collect();
    let mut older: Option<Files> = None;
    for (number, base) in bases.into_iter().rev() {
        let newer = work.inside(&number.to_string());
        restore(base, &newer.main, &newer.elsewhere)?;
        if let Some(older) = &older {
            apply(base, roots, (older, &newer), progress)?;
            older.remove()?;
        }
        older = Some(newer);
    }
    let missing = || RestoreError::Increment {
        name: StoredName::default(),
        cause: "nothing of what it is based on is there".to_owned(),
    };
    let emptied = apply(set, roots, (&older.ok_or_else(missing)?, &own), progress)?;
    finish_label(set, roots)?;
    work.remove()?;
    Ok(emptied)
}

/// Makes the files of `set` in `newer` whole with those in `older`, which are whole. Returns how many of them were emptied.
fn apply(
    set: &OpenSet,
    roots: &Roots,
    (older, newer): (&Files, &Files),
    progress: &Progress,
) -> Result<u64, RestoreError> {
    let mut emptied = 0;
    for entry in &set.manifest.files {
        let Some(bare) = bare_name(&entry.name) else { continue };
        if progress.is_cancelled() {
            return Err(ReadError::Pipeline(PipelineError::Cancelled).into());
        }
        let (path, older_path) = (newer.at(entry.name.as_bytes()), older.at(&bare));
        let (directory, part) = newer.find(roots, entry.name.as_bytes())?;
        let (_, to) = newer.find(roots, &bare)?;
        let failed = |cause: String| RestoreError::Increment { name: entry.name.clone(), cause };
        if directory.stamp_of(&to).is_ok() {
            return Err(failed("the set has the whole file, too".to_owned()));
        }
        if is_visibility_map(&to) {
            let done = directory.open_file(&part).and_then(|file| file.set_len(0));
            let done = done.and_then(|()| directory.rename_new_into(&part, &directory, &to));
            done.map_err(RestoreError::system("empty", &path))?;
            emptied += 1;
            continue;
        }
        let (from, whole) = older.find(roots, &bare)?;
        match from.rename_new_into(&whole, &directory, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(failed("the set that it is based on does not have the file".to_owned()));
            }
            renamed => renamed.map_err(RestoreError::system("rename", &older_path))?,
        }
        patch(&directory, &part, &to).map_err(|error| match error {
            PatchError::Io(source) => RestoreError::System { verb: "combine", path: path.clone(), source },
            PatchError::Format(cause) => failed(cause),
        })?;
        directory.remove_file(&part).map_err(RestoreError::system("remove", &path))?;
    }
    Ok(emptied)
}

/// Whether a file says which pages everybody can see. When the server clears such a bit, its log does not name the block of the map,
/// so it is missing in an increment, and a bit that is left set makes queries return rows that are gone. An empty map is right:
/// `VACUUM` fills it.
fn is_visibility_map(name: &OsStr) -> bool {
    RelationFile::parse(name.as_encoded_bytes()).is_some_and(|file| file.fork == Fork::VisibilityMap)
}

/// A part of a file is of no use to anybody: `only`, names as the user gives them, must not need one.
pub(super) fn refuse_parts(manifest: &Manifest, only: &[PathBuf]) -> Result<(), RestoreError> {
    let is_wanted = |entry: &&FileEntry| {
        let bare = bare_name(&entry.name);
        bare.is_some_and(|bare| {
            only.iter().any(|only| is_in(&bare, plain(only)) || is_in(entry.name.as_bytes(), plain(only)))
        })
    };
    match manifest.files.iter().find(is_wanted) {
        Some(entry) => Err(RestoreError::OnlyPart { name: entry.name.clone() }),
        None => Ok(()),
    }
}

/// The name of the whole file of which `name` is a part; `None` if it is none.
fn bare_name(name: &StoredName) -> Option<Vec<u8>> {
    let bytes = name.as_bytes();
    let begin = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let bare = bytes[begin..].strip_prefix(INCREMENTAL.as_bytes())?;
    Some([&bytes[..begin], bare].concat())
}

enum PatchError {
    Io(io::Error),
    Format(String),
}

impl From<io::Error> for PatchError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes the blocks in the file `part` over those of the relation's file `whole`.
fn patch(directory: &OpenDirectory, part: &OsStr, whole: &OsStr) -> Result<(), PatchError> {
    let (mut part, whole) = (directory.read_file(part)?, directory.open_file(whole)?);
    let increment = header(&mut part)?;
    let bytes_of = |blocks: u32| u64::from(blocks) * u64::from(BLOCK_BYTES);
    let valid = whole.metadata()?.len().min(bytes_of(increment.truncation));
    // What the server has cut off since must not come back as a part of what it has added since.
    whole.set_len(valid)?;
    whole.set_len(bytes_of(increment.length_blocks()))?;
    let mut at = increment.data_at;
    let mut room = vec![0; BLOCKS_AT_ONCE * BLOCK_BYTES as usize];
    for numbers in increment.blocks.chunks(BLOCKS_AT_ONCE) {
        let bytes = &mut room[..numbers.len() * BLOCK_BYTES as usize];
        if files::read_at(&part, bytes, at)? < bytes.len() {
            return Err(PatchError::Format("it ends before its last block".to_owned()));
        }
        at += bytes.len() as u64;
        let mut rest = &bytes[..];
        for run in numbers.chunk_by(|one, next| one + 1 == *next) {
            let (these, others) = rest.split_at(run.len() * BLOCK_BYTES as usize);
            files::write_all_at(&whole, these, bytes_of(run[0]))?;
            rest = others;
        }
    }
    Ok(())
}

fn header(part: &mut File) -> Result<IncrementalFile, PatchError> {
    let file_bytes = part.metadata()?.len();
    let mut bytes = Vec::new();
    (&mut *part).take(u64::from(BLOCK_BYTES)).read_to_end(&mut bytes)?;
    let wrong = |error| PatchError::Format(format!("{error}"));
    let needed = IncrementalFile::header_bytes(&bytes, file_bytes).map_err(wrong)?;
    let missing = needed.saturating_sub(bytes.len()) as u64;
    (&mut *part).take(missing).read_to_end(&mut bytes)?;
    IncrementalFile::parse(&bytes, file_bytes, BLOCK_BYTES).map_err(wrong)
}

/// The files are those of a whole backup now, and the label must say nothing else.
fn finish_label(set: &OpenSet, roots: &Roots) -> Result<(), RestoreError> {
    let (label, manifest) = (OsStr::new(LABEL), OsStr::new(MANIFEST));
    for source in &set.manifest.sources {
        let prefix = path_from_bytes(source.prefix.as_bytes().to_vec());
        let finish = || -> io::Result<()> {
            let directory = roots.main.root.below(&prefix)?;
            let mut file = directory.open_file(label)?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let kept = text.split_inclusive('\n').filter(|line| !line.starts_with(OF_INCREMENT));
            file.set_len(0)?;
            files::write_all_at(&file, kept.collect::<String>().as_bytes(), 0)?;
            match directory.remove_file(manifest) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        let path = roots.main.temporary.join(&prefix).join(label);
        finish().map_err(RestoreError::system("finish", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = BLOCK_BYTES as usize;

    /// A part with these blocks, each filled with its byte.
    fn part(blocks: &[(u32, u8)], truncation: u32) -> Vec<u8> {
        let count = u32::try_from(blocks.len()).unwrap();
        let fields = [0xd3ae_1f0d, count, truncation];
        let numbers = blocks.iter().map(|(number, _)| *number);
        let mut bytes: Vec<u8> = fields.into_iter().chain(numbers).flat_map(u32::to_ne_bytes).collect();
        if !blocks.is_empty() {
            bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        }
        for (_, byte) in blocks {
            bytes.extend_from_slice(&[*byte; BLOCK]);
        }
        bytes
    }

    /// The first byte of each block of a file of `whole` blocks after the part was written over it.
    fn patched(whole: &[u8], blocks: &[(u32, u8)], truncation: u32) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let bytes: Vec<u8> = whole.iter().flat_map(|byte| [*byte; BLOCK]).collect();
        fs::write(path("20"), bytes).unwrap();
        fs::write(path("INCREMENTAL.20"), part(blocks, truncation)).unwrap();
        let open = OpenDirectory::open(directory.path()).unwrap();
        let (of_part, of_whole) = (OsStr::new("INCREMENTAL.20"), OsStr::new("20"));
        patch(&open, of_part, of_whole).map_err(|_| "not combined").unwrap();
        let bytes = fs::read(path("20")).unwrap();
        assert!(bytes.chunks(BLOCK).all(|block| block.iter().all(|byte| *byte == block[0])));
        bytes.chunks(BLOCK).map(|block| block[0]).collect()
    }

    #[test]
    fn blocks_are_written_where_they_belong_and_the_file_has_its_new_length() {
        assert_eq!(patched(&[1, 2, 3], &[(1, 9)], 3), [1, 9, 3]);
        assert_eq!(patched(&[1, 2, 3], &[], 3), [1, 2, 3]);
        assert_eq!(patched(&[1, 2, 3], &[(0, 7), (1, 8), (4, 9)], 3), [7, 8, 3, 0, 9], "it grew");
        assert_eq!(patched(&[1, 2, 3], &[], 1), [1], "it was cut");
        assert_eq!(patched(&[1, 2, 3], &[], 5), [1, 2, 3, 0, 0], "it grew by blocks that nobody has used");
        assert_eq!(patched(&[1, 2, 3], &[(2, 9)], 1), [1, 0, 9], "it was cut and grew again");
        let many: Vec<(u32, u8)> = (0..300).map(|number| (number * 2, 5)).collect();
        let out = patched(&[1; 600], &many, 600);
        assert!(out.iter().enumerate().all(|(at, byte)| *byte == if at % 2 == 0 { 5 } else { 1 }));
    }

    #[test]
    fn a_part_that_is_damaged_is_no_part() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("20"), vec![1; BLOCK]).unwrap();
        let good = part(&[(0, 9)], 1);
        for length in [0, 4, 12, BLOCK, good.len() - 1] {
            fs::write(path("INCREMENTAL.20"), &good[..length]).unwrap();
            let open = OpenDirectory::open(directory.path()).unwrap();
            let combined = patch(&open, OsStr::new("INCREMENTAL.20"), OsStr::new("20"));
            assert!(combined.is_err(), "{length}");
            assert_eq!(fs::read(path("20")).unwrap(), vec![1; BLOCK]);
        }
    }

    /// The story: rows that had been deleted were counted after a restore, because a bit of the map was still set.
    #[test]
    fn a_map_of_what_everybody_can_see_is_known_by_its_name() {
        let is_map = |name: &str| is_visibility_map(OsStr::new(name));
        assert!(is_map("1259_vm") && is_map("1259_vm.1"));
        assert!(!is_map("1259") && !is_map("1259_fsm") && !is_map("pg_vm"));
    }

    #[test]
    fn only_the_last_part_of_a_name_says_what_a_file_is() {
        let bare = |name: &str| bare_name(&name.into()).map(|name| String::from_utf8(name).unwrap());
        assert_eq!(bare("base/5/INCREMENTAL.1259.1").as_deref(), Some("base/5/1259.1"));
        assert_eq!(bare("INCREMENTAL.x").as_deref(), Some("x"));
        assert_eq!(bare("INCREMENTAL.d/1259"), None);
        assert_eq!(bare("base/5/1259"), None);
    }
}
