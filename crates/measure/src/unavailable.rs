//! Optional features that an engine requested and did not get.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    IoUring,
    RegisteredFiles,
    /// Buffers registered with the ring, which saves the kernel a lookup per request.
    RegisteredBuffers,
    RegisteredRing,
    HugePages,
    /// A setup flag of the ring by its kernel name, or an unknown name from a stored run.
    Other(String),
}

impl Feature {
    const NAMED: [Self; 5] = [
        Self::IoUring,
        Self::RegisteredFiles,
        Self::RegisteredBuffers,
        Self::RegisteredRing,
        Self::HugePages,
    ];

    pub fn name(&self) -> &str {
        match self {
            Self::IoUring => "io_uring",
            Self::RegisteredFiles => "registered files",
            Self::RegisteredBuffers => "registered buffers",
            Self::RegisteredRing => "registered ring",
            Self::HugePages => "huge pages",
            Self::Other(name) => name,
        }
    }

    pub fn named(name: &str) -> Self {
        let known = Self::NAMED.into_iter().find(|feature| feature.name() == name);
        known.unwrap_or_else(|| Self::Other(name.to_owned()))
    }
}

/// A feature that is unavailable, and why. Stored as one text: `feature: cause`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    pub feature: Feature,
    /// The system's error, and a remedy if one is known.
    pub cause: String,
}

impl Unavailable {
    pub fn new(feature: Feature, cause: impl fmt::Display) -> Self {
        Self { feature, cause: cause.to_string() }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.feature.name(), self.cause.as_str()) {
            (name, "") => f.write_str(name),
            (name, cause) => write!(f, "{name}: {cause}"),
        }
    }
}

impl Serialize for Unavailable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Unavailable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (name, cause) = text.split_once(": ").unwrap_or((&text, ""));
        Ok(Self { feature: Feature::named(name), cause: cause.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_files_it_is_one_text_that_reads_back() {
        for feature in Feature::NAMED.into_iter().chain([Feature::Other("DEFER_TASKRUN".into())]) {
            let unavailable = Unavailable::new(feature, "EINVAL: not in this kernel");
            let text = serde_json::to_string(&unavailable).unwrap();
            assert_eq!(text, format!("\"{}: EINVAL: not in this kernel\"", unavailable.feature.name()));
            assert_eq!(serde_json::from_str::<Unavailable>(&text).unwrap(), unavailable);
        }
        let old = "\"no cause was kept\"";
        assert_eq!(serde_json::from_str::<Unavailable>(old).unwrap().to_string(), "no cause was kept");
    }
}
