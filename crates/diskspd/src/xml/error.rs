//! Why an XML profile cannot be read.

use thiserror::Error;

/// Largest profile that is read: a profile of a thousand targets has about 1 MiB.
pub const PROFILE_BYTES_MAX: usize = 4 << 20;
/// Deepest nesting that is read; DiskSpd's own has 8.
pub const DEPTH_MAX: usize = 16;
/// Most elements that are read.
pub const ELEMENTS_MAX: usize = 200_000;

/// Why an XML profile cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// Beyond [`PROFILE_BYTES_MAX`].
    #[error("it has {bytes} bytes; a profile has at most {PROFILE_BYTES_MAX}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Beyond [`DEPTH_MAX`] or [`ELEMENTS_MAX`].
    #[error("its elements are nested deeper than {DEPTH_MAX} or are more than {ELEMENTS_MAX}")]
    TooComplex,
    /// Neither UTF-8 nor UTF-16 with a byte order mark.
    #[error("it is neither UTF-8 nor UTF-16 with a byte order mark")]
    Encoding,
    /// Not well-formed.
    #[error("it is not well-formed XML: {0}")]
    Malformed(String),
    /// A document type or an entity of its own, which a profile never needs.
    #[error("it has a document type or an entity of its own, which are not read")]
    Declarations,
    /// Another document.
    #[error("its root is <{found}>; a profile's is <Profile>")]
    Root {
        /// The root's name.
        found: String,
    },
    /// An element that DiskSpd's schema does not have there.
    #[error("<{parent}> has an element <{name}>, which DiskSpd's profiles do not have there")]
    UnknownElement {
        /// Where.
        parent: String,
        /// Which.
        name: String,
    },
    /// An element given twice.
    #[error("<{parent}> has more than one <{name}>")]
    Repeated {
        /// Where.
        parent: String,
        /// Which.
        name: String,
    },
    /// An element that must be there.
    #[error("<{parent}> has no <{name}>")]
    Missing {
        /// Where.
        parent: String,
        /// Which.
        name: &'static str,
    },
    /// A value that is none.
    #[error("<{name}>{value}</{name}>: {wanted}")]
    Value {
        /// Element or attribute.
        name: String,
        /// What stands there, shortened.
        value: String,
        /// What must.
        wanted: String,
    },
    /// Event tracing.
    #[error("<{name}>: event tracing (ETW) exists only on Windows; remove the element")]
    EventTracing {
        /// The element.
        name: String,
    },
}
