//! The text forms of a profile: types that are written as a single word.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not {wanted}")]
pub struct SpellingError {
    text: String,
    wanted: &'static str,
}

pub(crate) fn refuse<T>(text: &str, wanted: &'static str) -> Result<T, SpellingError> {
    Err(SpellingError { text: text.to_owned(), wanted })
}

/// Implements `serde` for a type through its `FromStr` and `Display`.
macro_rules! as_text {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use as_text;
