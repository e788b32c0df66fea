//! Why a command line is rejected.

use thiserror::Error;

use crate::unsupported::Unsupported;
use crate::validate::Violation;
use crate::xml::ProfileError;

/// Longest word: the longest path on Linux.
pub const WORD_BYTES_MAX: usize = 4096;
/// Most targets: with their settings they still fit into an XML profile.
pub const TARGETS_MAX: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandLineError {
    #[error("no options and no targets; -? lists the options")]
    NoArguments,
    #[error("parameters ({option}) must come before targets on the command line{hint}")]
    OptionAfterTarget {
        option: String,
        /// Empty, or a sentence about a value that was taken for a target.
        hint: String,
    },
    #[error("a word has at most {WORD_BYTES_MAX} bytes, and a test at most {TARGETS_MAX} targets")]
    TooLarge,
    #[error(
        "these are SQLIO options (-kR reads, -kW writes); the DiskSpd equivalent is about\n  {suggestion}"
    )]
    Sqlio { suggestion: String },
    #[error("invalid option: '{option}'; -? lists the options")]
    UnknownOption { option: String },
    #[error("invalid option: '{option}': {reason}")]
    BadValue { option: String, reason: String },
    #[error("conflicting option: '{option}': {reason}")]
    Conflict { option: String, reason: String },
    #[error("{}", lines(.0))]
    Refused(Vec<Unsupported>),
    #[error("{}", lines(.0))]
    Invalid(Vec<Violation>),
    #[error("XML profile '{path}': {source}")]
    Profile { path: String, source: ProfileError },
    #[error(
        "'{path}': the XML profile has no template target for it (*1, *2, … are placeholders for the command line's targets)"
    )]
    TargetWithoutTemplate { path: String },
}

impl CommandLineError {
    /// A hint if the message lacks one, usually about a common mistake with this letter.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(violations) => violations.iter().find_map(Violation::hint),
            _ => None,
        }
    }
}

fn lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join("\n")
}
