mod increments;

use std::io::Cursor;

use super::*;

fn chunk(kind: u8, path: &[u8]) -> Vec<u8> {
    let length = u32::try_from(path.len()).unwrap().to_le_bytes();
    [&b"XBSTCK01"[..], &[0, kind], &length, path].concat()
}

fn content(path: &str, offset: u64, bytes: &[u8]) -> Vec<u8> {
    let (length, sum) = (bytes.len() as u64, crc32fast::hash(bytes));
    let head = [&length.to_le_bytes()[..], &offset.to_le_bytes(), &sum.to_le_bytes()].concat();
    [chunk(b'P', path.as_bytes()), head, bytes.to_vec()].concat()
}

fn end(path: &str) -> Vec<u8> {
    chunk(b'E', path.as_bytes())
}

/// What came out: each file with its content, holes as zeros, and its size.
fn read(stream: &[u8], room: usize) -> Result<Vec<(String, Vec<u8>)>, XbstreamError> {
    let mut reader = XbstreamReader::new(Cursor::new(stream));
    let (mut room, mut files) = (vec![0; room], Vec::<(String, Vec<u8>)>::new());
    while let Some(piece) = reader.next(&mut room)? {
        match piece {
            XbstreamPiece::Begins => {
                files.push((reader.name(files.len()).unwrap().to_string(), Vec::new()));
            }
            XbstreamPiece::Content { file, offset, length } => {
                let bytes = &mut files[file].1;
                bytes.resize(usize::try_from(offset).unwrap(), 0);
                bytes.extend_from_slice(&room[..length]);
            }
            XbstreamPiece::Ends { file, size_bytes } => {
                files[file].1.resize(usize::try_from(size_bytes).unwrap(), 0);
            }
        }
    }
    Ok(files)
}

fn mixed() -> Vec<u8> {
    let large: Vec<u8> = (0..200_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    [
        content("./shop/orders.ibd", 0, &large[..150_000]),
        content("ib_logfile0", 0, b"log"),
        content("./shop/orders.ibd", 150_000, &large[150_000..]),
        end("./shop/orders.ibd"),
        content("ib_logfile0", 3, b"ged"),
        end("empty.MYD"),
        end("ib_logfile0"),
    ]
    .concat()
}

#[test]
fn files_that_come_mixed_are_put_together_whatever_the_room() {
    for room in [1, 7, 65_536, 1 << 20] {
        let files = read(&mixed(), room).unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["shop/orders.ibd", "ib_logfile0", "empty.MYD"], "room {room}");
        assert_eq!((files[0].1.len(), &files[1].1[..], files[2].1.len()), (200_000, &b"logged"[..], 0));
        assert!((0..200_000_u32).zip(&files[0].1).all(|(at, byte)| u32::from(*byte) == at % 251));
    }
}

/// A page of 64 KiB that was cut in two could not be checked by either worker that saw a half of it.
#[test]
fn pieces_of_a_large_file_end_between_its_pages() {
    let stream =
        [content("a.ibd", 0, &vec![7; 10 << 20]), content("a.ibd", 10 << 20, &vec![8; 65_536])].concat();
    let stream = [stream, end("a.ibd")].concat();
    let mut reader = XbstreamReader::new(Cursor::new(stream));
    let mut room = vec![0; 4 << 20];
    let mut offsets = Vec::new();
    while let Some(piece) = reader.next(&mut room).unwrap() {
        if let XbstreamPiece::Content { offset, .. } = piece {
            offsets.push(offset);
        }
    }
    assert_eq!(offsets, [0, 4 << 20, 8 << 20, 10 << 20]);
    assert_eq!(piece_bytes(16_384, 1 << 30, 1 << 20), (1 << 20) - 16_384);
}

#[test]
fn a_stream_that_was_cut_anywhere_is_not_whole() {
    let stream = mixed();
    for length in 0..stream.len() {
        // Between two chunks nothing is missing but files; before the first nothing at all.
        let is_whole = length == 0;
        // Most of the stream is content: a few places in it will do.
        if length > 300 && length < stream.len() - 300 && length % 997 > 0 {
            continue;
        }
        match read(&stream[..length], 65_536) {
            Ok(files) => assert!(is_whole && files.is_empty(), "cut at {length}"),
            Err(error) => assert!(error.is_cut(), "cut at {length}: {error}"),
        }
    }
}

#[test]
fn a_flipped_bit_of_a_content_is_found_before_the_file_ends() {
    let mut stream = mixed();
    stream[100_000] ^= 1;
    let error = read(&stream, 65_536).unwrap_err();
    assert!(matches!(&error, XbstreamError::Checksum { offset: 0, .. }), "{error}");
    assert!(error.to_string().contains("shop/orders.ibd at offset 0"), "{error}");
}

/// Nobody may write outside of the place of a restore, whoever made the stream.
#[test]
fn names_that_lead_elsewhere_are_refused() {
    for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.", "./", "a/", "a\0b"] {
        let error = read(&end(path), 1024).unwrap_err();
        assert!(matches!(error, XbstreamError::Format { .. }), "{path}: {error}");
    }
    let name = read(&chunk(b'E', b"shop/\xff#sql.frm"), 1024).unwrap();
    assert_eq!(name.len(), 1, "a name need not be text");
}

#[test]
fn offsets_lengths_and_types_are_not_believed() {
    let seek = |to: u64| [chunk(b'S', b"a"), to.to_le_bytes().to_vec()].concat();
    let of = |parts: &[Vec<u8>]| read(&parts.concat(), 65_536);
    let holes =
        of(&[content("a", 0, b"x"), seek(4096), content("a", 4096, b"y"), seek(5000), end("a")]).unwrap();
    assert_eq!((holes[0].1.len(), holes[0].1[4096], holes[0].1[4095]), (5000, b'y', 0));
    let mut huge = content("a", 0, b"x");
    huge[15..23].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut long_path = end("a");
    long_path[10..14].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut flagged = content("a", 0, b"x");
    flagged[8] = 2;
    for (what, stream) in [
        ("behind", vec![content("a", 1, b"x")]),
        ("twice", vec![content("a", 0, b"xy"), content("a", 0, b"xy")]),
        ("back", vec![content("a", 0, b"xy"), seek(1)]),
        ("too far", vec![seek(u64::MAX)]),
        ("too long", vec![huge]),
        ("long path", vec![long_path]),
        ("again", vec![end("a"), content("a", 0, b"x")]),
        ("renamed", vec![chunk(b'R', b"a")]),
        ("rewritten", vec![flagged]),
        ("no chunk", vec![b"mysqldump of everything".to_vec()]),
    ] {
        let error = of(&stream).unwrap_err();
        assert!(matches!(error, XbstreamError::Format { .. }), "{what}: {error}");
    }
}
