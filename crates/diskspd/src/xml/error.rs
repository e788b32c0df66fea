//! Why an XML profile cannot be read.

use thiserror::Error;

/// Largest profile: one of a thousand targets has about 1 MiB.
pub const PROFILE_BYTES_MAX: usize = 4 << 20;
/// Deepest nesting; DiskSpd's own profiles have 8 levels.
pub const DEPTH_MAX: usize = 16;
pub const ELEMENTS_MAX: usize = 200_000;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    #[error("it has {bytes} bytes; a profile has at most {PROFILE_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("its elements are nested deeper than {DEPTH_MAX} or are more than {ELEMENTS_MAX}")]
    TooComplex,
    #[error("it is neither UTF-8 nor UTF-16 with a byte order mark")]
    Encoding,
    #[error("it is not well-formed XML: {0}")]
    Malformed(String),
    #[error("it has a document type or an entity of its own, which are not read")]
    Declarations,
    #[error("its root is <{found}>; a profile's is <Profile>")]
    Root { found: String },
    #[error("<{parent}> has an element <{name}>, which DiskSpd's profiles do not have there")]
    UnknownElement { parent: String, name: String },
    #[error("<{parent}> has more than one <{name}>")]
    Repeated { parent: String, name: String },
    #[error("<{parent}> has no <{name}>")]
    Missing { parent: String, name: &'static str },
    #[error("<{name}>{value}</{name}>: {wanted}")]
    Value { name: String, value: String, wanted: String },
    #[error("<{name}>: event tracing (ETW) exists only on Windows; remove the element")]
    EventTracing { name: String },
}
