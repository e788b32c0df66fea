//! Uploads that were begun and neither completed nor given up.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use object_store::path::Path as Key;
use quick_xml::escape::unescape;
use ureq::http::Method;

use crate::ask::Ask;
use crate::bucket::Bucket;
use crate::error::element;
use crate::object::Object;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpload {
    pub path: PathBuf,
    pub begun_utc: Timestamp,
    id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadParts {
    pub bytes: u64,
    /// When the last part came; `None` if none has.
    pub newest_utc: Option<Timestamp>,
}

impl OpenUpload {
    pub fn parts(&self) -> io::Result<UploadParts> {
        let object = Object::at(&self.path)?;
        let mut found = UploadParts { bytes: 0, newest_utc: None };
        let mut marker = String::new();
        loop {
            let mut ask = Ask::new(Method::GET, object.key()).query("uploadId", &self.id);
            if !marker.is_empty() {
                ask = ask.query("part-number-marker", &marker);
            }
            let answer = text(object.bucket(), &ask)?;
            for part in elements(&answer, "Part") {
                found.bytes += element(part, "Size").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
                found.newest_utc = found.newest_utc.max(time(part, "LastModified"));
            }
            match next(&answer, "NextPartNumberMarker") {
                Some(after) if after != marker => marker = after,
                _ => return Ok(found),
            }
        }
    }

    /// Removes its parts. One that is no longer there is no error.
    pub fn give_up(&self) -> io::Result<()> {
        let object = Object::at(&self.path)?;
        let ask = Ask::new(Method::DELETE, object.key()).query("uploadId", &self.id);
        match object.bucket().ask(&ask) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Object {
    /// Uploads that would become objects in this directory, and in those below it.
    pub fn open_uploads(&self) -> io::Result<Vec<OpenUpload>> {
        if self.bucket().forgets_uploads() {
            return Ok(Vec::new());
        }
        open_uploads(self.bucket(), self.key(), self.root())
    }
}

/// All of the directory `key`, whose addresses begin with `root`.
fn open_uploads(bucket: &Bucket, key: &Key, root: &str) -> io::Result<Vec<OpenUpload>> {
    let prefix = if key.as_ref().is_empty() { String::new() } else { format!("{key}/") };
    let mut found = Vec::new();
    let (mut key_marker, mut id_marker) = (String::new(), String::new());
    loop {
        let mut ask = Ask::new(Method::GET, &Key::default()).query("uploads", "").query("prefix", &prefix);
        if !key_marker.is_empty() {
            ask = ask.query("key-marker", &key_marker).query("upload-id-marker", &id_marker);
        }
        let answer = text(bucket, &ask)?;
        for upload in elements(&answer, "Upload") {
            let (Some(key), Some(id)) = (field(upload, "Key"), field(upload, "UploadId")) else { continue };
            let Some(begun_utc) = time(upload, "Initiated") else { continue };
            found.push(OpenUpload { path: Path::new(root).join(key), begun_utc, id });
        }
        let markers = (next(&answer, "NextKeyMarker"), field(&answer, "NextUploadIdMarker"));
        match markers {
            (Some(key), id) if (&key, id.as_ref()) != (&key_marker, Some(&id_marker)) => {
                (key_marker, id_marker) = (key, id.unwrap_or_default());
            }
            _ => return Ok(found),
        }
    }
}

fn text(bucket: &Bucket, ask: &Ask) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bucket.ask(ask)?).into_owned())
}

/// The insides of all elements of this name.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let end = format!("</{name}>");
    text.split(&format!("<{name}>"))
        .skip(1)
        .filter_map(move |part| part.split_once(&end).map(|(inside, _)| inside))
        .collect::<Vec<_>>()
        .into_iter()
}

fn field(text: &str, name: &str) -> Option<String> {
    unescape(element(text, name)?).ok().map(std::borrow::Cow::into_owned)
}

fn time(text: &str, name: &str) -> Option<Timestamp> {
    element(text, name)?.parse().ok()
}

fn next(answer: &str, name: &str) -> Option<String> {
    if element(answer, "IsTruncated") == Some("true") { field(answer, name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_an_answer_are_those_of_objects() {
        let answer = "<R><IsTruncated>true</IsTruncated><NextKeyMarker>b&amp;c</NextKeyMarker>\
                      <Upload><Key>a&lt;b</Key><Initiated>2026-11-23T04:00:00.000Z</Initiated></Upload>\
                      <Upload><Key>second</Key></Upload></R>";
        let keys: Vec<_> = elements(answer, "Upload").filter_map(|upload| field(upload, "Key")).collect();
        assert_eq!(keys, ["a<b", "second"]);
        assert_eq!(time(answer, "Initiated"), Some("2026-11-23T04:00:00Z".parse().unwrap()));
        assert_eq!(next(answer, "NextKeyMarker").as_deref(), Some("b&c"));
        assert_eq!(
            next("<IsTruncated>false</IsTruncated><NextKeyMarker>b</NextKeyMarker>", "NextKeyMarker"),
            None
        );
    }
}
