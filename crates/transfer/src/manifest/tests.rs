//! Manifests in both forms, and texts that are none.

use super::*;
use proptest::prelude::*;

const MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

#[test]
fn lists_of_the_sum_tools_are_read() {
    let text = format!("{MD5}  a file\n{MD5} *b\r\n\n# remark\n\\{MD5}  c\\nd\\\\\n");
    let files = parse(text.as_bytes(), Path::new("old.md5"), None).unwrap().files;
    let names: Vec<_> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(names, ["a file", "b", "c\nd\\"]);
    assert!(files.iter().all(|file| file.digest.kind() == HashKind::Md5));
    let tagged = format!("MD5 (x (1)) = {MD5}\nCRC32C (y) = e3069283\n");
    let files = parse(tagged.as_bytes(), Path::new("any"), None).unwrap().files;
    assert_eq!(files[0].path, Path::new("x (1)"));
    assert_eq!(files[1].digest.kind(), HashKind::Crc32c);
    let escaped = format!("\u{feff}\\MD5 (a\\nb) = {MD5}\n");
    assert_eq!(parse(escaped.as_bytes(), Path::new("any"), None).unwrap().files[0].path, Path::new("a\nb"));
}

/// `md5sum -z` was refused: its list is one line to a reader of lines.
#[test]
fn lists_that_end_in_zero_bytes_are_read_and_their_names_are_not_escaped() {
    let text = format!("{MD5}  a\nb\0{MD5} *c\\n\r\0");
    let files = parse(text.as_bytes(), Path::new("old.md5"), None).unwrap().files;
    let names: Vec<_> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(names, ["a\nb", "c\\n\r"]);
    let long = format!("{MD5}  {}\n", "x".repeat(20_000));
    assert_eq!(parse(long.as_bytes(), Path::new("x.md5"), None), Err(ManifestError::LongLine { line: 1 }));
}

#[test]
fn names_below_another_directory_are_found_there() {
    let mut manifest =
        parse(format!("{MD5}  a/b\n{MD5}  /c\n").as_bytes(), Path::new("x.md5"), None).unwrap();
    manifest.place_below(Path::new("/there"));
    let paths: Vec<_> = manifest.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [Path::new("/there/a/b"), Path::new("/there/c")]);
}

#[test]
fn only_a_manifest_may_be_replaced_by_one() {
    let sums = format!("{MD5}  a\n{MD5}  b\n");
    let mut json = Vec::new();
    write_json(&parse(sums.as_bytes(), Path::new("x.md5"), None).unwrap(), &mut json).unwrap();
    let [sums, tagged] = [sums.into_bytes(), format!("\\MD5 (a) = {MD5}").into_bytes()];
    for manifest in [b"".as_slice(), b"\n", &sums, &json, &tagged] {
        assert!(begins_manifest(manifest));
    }
    for other in [b"precious\n".as_slice(), b"\n\nprecious", b"{\"mine\": 1}", &[0; 4096]] {
        assert!(!begins_manifest(other), "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn what_a_digest_could_be_is_asked_and_not_guessed() {
    let text = format!("{MD5}  a\n");
    let error = parse(text.as_bytes(), Path::new("list"), None).unwrap_err();
    assert_eq!(error.to_string(), "line 1 has 32 hexadecimal digits, which could be xxh3 or md5");
    for (name, kind) in [("MD5SUMS", HashKind::Md5), ("x.xxh3", HashKind::Xxh3)] {
        assert_eq!(parse(text.as_bytes(), Path::new(name), None).unwrap().files[0].digest.kind(), kind);
    }
    let asked = parse(text.as_bytes(), Path::new("x.md5"), Some(HashKind::Xxh3)).unwrap();
    assert_eq!(asked.files[0].digest.kind(), HashKind::Xxh3);
}

/// XXH32 and CRC-32 sums of good files were compared as CRC-32C: every one was reported as damaged.
#[test]
fn eight_digits_are_what_a_name_or_an_option_says_and_nothing_else() {
    let text = b"9cec73c4  f\n";
    let error = parse(text, Path::new("list.txt"), None).unwrap_err();
    assert!(matches!(error, ManifestError::Ambiguous { digits: 8, .. }), "{error}");
    for name in ["p18.xxh32", "x.crc32", "SUMS.xxh64", "x.adler32", "x.sfv", "x.sha1"] {
        let error = parse(text, Path::new(name), None).unwrap_err();
        assert!(matches!(error, ManifestError::OtherHash(_)), "{name}: {error}");
    }
    for (name, asked) in [("x.crc32c", None), ("list.txt", Some(HashKind::Crc32c))] {
        assert_eq!(parse(text, Path::new(name), asked).unwrap().files.len(), 1, "{name}");
    }
    let others = format!("MD5(a (1))= {MD5}\n{MD5} b\n");
    let files = parse(others.as_bytes(), Path::new("x.md5"), None).unwrap().files;
    let names: Vec<_> = files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(names, [Path::new("a (1)"), Path::new("b")], "as md5sum reads them");
}

#[test]
fn a_damaged_list_is_refused_with_its_line() {
    let error = parse(b"d41d8cd9 nonsense\n", Path::new("x.md5"), None).unwrap_err();
    assert!(error.to_string().starts_with("line 1 is not a checksum and a name"), "{error}");
    assert_eq!(parse(b"\n", Path::new("x.md5"), None), Err(ManifestError::Empty));
    assert!(parse(b"{}", Path::new("x.json"), None).is_err());
}

proptest! {
    #[test]
    fn both_forms_read_back_every_name(name in prop::collection::vec(1u8..=255, 1..40), block: u64, is_partial: bool) {
        let file = ManifestFile {
            path: path_from_bytes(name),
            bytes: Some(5),
            digest: Digest::from_hex(HashKind::Md5, MD5).unwrap(),
            blocks: vec![block],
            block_bytes: 4096,
        };
        let mut json = Vec::new();
        let written = Manifest { files: vec![file.clone()], is_partial };
        write_json(&written, &mut json).unwrap();
        prop_assert_eq!(&parse(&json, Path::new("x"), None).unwrap(), &written);
        let mut sums = Vec::new();
        write_sums(&written, &mut sums).unwrap();
        let read = parse(&sums, Path::new("x.md5"), None).unwrap();
        prop_assert_eq!(&read.files[0].path, &file.path);
        prop_assert_eq!(&read.files[0].digest, &file.digest);
        prop_assert_eq!(read.is_partial, is_partial);
    }
}
