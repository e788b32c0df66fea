//! Backups of real files.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use iostall_engine::files::path_from_bytes;
use iostall_model::backup::{FileMetadata, SourceKind, StoredName};

use super::read_back::ReadBack;
use super::*;
use crate::backup::codec::{Lock, PAIRS, Unlock};
use crate::backup::format::FrameKind;
use crate::backup::manifest_file;
use crate::pipeline::StageFailure;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    /// Stripes in as many directories of their own.
    fn stripes(&self, count: usize) -> Vec<PathBuf> {
        let path = |index| {
            let directory = self.path(&format!("b{index}"));
            fs::create_dir(&directory).unwrap();
            directory.join(format!("shop{index}.iob"))
        };
        (0..count).map(path).collect()
    }
}

/// The tree that a database directory is: large files, small ones, empty ones, links, holes, hostile names.
fn fill_with_everything(place: &Place) {
    fs::create_dir_all(place.data("base/1/empty directory")).unwrap();
    fs::write(place.data("base/1/large"), content(1, 1_000_003)).unwrap();
    fs::write(place.data("base/1/exact"), content(2, 512 << 10)).unwrap();
    for (name, size) in [("a", 1), ("b", 4096), ("c", 16_384), ("d", 16_385), ("e", 65_536), ("empty", 0)] {
        fs::write(place.data(name), content(3, size)).unwrap();
    }
    let sparse = fs::File::create(place.data("sparse")).unwrap();
    sparse.set_len(10 << 20).unwrap();
    sparse.write_all_at(&content(4, 70_000), 3 << 20).unwrap();
    fs::File::create(place.data("all hole")).unwrap().set_len(5_000_001).unwrap();
    symlink("base/1/large", place.data("link")).unwrap();
    fs::hard_link(place.data("base/1/large"), place.data("second name")).unwrap();
    for name in [&b"new\nline"[..], b"no \xff text", b"-rf", "\u{e4}\u{1f980}".as_bytes(), b"..."] {
        fs::write(place.path("data").join(path_from_bytes(name.to_vec())), name).unwrap();
    }
    fs::write(place.data(&"long".repeat(60)), b"long").unwrap();
    fs::set_permissions(place.data("a"), fs::Permissions::from_mode(0o4750)).unwrap();
}

#[test]
fn every_byte_of_a_tree_is_found_again_on_one_stripe_and_on_three() {
    for (count, compression) in [(1, Compression::Zstd(1)), (3, Compression::Lz4), (2, Compression::None)] {
        let place = Place::new();
        fill_with_everything(&place);
        let stripes = place.stripes(count);
        let made =
            back_up(&[&place.path("data")], &CreateOptions { compression, ..options(&stripes) }).unwrap();
        let manifest = made.manifest_path.clone().unwrap();
        assert_eq!(manifest, place.path("b0/shop0.iob.manifest"));
        let read = ReadBack::of(&manifest, &stripes);
        assert_eq!(read.manifest, made.manifest);
        read.assert_is(&place.path("data"));
        assert_eq!(read.entry(b"a").unwrap().metadata.mode, 0o4750);
        assert_eq!(read.entry(b"").unwrap().kind, iostall_model::backup::FileKind::Directory);
        // Names that are no text are stored as they are, in a document and back.
        assert_eq!(read.content("-rf"), b"-rf");
        assert!(read.entry(b"no \xff text").is_some() && read.entry(b"new\nline").is_some());
        let totals = made.manifest.totals;
        let sparse = read.entry(b"sparse").unwrap();
        assert!(sparse.data_bytes < 1 << 20, "holes are not stored: {}", sparse.data_bytes);
        assert!(totals.hole_bytes >= 9 << 20, "{}", totals.hole_bytes);
        assert_eq!(totals.source_bytes + totals.hole_bytes, totals.bytes);
        assert!(made.manifest.warnings.is_empty(), "{:?}", made.manifest.warnings);
        // Beside each stripe of another directory there is the same manifest, and nothing else.
        for index in 0..count {
            let names = names_in(&place.path(&format!("b{index}")));
            let mut expected = [format!("shop{index}.iob"), "shop0.iob.manifest".to_owned()];
            expected.sort();
            assert_eq!(names, expected);
            let copy = fs::read(place.path(&format!("b{index}/shop0.iob.manifest"))).unwrap();
            assert_eq!(copy, fs::read(&manifest).unwrap());
        }
    }
}

#[test]
fn five_thousand_small_files_share_frames() {
    let place = Place::new();
    for index in 0..5000u64 {
        let size = usize::try_from(index * 7 % 3000).unwrap();
        fs::write(place.data(&format!("{index}")), content(index, size)).unwrap();
    }
    let stripes = place.stripes(2);
    let made = back_up(&[&place.path("data")], &options(&stripes)).unwrap();
    let read = ReadBack::of(&made.manifest_path.unwrap(), &stripes);
    read.assert_is(&place.path("data"));
    assert_eq!(read.manifest.files.len(), 5001);
    assert!(read.frames[&FrameKind::Bundle.code()] < 200, "{:?}", read.frames);
    assert_eq!(read.frames.get(&FrameKind::Data.code()), None);
}

#[test]
fn sixty_four_stripes_take_few_frames_and_an_empty_source_takes_none() {
    let place = Place::new();
    let stripes = place.stripes(64);
    let made = back_up(&[&place.path("data")], &options(&stripes)).unwrap();
    assert_eq!(made.manifest.totals.source_bytes, 0);
    ReadBack::of(&made.manifest_path.unwrap(), &stripes).assert_is(&place.path("data"));
    fs::write(place.data("x"), content(1, 3_000_000)).unwrap();
    let more: Vec<_> = stripes.iter().map(|stripe| stripe.with_extension("more")).collect();
    let made = back_up(&[&place.path("data")], &options(&more)).unwrap();
    ReadBack::of(&made.manifest_path.unwrap(), &more).assert_is(&place.path("data"));
}

#[test]
fn several_sources_have_names_of_their_own_and_one_file_is_itself() {
    let place = Place::new();
    fs::write(place.data("x"), content(1, 300_000)).unwrap();
    fs::write(place.path("more"), content(2, 10)).unwrap();
    let stripes = place.stripes(1);
    let made = back_up(&[&place.path("data"), &place.path("more")], &options(&stripes)).unwrap();
    let read = ReadBack::of(&made.manifest_path.unwrap(), &stripes);
    read.assert_is(place.dir.path());
    let names: Vec<_> = read.manifest.files.iter().map(|entry| entry.name.to_string()).collect();
    assert_eq!(names, ["data", "data/x", "more"]);
    let sources: Vec<_> = read.manifest.files.iter().map(|entry| entry.source).collect();
    assert_eq!(sources, [0, 0, 1]);
}

/// A stream has no size: it ends where it ends, also at the end of a request.
#[test]
fn a_stream_is_read_to_its_end_whatever_its_length() {
    for size in [0, 1, 65_536, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 1_500_000] {
        let place = Place::new();
        let stripes = place.stripes(2);
        let data = content(9, size);
        let request = SourceRequest::Stream {
            named: "-".to_owned(),
            stream: Box::new(std::io::Cursor::new(data.clone())),
        };
        let options = options(&stripes);
        let sources = prepare(vec![request], &options.targets, &Progress::default()).unwrap();
        let made = create(&options, sources, &Progress::default()).unwrap();
        let read = ReadBack::of(&made.manifest_path.unwrap(), &stripes);
        assert!(read.content("stdin") == data, "{size} bytes");
        assert_eq!(made.manifest.sources[0].kind, SourceKind::Stream);
    }
}

/// What a server hands over: content that exists nowhere, a look at every page, and a label at the end.
struct Server {
    ended: Arc<Mutex<u32>>,
}

impl Live for Server {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        *self.ended.lock().unwrap() += 1;
        let generated = |name: &str, size| {
            Item::new(name.into(), What::Generated(content(5, size)), FileMetadata::default())
        };
        Ok(LiveEnd {
            items: vec![generated("backup_label", 200), generated("pg_wal/1", 700_000)],
            kind: SourceKind::Sqlite { version: "3".into() },
            warnings: vec!["the log is long".into()],
            content_warnings: Vec::new(),
        })
    }
}

struct Look(Mutex<Vec<(String, u64, usize)>>);

impl Inspect for Look {
    fn inspect(&self, name: &StoredName, offset: u64, bytes: &[u8]) {
        self.0.lock().unwrap().push((name.to_string(), offset, bytes.len()));
    }
}

#[test]
fn a_live_source_is_looked_at_and_ended_after_everything_was_read() {
    let place = Place::new();
    fs::write(place.data("large"), content(1, 600_000)).unwrap();
    fs::write(place.data("small"), content(2, 8192)).unwrap();
    let stripes = place.stripes(2);
    let options = options(&stripes);
    let mut sources =
        prepare(vec![SourceRequest::Path(place.path("data"))], &options.targets, &Progress::default())
            .unwrap();
    let look = Arc::new(Look(Mutex::default()));
    let ended = Arc::new(Mutex::new(0));
    let mut source = sources.remove(0);
    let inspected = |item: Item| item.inspected_by(look.clone());
    source.items = source.items.into_iter().map(inspected).collect();
    let control = source.items.pop().unwrap();
    source.last.push(control);
    source.live = Some(Box::new(Server { ended: ended.clone() }));
    source.page_bytes = Some(8192);
    let made = create(&options, vec![source], &Progress::default()).unwrap();
    assert_eq!((*ended.lock().unwrap(), made.page_bytes), (1, Some(8192)));
    let read = ReadBack::of(&made.manifest_path.unwrap(), &stripes);
    assert_eq!(read.content("backup_label"), content(5, 200));
    assert!(read.content("pg_wal/1") == content(5, 700_000));
    assert_eq!(read.manifest.warnings, ["the log is long"]);
    assert_eq!(read.manifest.sources[0].kind, SourceKind::Sqlite { version: "3".into() });
    let mut seen = std::mem::take(&mut *look.0.lock().unwrap());
    seen.sort();
    let large = |offset: usize, length| ("large".to_owned(), offset as u64, length);
    let whole = 256 << 10;
    let expected = vec![
        large(0, whole),
        large(whole, whole),
        large(2 * whole, 600_000 - 2 * whole),
        ("small".to_owned(), 0, 8192),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn to_nowhere_everything_is_counted_and_nothing_is_written() {
    let place = Place::new();
    fill_with_everything(&place);
    let sources = prepare(vec![SourceRequest::Path(place.path("data"))], &[], &Progress::default()).unwrap();
    let progress = Progress::default();
    let made = create(&options(&[]), sources, &progress).unwrap();
    let now = progress.now();
    // The display had counted none of the small files as done.
    assert_eq!((now.files_done, now.bytes_done), (now.files_total, now.bytes_total));
    assert_eq!(now.files_total, made.counts.files);
    let totals = made.manifest.totals;
    assert_eq!(made.manifest_path, None);
    assert!(totals.source_bytes > 1_500_000 && totals.compressed_bytes < totals.source_bytes);
    assert_eq!(made.stripes.len(), 1);
    assert_eq!(made.stripes[0].bytes, totals.stored_bytes);
    assert_eq!(names_in(place.dir.path()), ["data"]);
}

/// A log grows and a table is truncated while it is backed up. A user must learn of it, but the backup goes on.
#[test]
fn a_file_that_shrank_or_went_since_it_was_found_is_named_and_the_rest_is_whole() {
    let place = Place::new();
    for name in ["gone", "gone large", "kept", "shrunk", "grown", "grown large"] {
        let size = if name.ends_with("large") || name == "shrunk" { 700_000 } else { 5000 };
        fs::write(place.data(name), content(7, size)).unwrap();
    }
    let stripes = place.stripes(1);
    let options = options(&stripes);
    let sources =
        prepare(vec![SourceRequest::Path(place.path("data"))], &options.targets, &Progress::default())
            .unwrap();
    fs::remove_file(place.data("gone")).unwrap();
    fs::remove_file(place.data("gone large")).unwrap();
    fs::File::options().write(true).open(place.data("shrunk")).unwrap().set_len(300_001).unwrap();
    for name in ["grown", "grown large"] {
        fs::File::options().append(true).open(place.data(name)).unwrap().write_all(b"more").unwrap();
    }
    let made = create(&options, sources, &Progress::default()).unwrap();
    let read = ReadBack::of(&made.manifest_path.unwrap(), &stripes);
    assert!(read.entry(b"gone").is_none() && read.entry(b"gone large").is_none());
    assert!(read.content("kept") == content(7, 5000));
    assert!(read.content("shrunk") == &content(7, 700_000)[..300_001]);
    assert!(read.content("grown") == content(7, 5000));
    let warnings = &read.manifest.warnings;
    assert_eq!(made.counts.changed, 3, "{warnings:?}");
    for name in ["gone vanished", "gone large vanished", "grown changed"] {
        assert!(warnings.iter().any(|warning| warning.starts_with(name)), "{name}: {warnings:?}");
    }
}

/// The stripes of an encrypted set lay in a place that others can read: names, sizes and content must not be found in them.
#[test]
fn an_encrypted_set_opens_with_its_key_and_shows_nothing_without() {
    let place = Place::new();
    fs::write(place.data("customers.txt"), b"ada lovelace ".repeat(50_000)).unwrap();
    fs::write(place.data("small.txt"), b"charles babbage").unwrap();
    let [(public, secret), ..] = PAIRS;
    let key_file = place.path("key");
    fs::write(&key_file, secret).unwrap();
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    let stripes = place.stripes(2);
    let lock = Some(Lock::Recipients(vec![public.to_owned()]));
    let compression = Compression::None;
    let options = CreateOptions { compression, lock, ..options(&stripes) };
    let made = back_up(&[&place.path("data")], &options).unwrap();
    let manifest = fs::read(made.manifest_path.unwrap()).unwrap();
    assert!(manifest_file::decode(manifest.clone(), None).is_err());
    for bytes in stripes.iter().map(|path| fs::read(path).unwrap()).chain([manifest.clone()]) {
        for word in [&b"lovelace"[..], b"babbage", b"customers", b"small.txt"] {
            assert!(!bytes.windows(word.len()).any(|found| found == word));
        }
    }
    let unlock = Unlock::KeyFiles(vec![key_file]);
    let opened = manifest_file::decode(manifest, Some(&unlock)).unwrap();
    let read = ReadBack::with_keys(opened.manifest, opened.keys.as_ref(), &stripes);
    read.assert_is(&place.path("data"));
}
