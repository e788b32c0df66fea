use std::fs::File;
use std::path::Path;

use iostall_model::backup::Compression;

use super::*;
use crate::backup::format::{WalFacts, WalHeader};

/// Two megabytes and a bit: half of it is easily compressed, and the rest is not.
fn content() -> Vec<u8> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..(2 << 20) + 4711).map(|at| if at % 2_000_000 < 1_000_000 { 7 } else { next() }).collect()
}

fn written(path: &Path, plain: &[u8], compression: Compression) -> WalHeader {
    let file = File::create_new(path).unwrap();
    let mut writer = WalFileWriter::new(&file, compression).unwrap();
    writer.write(plain).unwrap();
    let Sums { plain_bytes, stored_bytes, plain_hash, stored_hash } = writer.sums();
    let header = WalHeader {
        name: "00000002.history".to_owned(),
        system_identifier: 9,
        plain_bytes,
        stored_bytes,
        plain_hash,
        stored_hash,
        facts: WalFacts::default(),
    };
    write_header(&file, &header).unwrap();
    header
}

fn read(path: &Path) -> Result<Vec<u8>, WalFileError> {
    let file = File::open(path).unwrap();
    let header = read_header(&file)?;
    let mut plain = Vec::new();
    read_content(&file, &header, &mut |part| {
        plain.extend_from_slice(part);
        Ok(())
    })?;
    Ok(plain)
}

#[test]
fn what_was_written_reads_back_with_every_compression() {
    let directory = tempfile::tempdir().unwrap();
    for (number, compression) in
        [Compression::None, Compression::Zstd(1), Compression::Lz4].into_iter().enumerate()
    {
        for (length, plain) in [(0, Vec::new()), (1, vec![3]), (2, content())] {
            let path = directory.path().join(format!("{number}.{length}"));
            let header = written(&path, &plain, compression);
            assert_eq!(header.plain_bytes, plain.len() as u64);
            assert_eq!(read(&path).unwrap(), plain);
            let is_smaller = header.stored_bytes < header.plain_bytes * 3 / 4;
            assert_eq!(is_smaller, compression != Compression::None && length == 2);
        }
    }
}

/// The story: one bit of an archived segment had flipped, and the recovery took it for the end of the log.
#[test]
fn every_flipped_byte_and_every_cut_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("whole");
    written(&path, &b"record after record; ".repeat(300), Compression::Zstd(1));
    let whole = std::fs::read(&path).unwrap();
    let damaged = directory.path().join("damaged");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&damaged, &bytes).unwrap();
        let error = read(&damaged).unwrap_err();
        assert!(error.is_damage(), "byte {at}: {error}");
        std::fs::write(&damaged, &whole[..at]).unwrap();
        assert!(read(&damaged).unwrap_err().is_damage(), "{at} bytes");
    }
    std::fs::write(&damaged, [&whole[..], b"x"].concat()).unwrap();
    assert!(matches!(read(&damaged), Err(WalFileError::Long)));
}
