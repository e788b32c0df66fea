//! Why a command line is rejected.

use thiserror::Error;

use crate::unsupported::Unsupported;
use crate::validate::Violation;
use crate::xml::ProfileError;

/// Longest word: Linux takes no longer path.
pub const WORD_BYTES_MAX: usize = 4096;
/// Most targets of a command line: with settings they still fit an XML profile.
pub const TARGETS_MAX: usize = 512;

/// Why a command line or a profile is rejected, exit status [`crate::EXIT_REJECTED`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandLineError {
    /// Nothing was typed: print the usage.
    #[error("no options and no targets; -? shows what can be written")]
    NoArguments,
    /// DiskSpd's own words, then what is most often the cause.
    #[error("parameters ({option}) must come before targets on the command line{hint}")]
    OptionAfterTarget {
        /// The option.
        option: String,
        /// Empty, or a sentence about a value that was taken for a target.
        hint: String,
    },
    /// A word that can be no path, or more targets than a profile may have.
    #[error("a word has at most {WORD_BYTES_MAX} bytes, and a test at most {TARGETS_MAX} targets")]
    TooLarge,
    /// SQLIO's options.
    #[error(
        "these are SQLIO's options (-kR reads, -kW writes); in DiskSpd's words about the same is\n  {suggestion}"
    )]
    Sqlio {
        /// A command line of DiskSpd's.
        suggestion: String,
    },
    /// A letter that means nothing.
    #[error("invalid option: '{option}'; -? shows the options there are")]
    UnknownOption {
        /// As typed.
        option: String,
    },
    /// A value that is none for its option.
    #[error("invalid option: '{option}': {reason}")]
    BadValue {
        /// As typed.
        option: String,
        /// What to write.
        reason: String,
    },
    /// Twice the same, or two that exclude each other.
    #[error("conflicting option: '{option}': {reason}")]
    Conflict {
        /// As typed.
        option: String,
        /// With what.
        reason: String,
    },
    /// What Linux does not have.
    #[error("{}", lines(.0))]
    Refused(Vec<Unsupported>),
    /// Settings that cannot be meant together.
    #[error("{}", lines(.0))]
    Invalid(Vec<Violation>),
    /// The XML profile cannot be read.
    #[error("XML profile '{path}': {source}")]
    Profile {
        /// Its file.
        path: String,
        /// What is wrong with it.
        source: ProfileError,
    },
    /// More targets than templates.
    #[error(
        "'{path}': the XML profile has no template target for it (*1, *2, … stand for the targets of the command line)"
    )]
    TargetWithoutTemplate {
        /// The target.
        path: String,
    },
}

fn lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join("\n")
}
