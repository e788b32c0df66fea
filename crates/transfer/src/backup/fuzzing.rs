//! Entry points for fuzzing the readers of backups. Checksums are made right first, because a fuzzer does not find them: what
//! lies behind them must not trust anything either.

use iostall_model::backup::FileEntry;
use xxhash_rust::xxh3::xxh3_64;

use super::codec::Decoder;
use super::format::{
    Bundle, End, FRAME_HEADER_BYTES, FrameHeader, MANIFEST_HASH_BYTES, MANIFEST_HEADER_BYTES,
    STRIPE_HEADER_BYTES_MIN, StripeHeader, WAL_HEADER_BYTES, WalFrameHeader, WalHeader, entry_lines,
    frame_block_bytes, index_records, put_entry_line, put_index,
};
use super::manifest_file;
use super::pages::IncrementalFile;
use super::tar::TarReader;
use super::xbstream::{XbstreamPiece, XbstreamReader};

const BLOCK: u32 = 4096;
const FRAME: usize = 1 << 16;
const TAR_BLOCK: usize = 512;
const KEYS_CHECKSUM_AT: usize = 96;
const STORED_HASH_AT: usize = 64;
const CHECKSUM_BYTES: usize = 4;

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// The header of a stripe: what is accepted is the same when written again.
pub fn stripe_header(input: &[u8]) {
    let mut bytes = input.to_vec();
    bytes.resize(input.len().next_multiple_of(STRIPE_HEADER_BYTES_MIN).max(STRIPE_HEADER_BYTES_MIN), 0);
    let (first, keys) = bytes.split_at_mut(STRIPE_HEADER_BYTES_MIN);
    put(first, KEYS_CHECKSUM_AT, &crc32c::crc32c(keys).to_le_bytes());
    let at = STRIPE_HEADER_BYTES_MIN - CHECKSUM_BYTES;
    let checksum = crc32c::crc32c(&first[..at]);
    put(first, at, &checksum.to_le_bytes());
    if let Ok(header) = StripeHeader::decode(&bytes) {
        let again = header.encode();
        assert_eq!(StripeHeader::decode(&again).as_ref(), Ok(&header));
        assert!(again.len() as u64 == header.bytes() && again.len() <= bytes.len());
    }
}

pub fn frame(input: &[u8]) {
    let mut bytes = input.to_vec();
    let whole = input.len().max(FRAME_HEADER_BYTES).next_multiple_of(BLOCK as usize);
    bytes.resize(whole, 0);
    let hash = xxh3_64(&bytes[FRAME_HEADER_BYTES..]);
    put(&mut bytes, STORED_HASH_AT, &hash.to_le_bytes());
    let at = FRAME_HEADER_BYTES - CHECKSUM_BYTES;
    let checksum = crc32c::crc32c(&bytes[..at]);
    put(&mut bytes, at, &checksum.to_le_bytes());
    let Ok(header) = FrameHeader::decode(&bytes) else { return };
    let mut again = [0; FRAME_HEADER_BYTES];
    header.put(&mut again);
    assert_eq!(again[..], bytes[..FRAME_HEADER_BYTES]);
    assert!(frame_block_bytes(header.stored_length, BLOCK) > u64::from(header.stored_length));
    let Ok(mut decoder) = Decoder::new(header.set, None) else { return };
    let mut into = vec![0; FRAME];
    if let Ok((_, plain)) = decoder.decode(&mut bytes, header.stripe, &mut into) {
        assert_eq!(plain.len(), header.plain_length as usize);
    }
}

/// The content of bundles, indexes, entries and ends. The first byte says which.
pub fn content(input: &[u8]) {
    let Some((kind, plain)) = input.split_first() else { return };
    match kind % 4 {
        0 => {
            let Ok(bundle) = Bundle::decode(plain) else { return };
            let data: usize = bundle
                .pieces()
                .map(|(piece, data)| {
                    assert_eq!(piece.length as usize, data.len());
                    data.len()
                })
                .sum();
            assert!(data < plain.len());
        }
        1 => {
            let Ok(records) = index_records(plain) else { return };
            if let Ok(records) = records.collect::<Result<Vec<_>, _>>() {
                let frame_bytes = u32::try_from(plain.len()).unwrap_or(u32::MAX);
                assert_eq!(put_index(&records, frame_bytes), (plain.to_vec(), &[][..]));
            }
        }
        2 => {
            for entry in entry_lines::<FileEntry>(plain).flatten() {
                let mut line = Vec::new();
                assert_eq!(put_entry_line(&entry, &mut line), Ok(()));
                assert_eq!(entry_lines::<FileEntry>(&line).next(), Some(Ok(entry)));
            }
        }
        _ => {
            if let Ok(end) = End::decode(plain) {
                assert_eq!(end.encode()[..], *plain);
            }
        }
    }
}

/// A manifest that is not encrypted: what is accepted is the same when written again.
pub fn manifest(input: &[u8]) {
    let mut bytes = input.to_vec();
    bytes.resize(input.len().max(MANIFEST_HEADER_BYTES), 0);
    let at = MANIFEST_HEADER_BYTES - CHECKSUM_BYTES;
    let checksum = crc32c::crc32c(&bytes[..at]);
    put(&mut bytes, at, &checksum.to_le_bytes());
    let hash: [u8; MANIFEST_HASH_BYTES] = *blake3::hash(&bytes).as_bytes();
    bytes.extend_from_slice(&hash);
    let Ok(opened) = manifest_file::decode(bytes, None) else { return };
    let again = manifest_file::encode(&opened.manifest, None);
    let again = again.and_then(|again| manifest_file::decode(again, None));
    match again {
        Ok(again) => assert_eq!(again.manifest, opened.manifest),
        Err(error) => panic!("its own file is refused: {error}"),
    }
}

/// The header of a part of a relation: what is accepted has as many blocks as the file has room for, each once.
pub fn incremental_file(input: &[u8]) {
    let length = input.len() as u64;
    if let Ok(file) = IncrementalFile::parse(input, length, BLOCK) {
        assert_eq!(file.data_at + file.blocks.len() as u64 * u64::from(BLOCK), length);
        assert!(file.blocks.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(file.blocks.last().is_none_or(|last| *last < file.length_blocks()));
    }
}

/// An archive of `tar`: names that stay inside, and never more content than the archive has.
pub fn tar(input: &[u8]) {
    let mut bytes = input.to_vec();
    for header in bytes.chunks_exact_mut(TAR_BLOCK).filter(|block| block[257..262] == *b"ustar") {
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    let mut reader = TarReader::new(&bytes[..]);
    let (mut room, mut total) = (vec![0; FRAME], 0);
    while let Ok(Some(entry)) = reader.next_entry() {
        let name = entry.name.as_bytes();
        assert!(!name.starts_with(b"/") && name.split(|byte| *byte == b'/').all(|part| part != b".."));
        let mut left = entry.size_bytes;
        while let Ok(read @ 1..) = reader.read(&mut room) {
            left -= read as u64;
            total += read;
        }
        assert_eq!(left, reader.left());
    }
    assert!(total <= bytes.len());
}

/// The header of an archived file of the write-ahead log, and that of a frame behind it: what is accepted is the same when written
/// again.
pub fn wal_header(input: &[u8]) {
    let mut bytes = input.to_vec();
    bytes.resize(input.len().max(WAL_HEADER_BYTES), 0);
    let at = WAL_HEADER_BYTES - 8;
    let hash = xxh3_64(&bytes[..at]);
    put(&mut bytes, at, &hash.to_le_bytes());
    if let Ok(header) = WalHeader::decode(&bytes) {
        assert_eq!(WalHeader::decode(&header.encode()).as_ref(), Ok(&header));
    }
    if let Ok(frame) = WalFrameHeader::decode(&bytes[WAL_HEADER_BYTES..]) {
        assert_eq!(WalFrameHeader::decode(&frame.encode()), Ok(frame));
    }
}

/// The stream of mariadb-backup: files in order, with good names, and never more than the stream has.
pub fn xbstream(input: &[u8]) {
    let bytes = with_checksums(input);
    let mut reader = XbstreamReader::new(&bytes[..]);
    let (mut room, mut ends, mut total) = (vec![0; FRAME], Vec::<u64>::new(), 0);
    while let Ok(Some(piece)) = reader.next(&mut room) {
        match piece {
            XbstreamPiece::Begins => {
                assert!(reader.name(ends.len()).is_some_and(|name| !name.as_bytes().starts_with(b"/")));
                ends.push(0);
            }
            XbstreamPiece::Content { file, offset, length } => {
                assert!(offset >= ends[file] && length > 0);
                ends[file] = offset + length as u64;
                total += length;
            }
            XbstreamPiece::Ends { file, size_bytes } => assert!(size_bytes >= ends[file]),
        }
    }
    assert!(total <= bytes.len());
}

fn with_checksums(input: &[u8]) -> Vec<u8> {
    let (mut bytes, mut at) = (input.to_vec(), 0);
    let number = |from: &[u8]| from.try_into().map_or(0, u64::from_le_bytes);
    while let Some(head) = bytes.get(at..at + 14) {
        let path = u32::from_le_bytes([head[10], head[11], head[12], head[13]]) as usize;
        let kind = head[9];
        at = at.saturating_add(14).saturating_add(path);
        let Some(fields) = bytes.get(at..at.saturating_add(20)).filter(|_| kind == b'P') else {
            at = at.saturating_add(if kind == b'S' { 8 } else { 0 });
            continue;
        };
        let length = usize::try_from(number(&fields[..8])).unwrap_or(usize::MAX);
        let Some(content) = bytes.get(at + 20..(at + 20).saturating_add(length)) else { break };
        let sum = crc32fast::hash(content).to_le_bytes();
        put(&mut bytes, at + 16, &sum);
        at += 20 + length;
    }
    bytes
}
