//! Sizes, durations, percentages and rates as people type and read them.
//!
//! `K`, `M`, `G`, `T` and `KiB` … `TiB` are powers of 1024, as in every DBA's tools; `KB` … `TB` are powers
//! of 1000.

/// Implements `serde` for a unit type: reads a string or a bare number, writes `$write`.
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

// After the macro that it uses.
mod error;
mod rate;
mod share;
mod size;
#[cfg(test)]
mod tests;
mod throughput;
mod time;

pub use error::UnitError;
pub use rate::Rate;
pub use share::Percent;
pub use size::{BlockSize, ByteCount, as_typed};
pub use throughput::Throughput;
pub use time::Nanos;
