//! Sizes, lengths of time, shares and rates as people type and read them.
//!
//! `K`, `M`, `G`, `T` and `KiB` … `TiB` are powers of 1024, as every DBA's tool has them; `KB` … `TB`
//! are powers of 1000, and only when written so.

/// Gives a unit type its text form in `serde`: read from a string or a bare number, written as `$write`.
macro_rules! text_or_number {
    ($name:ident, $number:ty, $from:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(untagged)]
                enum Typed {
                    Number($number),
                    Text(String),
                }
                match <Typed as serde::Deserialize>::deserialize(deserializer)? {
                    Typed::Number(number) => $from(number).map_err(serde::de::Error::custom),
                    Typed::Text(text) => text.parse().map_err(serde::de::Error::custom),
                }
            }
        }
    };
}

// After the macro, which they use.
mod error;
mod rate;
mod share;
mod size;
#[cfg(test)]
mod tests;
mod time;

pub use error::UnitError;
pub use rate::Rate;
pub use share::Percent;
pub use size::{BlockSize, ByteCount};
pub use time::Nanos;
