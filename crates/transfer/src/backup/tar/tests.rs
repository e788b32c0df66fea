use super::*;

/// A header with its checksum.
fn header(name: &str, kind: u8, size: &[u8; 12]) -> Vec<u8> {
    let mut header = vec![0; BLOCK_BYTES];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000600\0");
    put(108, b"0177776 ");
    put(116, b"0000007\0");
    put(124, size);
    put(136, b"00000000010 ");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let size = format!("{:011o} ", content.len());
    let mut bytes = header(name, b'0', size.as_bytes().try_into().unwrap());
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    bytes
}

const NO_SIZE: &[u8; 12] = b"00000000000\0";

fn read(archive: &[u8]) -> Result<Vec<(TarEntry, Vec<u8>)>, TarError> {
    let mut reader = TarReader::new(archive);
    let mut all = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        let mut content = Vec::new();
        let mut room = [0; 700];
        loop {
            let read = reader.read(&mut room)?;
            if read == 0 {
                break;
            }
            content.extend_from_slice(&room[..read]);
        }
        assert_eq!((content.len() as u64, reader.left()), (entry.size_bytes, 0));
        all.push((entry, content));
    }
    Ok(all)
}

fn small() -> Vec<u8> {
    let mut link = header("pg_tblspc/16385", b'2', NO_SIZE);
    link[157..162].copy_from_slice(b"/fast");
    let sum: u64 = link
        .iter()
        .enumerate()
        .map(|(at, byte)| u64::from(if CHECKSUM.contains(&at) { b' ' } else { *byte }))
        .sum();
    link[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [file("base/1/1259", &[7; 1500]), header("./base/5/", b'5', NO_SIZE), link, file("empty", b"")].concat()
}

#[test]
fn files_directories_and_links_come_out_as_they_went_in() {
    for end in [0, 2, 20] {
        let archive = [small(), vec![0; end * BLOCK_BYTES]].concat();
        let all = read(&archive).unwrap();
        let names: Vec<_> = all.iter().map(|(entry, _)| entry.name.to_string()).collect();
        assert_eq!(names, ["base/1/1259", "base/5", "pg_tblspc/16385", "empty"]);
        assert_eq!(all[0].1, [7; 1500]);
        assert_eq!((&all[1].0.kind, &all[3].0.kind), (&TarKind::Directory, &TarKind::File));
        assert_eq!(all[2].0.kind, TarKind::Symlink { to: "/fast".into() });
        let metadata = FileMetadata { mode: 0o600, uid: 65_534, gid: 7, modified_ns: 8_000_000_000 };
        assert_eq!(all[0].0.metadata, metadata);
    }
}

#[test]
fn an_archive_that_ends_within_an_entry_is_not_whole() {
    let archive = file("base/1/1259", &[7; 1500]);
    for cut in 1..archive.len() {
        assert!(matches!(read(&archive[..cut]), Err(TarError::Cut { .. })), "{cut}");
    }
}

#[test]
fn what_is_not_read_is_skipped() {
    let archive = small();
    let mut reader = TarReader::new(&archive[..]);
    let mut names = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        names.push(entry.name.to_string());
    }
    assert_eq!(names.len(), 4);
}

/// PostgreSQL writes sizes from 8 GiB on in binary.
#[test]
fn a_size_may_be_binary_and_one_that_no_file_has_is_refused() {
    let binary = |bytes: [u8; 8]| {
        let mut size = [0; 12];
        size[0] = 0x80;
        size[4..].copy_from_slice(&bytes);
        size
    };
    let archive = header("big", b'0', &binary((9_u64 << 30).to_be_bytes()));
    let entry = TarReader::new(&archive[..]).next_entry().unwrap().unwrap();
    assert_eq!(entry.size_bytes, 9 << 30);
    for size in [binary([0xFF; 8]), *b"99999999999 ", *b"0000 0000001", [0xFF; 12]] {
        let error = read(&header("big", b'0', &size)).unwrap_err();
        assert!(error.to_string().contains("that is no number"), "{error}");
    }
}

#[test]
fn what_would_be_written_elsewhere_or_is_unknown_is_refused() {
    for name in ["../x", "/etc/passwd", "a/../b", "a//b", ".", "./", "", "/"] {
        assert!(matches!(read(&file(name, b"x")), Err(TarError::Format { at: 0, .. })), "{name}");
    }
    for kind in [b'1', b'3', b'6', b'x', b'L', 0xFF] {
        assert!(read(&header("x", kind, NO_SIZE)).is_err(), "{kind}");
    }
    assert!(read(&header("d", b'5', b"00000000001\0")).is_err());
    let mut wrong = file("x", b"x");
    wrong[3] ^= 1;
    let error = read(&wrong).unwrap_err();
    assert!(error.to_string().contains("wrong checksum"), "{error}");
    let after_end = [small(), vec![0; BLOCK_BYTES], file("x", b"x")].concat();
    assert!(matches!(read(&after_end), Err(TarError::Format { .. })));
}
