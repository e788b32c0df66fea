//! Lists of files and their checksums, in the format of the `*sum` tools or as JSON.

mod error;
mod name;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use iostall_engine::files::{path_bytes, path_from_bytes};
use iostall_engine::input::{self, Input, InputError};
use iostall_measure::ByteCount;
use iostall_model::transfer::HashKind;
use serde::{Deserialize, Serialize};

pub use error::ManifestError;
pub use name::{hash_for, is_json, partial_path};

use self::error::LINE_BYTES_MAX;
use self::name::named_hash;
use crate::copy::CopiedFile;
use crate::hash::{Digest, from_hex, hex};

pub const SCHEMA: &str = "iostall-manifest";
/// Version of the JSON form; incremented when an old reader would misread the new form.
pub const SCHEMA_VERSION: u32 = 1;

/// Start of the first line of a partial list, which the `*sum` tools report as malformed.
const PARTIAL_LINE: &str = "# iostall: partial";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub files: Vec<ManifestFile>,
    /// Whether a copy ended early and the list has only the files finished by then.
    pub is_partial: bool,
}

impl Manifest {
    /// Looks for all files below `root`, including those with names that begin with a slash.
    pub fn place_below(&mut self, root: &Path) {
        for file in &mut self.files {
            let below = file.path.strip_prefix("/").unwrap_or(&file.path);
            file.path = root.join(below);
        }
    }
}

const LINE_SHOWN: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    pub path: PathBuf,
    pub bytes: Option<u64>,
    pub digest: Digest,
    /// XXH3 of each block, if the manifest has it, to locate a difference.
    pub blocks: Vec<u64>,
    /// Size of those blocks; 0 if there are none.
    pub block_bytes: u64,
}

impl From<CopiedFile> for ManifestFile {
    fn from(file: CopiedFile) -> Self {
        let CopiedFile { path, bytes, digest, blocks, block_bytes } = file;
        let block_bytes = if blocks.is_empty() { 0 } else { block_bytes };
        Self { path, bytes: Some(bytes), digest, blocks, block_bytes }
    }
}

/// Writes lines in the format of `md5sum`: digest, two spaces, name. A name with a line break or a backslash
/// is escaped and its line begins with a backslash, as in theirs. Other bytes are written unchanged.
pub fn write_sums(manifest: &Manifest, out: &mut dyn Write) -> io::Result<()> {
    if manifest.is_partial {
        writeln!(out, "{PARTIAL_LINE}: the copy did not finish; only the files copied by then are listed")?;
    }
    for file in &manifest.files {
        let name = path_bytes(&file.path);
        let escaped = name.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
        let mut line = Vec::with_capacity(name.len() + 70);
        if escaped {
            line.push(b'\\');
        }
        line.extend_from_slice(file.digest.hex().as_bytes());
        line.extend_from_slice(b"  ");
        for byte in name {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                b'\\' => line.extend_from_slice(b"\\\\"),
                other => line.push(*other),
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct JsonManifest {
    schema: String,
    schema_version: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    files: Vec<JsonFile>,
}

#[derive(Serialize, Deserialize)]
struct JsonFile {
    /// With replacement characters if the name is not UTF-8.
    path: String,
    /// The bytes of such a name in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    hash: HashKind,
    digest: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    block_bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes the JSON form, which also has sizes and blocks.
pub fn write_json(manifest: &Manifest, out: &mut dyn Write) -> io::Result<()> {
    let files = manifest
        .files
        .iter()
        .map(|file| JsonFile {
            path: file.path.display().to_string(),
            path_hex: file.path.to_str().is_none().then(|| hex(path_bytes(&file.path))),
            bytes: file.bytes,
            hash: file.digest.kind(),
            digest: file.digest.hex(),
            block_bytes: file.block_bytes,
            blocks: file.blocks.iter().map(|block| format!("{block:016x}")).collect(),
        })
        .collect();
    let manifest = JsonManifest {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        partial: manifest.is_partial,
        files,
    };
    serde_json::to_writer_pretty(&mut *out, &manifest)?;
    out.write_all(b"\n")
}

/// Reads either form. `kind` overrides what the digest length suggests; `path` is the manifest's own, whose
/// name often contains the algorithm (`x.md5`, `SHA256SUMS`).
pub fn parse(text: &[u8], path: &Path, kind: Option<HashKind>) -> Result<Manifest, ManifestError> {
    read(text, path, kind)
}

/// Enough for some ten million files, which are held in memory while they are checked.
const MANIFEST: Input = Input { what: "manifest", limit: ByteCount(1 << 30) };

pub fn open(path: &Path) -> Result<BufReader<input::Stream>, InputError> {
    MANIFEST.open(path).map(BufReader::new)
}

/// As [`parse`], from a stream of which only one line is buffered.
pub fn read(mut text: impl BufRead, path: &Path, kind: Option<HashKind>) -> Result<Manifest, ManifestError> {
    // Windows programs begin UTF-8 text with a byte order mark.
    let mark: &[u8] = b"\xef\xbb\xbf";
    if text.fill_buf().map_err(|error| unread(&error))?.starts_with(mark) {
        text.consume(mark.len());
    }
    let begin = text.fill_buf().map_err(|error| unread(&error))?.trim_ascii_start().first().copied();
    let manifest = if begin == Some(b'{') {
        parse_json(text)?
    } else {
        parse_lines(text, kind.map_or_else(|| named_hash(path), |kind| Ok(Some(kind)))?)?
    };
    if manifest.files.is_empty() && !manifest.is_partial { Err(ManifestError::Empty) } else { Ok(manifest) }
}

fn unread(error: &io::Error) -> ManifestError {
    ManifestError::Read(error.to_string())
}

fn parse_lines(mut text: impl BufRead, kind: Option<HashKind>) -> Result<Manifest, ManifestError> {
    let mut head = Vec::new();
    text.by_ref().take(LINE_BYTES_MAX).read_to_end(&mut head).map_err(|error| unread(&error))?;
    // Only a list of `md5sum -z` has zero bytes, and there a name may have line breaks.
    let is_zero_terminated = head.contains(&b'\0');
    let end = if is_zero_terminated { b'\0' } else { b'\n' };
    let mut text = io::Cursor::new(head).chain(text);
    let mut manifest = Manifest { files: Vec::new(), is_partial: false };
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let length = text
            .by_ref()
            .take(LINE_BYTES_MAX + 1)
            .read_until(end, &mut bytes)
            .map_err(|error| unread(&error))?;
        if length == 0 {
            break;
        }
        if length as u64 > LINE_BYTES_MAX {
            return Err(ManifestError::LongLine { line });
        }
        let words = bytes.strip_suffix(&[end]).unwrap_or(&bytes);
        let words = if is_zero_terminated { words } else { words.strip_suffix(b"\r").unwrap_or(words) };
        manifest.is_partial |= line == 1 && words.starts_with(PARTIAL_LINE.as_bytes());
        if !words.trim_ascii().is_empty() && !words.starts_with(b"#") {
            // Nothing is escaped in a list of `md5sum -z`.
            manifest.files.push(parse_line(line, words, kind, !is_zero_terminated)?);
        }
    }
    Ok(manifest)
}

/// Whether a file that begins with `head` is a manifest that we could have written, or empty: one that may be
/// replaced.
pub fn begins_manifest(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.starts_with(b"{") {
        return head.windows(SCHEMA.len()).any(|words| words == SCHEMA.as_bytes());
    }
    first.is_empty() && head.len() < 2
        || first.starts_with(PARTIAL_LINE.as_bytes())
        || HashKind::ALL.iter().any(|kind| parse_line(1, first, Some(*kind), true).is_ok())
}

fn parse_line(
    line: usize,
    text: &[u8],
    kind: Option<HashKind>,
    may_escape: bool,
) -> Result<ManifestFile, ManifestError> {
    let shown = || String::from_utf8_lossy(&text[..text.len().min(LINE_SHOWN)]).into_owned();
    let refuse = || ManifestError::Line { line, text: shown() };
    let escape = text.strip_prefix(b"\\").filter(|_| may_escape);
    let (escaped, rest) = escape.map_or((false, text), |rest| (true, rest));
    if let Some(file) = parse_tagged(rest, escaped) {
        return Ok(file);
    }
    let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(refuse)?;
    let (hex, name) = rest.split_at(space);
    // Two spaces for text, or a space and an asterisk for binary, treated alike; one space is of `md5 -r`.
    let gaps = [b"  ".as_slice(), b" *", b" "];
    let name = gaps.iter().find_map(|gap| name.strip_prefix(*gap)).ok_or_else(refuse)?;
    let hex = std::str::from_utf8(hex).map_err(|_| refuse())?;
    let kind = match kind {
        Some(kind) => kind,
        None => kind_of_length(line, hex.len()).ok_or_else(refuse)??,
    };
    let digest = Digest::from_hex(kind, hex).ok_or_else(refuse)?;
    let name = if escaped { unescape(name).ok_or_else(refuse)? } else { name.to_vec() };
    Ok(ManifestFile { path: path_from_bytes(name), bytes: None, digest, blocks: Vec::new(), block_bytes: 0 })
}

/// `NAME (file) = digest`, as in the BSD tools and with `--tag`, or `NAME(file)= digest`, as openssl writes it.
fn parse_tagged(text: &[u8], escaped: bool) -> Option<ManifestFile> {
    let position = |of: &[u8]| text.windows(of.len()).position(|found| found == of);
    let last = |of: &[u8]| text.windows(of.len()).rposition(|found| found == of);
    let of_openssl = || Some((position(b"(")?, 1, last(b")= ")?, 3));
    let of_bsd = || Some((position(b" (")?, 2, last(b") = ")?, 4));
    let (open, open_bytes, close, close_bytes) = of_bsd().or_else(of_openssl)?;
    let kind = std::str::from_utf8(&text[..open]).ok()?.parse().ok()?;
    let name = text.get(open + open_bytes..close)?;
    let name = if escaped { unescape(name)? } else { name.to_vec() };
    let digest = Digest::from_hex(kind, std::str::from_utf8(&text[close + close_bytes..]).ok()?)?;
    Some(ManifestFile {
        path: path_from_bytes(name),
        bytes: None,
        digest,
        blocks: Vec::new(),
        block_bytes: 0,
    })
}

/// The algorithm with this many digits: none, one, or several.
fn kind_of_length(line: usize, digits: usize) -> Option<Result<HashKind, ManifestError>> {
    let kinds: Vec<_> = HashKind::ALL.into_iter().filter(|kind| kind.digest_bytes() * 2 == digits).collect();
    match kinds.as_slice() {
        [] => None,
        // Far more programs write CRC-32 than CRC-32C.
        [HashKind::Crc32c] => {
            let could_be = "crc32c, or crc32, xxh32 or adler32, which are not supported".to_owned();
            Some(Err(ManifestError::Ambiguous { line, digits, could_be }))
        }
        [kind] => Some(Ok(*kind)),
        several => {
            let could_be = several.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
            Some(Err(ManifestError::Ambiguous { line, digits, could_be }))
        }
    }
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = name.iter();
    let mut plain = Vec::with_capacity(name.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(plain)
}

fn parse_json(text: impl BufRead) -> Result<Manifest, ManifestError> {
    let refuse = |what: String| ManifestError::Json(what);
    let manifest: JsonManifest = serde_json::from_reader(text).map_err(|error| refuse(error.to_string()))?;
    if manifest.schema != SCHEMA || manifest.schema_version > SCHEMA_VERSION {
        return Err(refuse(format!("{} version {}", manifest.schema, manifest.schema_version)));
    }
    let read = |file: JsonFile| {
        let path = match &file.path_hex {
            Some(hex) => path_from_bytes(from_hex(hex)?),
            None => PathBuf::from(&file.path),
        };
        Some(ManifestFile {
            path,
            bytes: file.bytes,
            digest: Digest::from_hex(file.hash, &file.digest)?,
            blocks: file
                .blocks
                .iter()
                .map(|block| u64::from_str_radix(block, 16).ok())
                .collect::<Option<_>>()?,
            block_bytes: file.block_bytes,
        })
    };
    let files = manifest
        .files
        .into_iter()
        .enumerate()
        .map(|(at, file)| read(file).ok_or_else(|| refuse(format!("file {} has a damaged entry", at + 1))))
        .collect::<Result<_, _>>()?;
    Ok(Manifest { files, is_partial: manifest.partial })
}
