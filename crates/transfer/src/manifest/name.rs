//! What the name of a manifest implies.

use std::path::{Path, PathBuf};

use iostall_model::transfer::HashKind;

use super::error::ManifestError;

/// Suffix for the list of a copy that did not complete.
const PARTIAL: &str = "partial";
/// Algorithms that often appear in names of lists and are not supported.
const OTHER_HASHES: [&str; 16] = [
    "sha1", "sha224", "sha384", "sha512", "sha3", "b2", "blake2", "xxh32", "xxh64", "crc32", "crc32b", "crc",
    "crc64", "adler32", "sfv", "md4",
];

/// The algorithm for a list at `path`: the requested one, or the one in its name. They must not contradict
/// each other, because anyone who goes by the name would find every file different.
pub fn hash_for(path: &Path, asked: Option<HashKind>) -> Result<HashKind, ManifestError> {
    if is_json(path) {
        return Ok(asked.unwrap_or_default());
    }
    match (named_hash(path)?, asked) {
        (Some(named), Some(asked)) if named != asked => Err(ManifestError::Contradiction { named, asked }),
        (named, asked) => Ok(asked.or(named).unwrap_or_default()),
    }
}

pub fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Where the list of an incomplete copy goes: next to the complete one, which stays.
pub fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(PARTIAL);
    name.into()
}

/// The algorithm in the name of a list: `x.md5`, `x.sha256sum`, `MD5SUMS`, each also with `.txt`.
pub(super) fn named_hash(path: &Path) -> Result<Option<HashKind>, ManifestError> {
    let Some(name) = path.file_name() else { return Ok(None) };
    let name = name.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(PARTIAL).and_then(|name| name.strip_suffix('.')).unwrap_or(&name);
    let name = name.strip_suffix(".txt").unwrap_or(name);
    let (stem, extension) = name.rsplit_once('.').map_or(("", name), |(stem, extension)| (stem, extension));
    let word = |text: &str| {
        let bare = ["sums", "sum"].iter().find_map(|end| text.strip_suffix(end));
        // The bare name `md5` is a file name and no suffix.
        let word = bare.or((!stem.is_empty()).then_some(text))?;
        Some(word.trim_end_matches(['_', '-']).to_owned())
    };
    let Some(word) = word(extension) else { return Ok(None) };
    match word.as_str() {
        "xxh" => Ok(Some(HashKind::Xxh3)),
        word if OTHER_HASHES.contains(&word) => Err(ManifestError::OtherHash(word.to_owned())),
        word => Ok(word.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--manifest x.md5` contained XXH3 sums unless `--hash md5` was given too, and md5sum reported every
    /// good file as different.
    #[test]
    fn the_name_of_a_list_says_its_checksum_and_what_contradicts_it_is_refused() {
        for (name, kind) in [
            ("x.md5", HashKind::Md5),
            ("x.MD5.txt", HashKind::Md5),
            ("x.sha256", HashKind::Sha256),
            ("SHA256SUMS", HashKind::Sha256),
            ("x.md5sum", HashKind::Md5),
            ("B3SUMS.txt", HashKind::Blake3),
            ("backup.b3", HashKind::Blake3),
            ("x.xxh128", HashKind::Xxh3),
            ("x.xxh", HashKind::Xxh3),
            ("list", HashKind::Xxh3),
            ("md5", HashKind::Xxh3),
            ("x.crc32c", HashKind::Crc32c),
        ] {
            assert_eq!(hash_for(Path::new(name), None), Ok(kind), "{name}");
            assert_eq!(hash_for(Path::new(name), Some(kind)), Ok(kind), "{name}");
        }
        let error = hash_for(Path::new("x.md5"), Some(HashKind::Sha256)).unwrap_err();
        assert_eq!(error.to_string(), "its name says md5, and --hash says sha256");
        assert_eq!(hash_for(Path::new("list"), Some(HashKind::Sha256)), Ok(HashKind::Sha256));
        assert_eq!(hash_for(Path::new("x.md5.json"), Some(HashKind::Sha256)), Ok(HashKind::Sha256));
        for name in ["x.sha1", "SHA512SUMS", "x.sfv"] {
            assert!(matches!(hash_for(Path::new(name), None), Err(ManifestError::OtherHash(_))), "{name}");
        }
        let partial = partial_path(Path::new("dir/x.md5"));
        assert_eq!(partial, Path::new("dir/x.md5.partial"));
        assert_eq!(hash_for(&partial, None), Ok(HashKind::Md5));
    }
}
