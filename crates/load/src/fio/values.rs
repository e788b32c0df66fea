//! Values of fio's options: one for reads and one for writes, blocks, parts of a file, lists of files.

use iostall_measure::{BlockSize, ByteCount, Percent, SyncCall};
use iostall_model::profile::{BlockMix, Bound, Distribution, SyncRule};

use super::error::FioError;
use super::number::{count, percent, size, wrong};
use super::others::no_equal;

/// fio's own block size.
const BLOCK_DEFAULT: &str = "4k";

/// What holds for reads, and what for writes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Each<T> {
    pub(super) read: T,
    pub(super) write: T,
}

impl<T: Clone + PartialEq> Each<T> {
    pub(super) fn both(value: T) -> Self {
        Self { read: value.clone(), write: value }
    }

    /// `A` for both, `A,B` for reads and writes; one that is left blank stays. What is said for trims does not matter.
    pub(super) fn set(
        &mut self,
        text: &str,
        parse: impl Fn(&str) -> Result<T, FioError>,
    ) -> Result<(), FioError> {
        let mut parts = text.split(',');
        let (read, write) = (parts.next().unwrap_or_default(), parts.next());
        if write.is_none() || !read.trim().is_empty() {
            self.read = parse(read)?;
        }
        match write.map(str::trim) {
            None => self.write = self.read.clone(),
            Some("") => {}
            Some(write) => self.write = parse(write)?,
        }
        Ok(())
    }

    /// That of the directions which a job has; `None` where it has both and they differ.
    pub(super) fn one(&self, reads: bool, writes: bool) -> Option<&T> {
        match (reads, writes) {
            (true, true) => (self.read == self.write).then_some(&self.read),
            (false, true) => Some(&self.write),
            _ => Some(&self.read),
        }
    }
}

/// `8g` or `50%`.
pub(super) fn bound(name: &str, text: &str) -> Result<Bound, FioError> {
    if text.ends_with('%') {
        let share = Percent::new(f64::from(percent(name, text)?));
        return share.map(Bound::Percent).map_err(|_| wrong(name, text, "write 0 to 100"));
    }
    Ok(Bound::Bytes(ByteCount(size(name, text)?)))
}

pub(super) fn blocks(name: &str, text: &str) -> Result<BlockMix, FioError> {
    let size = BlockSize::new(size(name, text)?)
        .map_err(|_| wrong(name, text, "a block is 1 byte to below 4 GiB"))?;
    Ok(BlockMix::single(size))
}

/// `4k/60:64k/40`.
pub(super) fn split(name: &str, text: &str) -> Result<BlockMix, FioError> {
    const WANTED: &str = "give each size its share, such as 4k/60:64k/40";
    let parts: Result<Vec<String>, FioError> = text
        .split(':')
        .map(|part| {
            let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
            let bytes = size(name, if bytes.is_empty() { BLOCK_DEFAULT } else { bytes })?;
            let share = percent(name, share).map_err(|_| wrong(name, text, WANTED))?;
            Ok(format!("{bytes}:{share}"))
        })
        .collect();
    parts?.join(",").parse().map_err(|_| wrong(name, text, WANTED))
}

pub(super) fn distribution(name: &str, text: &str) -> Result<Distribution, FioError> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "random" => Ok(Distribution::Uniform),
        "zipf" => text.parse().map_err(|_| wrong(name, text, "write zipf:THETA, such as zipf:1.2")),
        "zoned" => zones(rest).ok_or_else(|| {
            wrong(name, text, "write zoned:IO%/SIZE%:…, whose sizes add up to 100, such as zoned:60/10:40/90")
        }),
        _ => Err(no_equal(
            name,
            "where requests land is uniform, zipf:, hot:, ranges: or spans: (--distribution)",
        )),
    }
}

/// A last zone without a size has what is left.
fn zones(text: &str) -> Option<Distribution> {
    let mut left = 100.0;
    let mut zones = Vec::new();
    for zone in text.trim_end_matches(':').split(':') {
        let (access, region) = zone.split_once('/')?;
        let region =
            if region.is_empty() { left } else { region.trim_end_matches('%').parse::<f64>().ok()? };
        left -= region;
        zones.push(format!("{}/{region}", access.trim_end_matches('%')));
    }
    format!("ranges:{}", zones.join(",")).parse().ok()
}

pub(super) fn sync(name: &str, text: &str, call: SyncCall) -> Result<Option<SyncRule>, FioError> {
    let every = count(name, text, 0)?;
    Ok((every > 0).then_some(SyncRule { every, call }))
}

/// Names with a colon between them; one in a name has a backslash before it.
pub(super) fn files(text: &str) -> Vec<String> {
    let mut files = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let Some(file) = files.last_mut() else { break };
        match character {
            '\\' if characters.peek() == Some(&':') => file.extend(characters.next()),
            ':' => files.push(String::new()),
            other => file.push(other),
        }
    }
    files.retain(|file| !file.is_empty());
    files
}

/// `text` with what the environment has for each `${NAME}`.
pub(super) fn with_variables(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, FioError> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once("${") {
        let Some((name, after)) = opened.split_once('}') else { break };
        whole.push_str(before);
        whole.push_str(&variable(name).ok_or_else(|| FioError::NotSet { variable: name.to_owned() })?);
        rest = after;
    }
    whole.push_str(rest);
    match ["$pagesize", "$mb_memory", "$ncpus"].into_iter().find(|name| whole.contains(name)) {
        Some(name) => Err(no_equal(name, "write the number")),
        None => Ok(whole),
    }
}
