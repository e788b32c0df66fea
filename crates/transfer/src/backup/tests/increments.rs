//! Increments: chains of them are restored as the source was, and what they are based on cannot be missing, another or damaged
//! without being named.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use iostall_model::backup::Compression;

use super::*;
use crate::backup::codec::{Lock, Passphrase};
use crate::backup::create::{Base, CreateError, CreateOptions, Made, SourceRequest, create, prepare};
use crate::backup::rebuild::rebuild;

pub(in crate::backup) const FRAME: usize = 64 << 10;

/// Numbers that look random and are the same in every run.
pub(in crate::backup) struct Draw(pub(in crate::backup) u64);

impl Draw {
    pub(in crate::backup) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most.max(1)
    }

    pub(in crate::backup) fn content(&mut self, size: usize) -> Vec<u8> {
        let seed = self.below(251);
        (0..size).map(|at| ((at * 7 + seed * 31 + at / 97) % 251).to_le_bytes()[0]).collect()
    }
}

pub(in crate::backup) fn options(targets: &[PathBuf]) -> CreateOptions {
    CreateOptions {
        targets: targets.to_vec(),
        compression: Compression::Zstd(1),
        frame_bytes: Some(u32::try_from(FRAME).unwrap()),
        transfer_bytes: Some(u32::try_from(FRAME * 4).unwrap()),
        workers: Some(2),
        ..CreateOptions::default()
    }
}

/// Backs up `source` onto two stripes called `name`, on top of the set at `base` if there is one.
fn back_up(
    source: &Path,
    place: &Path,
    name: &str,
    base: Option<&Path>,
    lock: Option<&Lock>,
    unlock: Option<&Unlock>,
) -> Result<Made, CreateError> {
    let targets = ["a", "b"].map(|stripe| place.join(format!("{name}.{stripe}")));
    let base = base.map(|base| Base::of(&open(&[base.to_owned()], unlock).unwrap())).transpose()?;
    let options = CreateOptions { base: base.map(Arc::new), lock: lock.cloned(), ..options(&targets) };
    let requests = vec![SourceRequest::Path(source.to_owned())];
    create(&options, prepare(requests, &options.targets, &Progress::default())?, &Progress::default())
}

fn made(source: &Path, place: &Path, name: &str, base: Option<&Path>) -> PathBuf {
    back_up(source, place, name, base, None, None).unwrap().manifest_path.unwrap()
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A tree with small files, files of several frames, one with holes and an empty one.
fn tree(at: &Path, draw: &mut Draw) {
    for number in 0..8 {
        let size = draw.below(6 * FRAME);
        write(&at.join(format!("large/{number}")), &draw.content(size));
        let size = draw.below(FRAME / 5);
        write(&at.join(format!("small/{number}")), &draw.content(size));
    }
    write(&at.join("empty"), b"");
    let sparse = fs::File::create(at.join("sparse")).unwrap();
    for frame in [0, 3, 9] {
        let content = draw.content(FRAME);
        std::os::unix::fs::FileExt::write_all_at(&sparse, &content, (frame * FRAME) as u64).unwrap();
    }
    sparse.set_len((12 * FRAME) as u64).unwrap();
}

/// What happens to files from one night to the next.
fn change(at: &Path, draw: &mut Draw) {
    for _ in 0..6 {
        let kind = ["large", "small"][draw.below(2)];
        let path = at.join(format!("{kind}/{}", draw.below(10)));
        let mut content = fs::read(&path).unwrap_or_default();
        match draw.below(8) {
            // A page.
            0 | 1 if content.len() > 8192 => {
                let from = draw.below(content.len() - 8192);
                content[from..from + 8192].fill(draw.below(256).to_le_bytes()[0]);
            }
            2 => {
                let size = draw.below(3 * FRAME);
                content.extend(draw.content(size));
            }
            3 => content.truncate(draw.below(content.len() + 1)),
            4 => {
                let _ = fs::remove_file(&path);
                continue;
            }
            5 => {
                if path.exists() {
                    fs::rename(&path, at.join(format!("{kind}/{}", draw.below(10)))).unwrap();
                }
                continue;
            }
            // From small to large and back.
            6 => {
                let size = draw.below(4 * FRAME);
                content = draw.content(size);
            }
            _ => content.insert(0, 7),
        }
        write(&path, &content);
    }
    let sparse = fs::OpenOptions::new().write(true).open(at.join("sparse")).unwrap();
    let content = draw.content(5000);
    let offset = (draw.below(11) * FRAME + draw.below(FRAME)) as u64;
    std::os::unix::fs::FileExt::write_all_at(&sparse, &content, offset).unwrap();
}

/// All files below `at` with their content.
pub(in crate::backup) fn files(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    // One file alone has the name that it was restored to.
    if at.is_file() {
        return BTreeMap::from([(PathBuf::new(), fs::read(at).unwrap())]);
    }
    let mut all = BTreeMap::new();
    let mut left = vec![at.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                all.insert(path.strip_prefix(at).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[track_caller]
pub(in crate::backup) fn assert_comes_back(
    manifest: &Path,
    source: &BTreeMap<PathBuf, Vec<u8>>,
    unlock: Option<&Unlock>,
) {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("to");
    let from = [manifest.to_owned()];
    restored(&from, &to, unlock).unwrap();
    assert!(files(&to) == *source, "{}", manifest.display());
    assert_eq!(damage(&from, unlock, true), Vec::<String>::new());
    assert_eq!(damage(&from, unlock, false), Vec::<String>::new());
}

#[test]
fn each_of_a_chain_of_increments_comes_back_as_the_source_was() {
    let chains = if std::env::var_os("IOSTALL_TEST_LONG").is_some() { 40 } else { 3 };
    for seed in 0..chains {
        let directory = tempfile::tempdir().unwrap();
        let (source, place) = (directory.path().join("source"), directory.path().join("b"));
        fs::create_dir(&place).unwrap();
        let mut draw = Draw(seed);
        tree(&source, &mut draw);
        let mut sets = vec![(made(&source, &place, "0", None), files(&source))];
        for night in 1..=5 {
            change(&source, &mut draw);
            let base = sets.last().unwrap().0.clone();
            sets.push((made(&source, &place, &night.to_string(), Some(&base)), files(&source)));
        }
        for (manifest, content) in &sets {
            assert_comes_back(manifest, content, None);
        }
        // A second increment on the first set, without those between.
        let differential = made(&source, &place, "d", Some(&sets[0].0));
        let content = &sets[5].1;
        assert_comes_back(&differential, content, None);
        for number in 1..=5 {
            for end in ["a", "b", "a.manifest"] {
                fs::remove_file(place.join(format!("{number}.{end}"))).unwrap();
            }
        }
        assert_comes_back(&differential, content, None);
    }
}

#[test]
fn what_did_not_change_is_not_stored_again() {
    let directory = tempfile::tempdir().unwrap();
    let (source, place) = (directory.path().join("source"), directory.path().join("b"));
    fs::create_dir(&place).unwrap();
    tree(&source, &mut Draw(7));
    let first = back_up(&source, &place, "0", None, None, None).unwrap();
    let base = first.manifest_path.unwrap();
    let second = back_up(&source, &place, "1", Some(&base), None, None).unwrap();
    let totals = second.manifest.totals;
    assert_eq!(totals.base_bytes, totals.source_bytes);
    assert_eq!(totals.source_bytes, first.manifest.totals.source_bytes);
    assert_eq!(totals.compressed_bytes, 0);
    // One page of a large file is one frame.
    let path = source.join("sparse");
    let mut content = fs::read(&path).unwrap();
    content[3 * FRAME + 100] ^= 1;
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &content[3 * FRAME..3 * FRAME + 200], 3 * FRAME as u64)
        .unwrap();
    let base = second.manifest_path.unwrap();
    let third = back_up(&source, &place, "2", Some(&base), None, None).unwrap();
    let totals = third.manifest.totals;
    assert_eq!(totals.source_bytes - totals.base_bytes, FRAME as u64);
    assert_eq!(third.manifest.bases.len(), 2);
    assert_comes_back(&third.manifest_path.unwrap(), &files(&source), None);
}

/// A base and an increment on it, with a file that comes from the base and one that does not.
fn pair(directory: &Path, lock: Option<&Lock>, unlock: Option<&Unlock>) -> [PathBuf; 2] {
    let source = directory.join("source");
    write(&source.join("kept"), &vec![7; FRAME]);
    write(&source.join("small"), b"a small file");
    let make = |name: &str, base: Option<&Path>| {
        let place = directory.join(name);
        fs::create_dir(&place).unwrap();
        back_up(&source, &place, "set", base, lock, unlock).unwrap().manifest_path.unwrap()
    };
    let base = make("one", None);
    write(&source.join("new"), b"another small file");
    let increment = make("two", Some(&base));
    [base, increment]
}

fn stripes_of(manifest: &Path) -> [PathBuf; 2] {
    ["set.a", "set.b"].map(|name| manifest.with_file_name(name))
}

#[test]
fn every_flipped_byte_of_an_increment_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [_, increment] = pair(directory.path(), None, None);
    let is_long = std::env::var_os("IOSTALL_TEST_LONG").is_some();
    for path in stripes_of(&increment).iter().chain([&increment]) {
        let whole = fs::read(path).unwrap();
        for at in 0..whole.len() {
            if !is_long && at % 4096 > 300 && at % 397 != 0 && at % 4096 <= 4090 {
                continue;
            }
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(path, &flipped).unwrap();
            let named = damage(std::slice::from_ref(&increment), None, false);
            assert!(!named.is_empty(), "byte {at} of {} is not named", path.display());
        }
        fs::write(path, &whole).unwrap();
    }
    assert_eq!(damage(&[increment], None, false), Vec::<String>::new());
}

#[track_caller]
fn assert_names(increment: &Path, words: &str) {
    let from = [increment.to_owned()];
    let found = damage(&from, None, false);
    assert!(found.iter().any(|line| line.contains(words)), "{words}: {found:?}");
    let to = increment.with_file_name("to");
    let error = restored(&from, &to, None).unwrap_err();
    assert!(error.damage().iter().any(|one| one.message.contains(words)), "{words}: {error}");
    assert!(!to.exists());
}

#[test]
fn a_base_that_is_missing_another_or_damaged_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [base, increment] = pair(directory.path(), None, None);
    let id = open(std::slice::from_ref(&base), None).unwrap().manifest.set.to_string();
    let place = base.parent().unwrap();
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(place, &elsewhere).unwrap();
    assert_names(&increment, &format!("set {id} of "));
    assert_names(&increment, "is missing");
    let set = open_with(std::slice::from_ref(&increment), std::slice::from_ref(&elsewhere), None).unwrap();
    assert_eq!(set.chain.damage, Vec::new());
    // A whole set of other content in its place.
    fs::create_dir(place).unwrap();
    made(&directory.path().join("source"), place, "set", None);
    assert_names(&increment, "is missing");
    // One that claims its id.
    for path in stripes_of(&base).iter().chain([&base]) {
        fs::copy(elsewhere.join(path.file_name().unwrap()), path).unwrap();
    }
    assert_eq!(damage(std::slice::from_ref(&increment), None, false), Vec::<String>::new());
    let rewritten = rewritten(&base);
    fs::write(&base, rewritten).unwrap();
    assert_names(&increment, "is not what it was");
    fs::copy(elsewhere.join("set.a.manifest"), &base).unwrap();
    // A stripe that is missing, and a frame that is damaged.
    let stripe = stripes_of(&base).into_iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let whole = fs::read(&stripe).unwrap();
    fs::remove_file(&stripe).unwrap();
    assert_names(&increment, "the stripe is missing");
    let mut flipped = whole.clone();
    flipped[4096 + 200] ^= 1;
    fs::write(&stripe, flipped).unwrap();
    assert_names(&increment, "checksum does not match");
    fs::write(&stripe, whole).unwrap();
    assert_comes_back(&increment, &files(&directory.path().join("source")), None);
}

/// The manifest with another end of a stripe.
fn rewritten(manifest: &Path) -> Vec<u8> {
    let mut content = open(&[manifest.to_owned()], None).unwrap().manifest;
    content.stripes[0].end_digest.0[0] ^= 1;
    crate::backup::manifest_file::encode(&content, None).unwrap()
}

#[test]
fn an_encrypted_chain_needs_its_key_and_no_increment_on_it_is_readable() {
    let directory = tempfile::tempdir().unwrap();
    let passphrase = Passphrase::from("a passphrase".to_owned());
    let (lock, unlock) = (Lock::Passphrase(passphrase.clone()), Unlock::Passphrase(passphrase));
    let [base, increment] = pair(directory.path(), Some(&lock), Some(&unlock));
    let source = directory.path().join("source");
    assert_comes_back(&increment, &files(&source), Some(&unlock));
    assert!(matches!(open(std::slice::from_ref(&increment), None), Err(ReadError::Keys(_))));
    let error = back_up(&source, directory.path(), "plain", Some(&base), None, Some(&unlock)).unwrap_err();
    assert!(matches!(error, CreateError::NotLocked), "{error}");
    // What it is based on is known without the key.
    let place = increment.parent().unwrap().to_owned();
    let found = crate::backup::catalog::scan(&[place], None).unwrap();
    let set = open(&[base], Some(&unlock)).unwrap().manifest.set;
    assert_eq!(found[0].base, Some(set));
}

#[test]
fn a_manifest_of_an_increment_is_made_again_with_what_it_is_based_on() {
    let directory = tempfile::tempdir().unwrap();
    let [_, increment] = pair(directory.path(), None, None);
    let before = open(std::slice::from_ref(&increment), None).unwrap().manifest;
    fs::remove_file(&increment).unwrap();
    let rebuilt = rebuild(&stripes_of(&increment), None, None, "1").unwrap();
    let (found, wanted) = (rebuilt.manifest.totals, before.totals);
    assert_eq!(rebuilt.manifest.bases, before.bases);
    assert_eq!((found.source_bytes, found.base_bytes), (wanted.source_bytes, wanted.base_bytes));
    assert_comes_back(&increment, &files(&directory.path().join("source")), None);
}

#[test]
fn a_set_without_digests_and_other_frames_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = writer::Made::tree(2).write(directory.path());
    let error = Base::of(&open(on_disk.named(), None).unwrap()).unwrap_err();
    assert!(matches!(error, CreateError::NoDigests { .. }) && error.hint().is_some(), "{error}");
    let [base, _] = pair(directory.path(), None, None);
    let base = Some(Arc::new(Base::of(&open(&[base], None).unwrap()).unwrap()));
    let other = CreateOptions { base, frame_bytes: Some(1 << 20), ..CreateOptions::default() };
    assert!(other.settings().unwrap_err().to_string().contains("those of its base"));
}
