//! Increments of a stream of files, and of standard input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_model::backup::{FileMetadata, SourceKind, SourceRecord, StoredName};

use super::{content, end};
use crate::Progress;
use crate::backup::create::{
    Base, CreateOptions, Item, Made, PreparedSource, SourceRequest, What, create, prepare,
};
use crate::backup::read::open;
use crate::backup::tests::increments::{Draw, FRAME, assert_comes_back, options};
use crate::backup::xbstream::XbstreamReader;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Backs up `source` as `name`, on top of the set at `base` if there is one.
fn back_up(source: SourceRequest, place: &Path, name: &str, base: Option<&Made>) -> Made {
    let targets = ["a", "b"].map(|stripe| place.join(format!("{name}.{stripe}")));
    let base = base.and_then(|made| made.manifest_path.clone());
    let base = base.map(|path| Arc::new(Base::of(&open(&[path], None).unwrap()).unwrap()));
    let options = CreateOptions { base, ..options(&targets) };
    let prepared = prepare(vec![source], &options.targets, &Progress::default()).unwrap();
    create(&options, prepared, &Progress::default()).unwrap()
}

fn own_bytes(made: &Made) -> u64 {
    made.manifest.totals.source_bytes - made.manifest.totals.base_bytes
}

/// The files in chunks of `chunk` bytes at most, and between two of them a piece of the log.
fn stream(files: &Files, log: &[u8], chunk: usize) -> SourceRequest {
    let mut bytes = Vec::new();
    let mut logged = 0;
    for (name, whole) in files {
        let name = name.to_str().unwrap();
        for (number, part) in whole.chunks(chunk).enumerate() {
            bytes.extend(content(name, (number * chunk) as u64, part));
            if logged < log.len() {
                let next = (logged + 10_000).min(log.len());
                bytes.extend(content("ib_logfile0", logged as u64, &log[logged..next]));
                logged = next;
            }
        }
        bytes.extend(end(name));
    }
    bytes.extend(content("ib_logfile0", logged as u64, &log[logged..]));
    bytes.extend(end("ib_logfile0"));
    let what = What::Files(Box::new(XbstreamReader::new(std::io::Cursor::new(bytes))));
    let item =
        Item::new(StoredName::default(), what, FileMetadata { mode: 0o600, ..FileMetadata::default() });
    SourceRequest::Prepared(Box::new(PreparedSource {
        record: SourceRecord {
            identity: None,
            named: "a server".into(),
            prefix: StoredName::default(),
            kind: SourceKind::Stream,
            read_until_utc: iostall_measure::clock::utc_now(),
        },
        items: vec![item],
        last: Vec::new(),
        live: None,
        page_bytes: None,
        skipped_specials: 0,
        content_warnings: Vec::new(),
    }))
}

/// The story: an increment of a MariaDB stored everything again. The files of its stream were compared with nothing, and their frames
/// began wherever the log had come between.
#[test]
fn files_that_come_in_a_stream_are_stored_where_they_changed() {
    let directory = tempfile::tempdir().unwrap();
    let mut draw = Draw(11);
    let mut files: Files = BTreeMap::new();
    for (name, size) in
        [("shop/orders.ibd", 13 * FRAME), ("shop/lines.ibd", 6 * FRAME + 4096), ("mysql/user.frm", 900)]
    {
        files.insert(name.into(), draw.content(size));
    }
    for number in 0..20 {
        let size = 100 + draw.below(3000);
        files.insert(format!("shop/{number}.frm").into(), draw.content(size));
    }
    let log = draw.content(35_000);
    let first = back_up(stream(&files, &log, 5 * FRAME + 20_000), directory.path(), "0", None);
    // One page, one small file, one new file, and another log that comes between elsewhere.
    let page = 7 * FRAME + 16_384;
    files.get_mut(Path::new("shop/orders.ibd")).unwrap()[page..page + 16_384].fill(7);
    files.insert("shop/3.frm".into(), draw.content(777));
    files.insert("shop/new.frm".into(), draw.content(888));
    let log = draw.content(25_000);
    let second = back_up(stream(&files, &log, 3 * FRAME + 12_288), directory.path(), "1", Some(&first));
    let changed = (FRAME + 777 + 888 + log.len()) as u64;
    // Where the log comes between, a frame that it divides is stored again.
    let divided = 4 * FRAME as u64;
    let own = own_bytes(&second);
    assert!((changed..=changed + divided).contains(&own), "{own}, of them {changed} changed");
    let third = back_up(stream(&files, &log, 3 * FRAME + 12_288), directory.path(), "2", Some(&second));
    assert_eq!(own_bytes(&third), 0, "the same stream again");
    let mut wanted = files.clone();
    wanted.insert("ib_logfile0".into(), log);
    for made in [&second, &third] {
        assert_comes_back(made.manifest_path.as_ref().unwrap(), &wanted, None);
    }
}

#[test]
fn of_a_stream_what_differs_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let mut dump = Draw(5).content(20 * FRAME + 1234);
    let input = |dump: &[u8]| SourceRequest::Stream {
        named: "standard input".into(),
        stream: Box::new(std::io::Cursor::new(dump.to_vec())),
    };
    let first = back_up(input(&dump), directory.path(), "0", None);
    dump[9 * FRAME + 5] ^= 1;
    dump.extend([7; 5000]);
    let second = back_up(input(&dump), directory.path(), "1", Some(&first));
    assert_eq!(own_bytes(&second), (FRAME + 5000) as u64);
    assert_comes_back(
        second.manifest_path.as_ref().unwrap(),
        &BTreeMap::from([(PathBuf::new(), dump)]),
        None,
    );
}
