//! Sizes of requests, by weight.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{BlockSize, ByteCount};
use serde::{Deserialize, Serialize};

use crate::spelling::{SpellingError, refuse};

/// One size, or several by weight: `8K`, or `8K:80,64K:20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMix(Vec<(BlockSize, u32)>);

const MIX_WANTED: &str = "a block size or a mix of sizes by weight: write 8K, or 8K:80,64K:20";

impl BlockMix {
    pub fn single(size: BlockSize) -> Self {
        Self(vec![(size, 1)])
    }

    /// Sizes and their weights; never empty, weights at least 1.
    pub fn parts(&self) -> &[(BlockSize, u32)] {
        &self.0
    }

    /// As every other size is shown: `8 KiB`, or `8 KiB:80, 64 KiB:20`. What is typed is its `Display`.
    pub fn in_words(&self) -> String {
        let shown = |size: BlockSize| ByteCount(size.bytes().into()).to_string();
        match self.parts() {
            [(size, _)] => shown(*size),
            parts => {
                let part = |(size, weight): &(BlockSize, u32)| format!("{}:{weight}", shown(*size));
                parts.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        }
    }

    pub fn largest(&self) -> BlockSize {
        self.0.iter().map(|(size, _)| *size).max().expect("a mix is never empty")
    }

    pub fn smallest(&self) -> BlockSize {
        self.0.iter().map(|(size, _)| *size).min().expect("a mix is never empty")
    }

    pub fn mean_bytes(&self) -> f64 {
        let weights: f64 = self.0.iter().map(|(_, weight)| f64::from(*weight)).sum();
        self.0.iter().map(|(size, weight)| f64::from(size.bytes()) * f64::from(*weight)).sum::<f64>()
            / weights
    }
}

impl FromStr for BlockMix {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let mut parts = Vec::new();
        for part in text.split(',') {
            let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
            let size = size.parse().or_else(|_| refuse(text, MIX_WANTED))?;
            match weight.trim().parse() {
                Ok(weight) if weight > 0 => parts.push((size, weight)),
                _ => return refuse(text, MIX_WANTED),
            }
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for BlockMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(size, _)] = self.0.as_slice() {
            return f.pad(&format_size(*size));
        }
        let parts: Vec<String> =
            self.0.iter().map(|(size, weight)| format!("{}:{weight}", format_size(*size))).collect();
        f.pad(&parts.join(","))
    }
}

/// `8K` if it divides evenly, otherwise bytes, so that it can be typed back.
fn format_size(size: BlockSize) -> String {
    let bytes = size.bytes();
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

impl Serialize for BlockMix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// A bare number is a size in bytes, as for every other size in a profile.
impl<'de> Deserialize<'de> for BlockMix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Typed {
            Bytes(u64),
            Text(String),
        }
        match Typed::deserialize(deserializer)? {
            Typed::Bytes(bytes) => BlockSize::new(bytes).map(Self::single).map_err(serde::de::Error::custom),
            Typed::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One screen said `8K` at the top and `8 KiB` at the bottom.
    #[test]
    fn a_size_of_a_request_is_shown_as_every_other_size() {
        for (typed, shown) in [("8K", "8 KiB"), ("8K:80,1M:20", "8 KiB:80, 1 MiB:20"), ("512", "512 B")] {
            let mix: BlockMix = typed.parse().unwrap();
            assert_eq!((mix.in_words(), mix.to_string()), (shown.to_owned(), typed.to_owned()));
        }
    }
}
