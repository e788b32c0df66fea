//! Splits words into options and targets.
//!
//! `-` always starts an option. So does `/` in DiskSpd, but on Linux it starts every absolute path. So a word
//! with a leading slash is an option only if all of this is true: it has no second slash, nothing exists at
//! that path, and the whole word is an option with a well-formed value (`/d10`, `/b64K`, `/Sh`, `/r`).
//! `/data` is therefore a target, because `ata` is no number. Options that end in a name (`X`, `e`, `y`,
//! `Z<size>,file`) need the `-`.

use thiserror::Error;

use crate::distribution::Distribution;
use crate::profile::ResultFormats;
use crate::size::parse_size;
use crate::unsupported::Unsupported;
use crate::validate::Violation;
use crate::xml::ProfileError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) word: String,
    pub(super) letter: char,
    pub(super) value: String,
}

impl Switch {
    pub(super) fn bad(&self, reason: impl Into<String>) -> CommandLineError {
        CommandLineError::BadValue { option: self.word.clone(), reason: reason.into() }
    }

    pub(super) fn conflict(&self, reason: impl Into<String>) -> CommandLineError {
        CommandLineError::Conflict { option: self.word.clone(), reason: reason.into() }
    }

    pub(super) fn asks_for_help(&self) -> bool {
        self.letter == '?' || matches!(self.word.as_str(), "-help" | "--help")
    }

    pub(super) fn unknown(&self) -> CommandLineError {
        CommandLineError::UnknownOption { option: self.word.clone() }
    }
}

#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) switches: Vec<Switch>,
    pub(super) targets: Vec<String>,
    /// Where the interpretation differs from the literal text.
    pub(super) warnings: Vec<String>,
}

/// Splits the arguments into options and targets. Accepts text pasted from web pages: a leading program name,
/// and typographic dashes instead of hyphens.
pub(super) fn scan(args: &[String], exists: &dyn Fn(&str) -> bool) -> Result<Scanned, CommandLineError> {
    let mut scanned = Scanned::default();
    for (place, word) in args.iter().enumerate() {
        if word.len() > WORD_BYTES_MAX || scanned.targets.len() >= TARGETS_MAX {
            return Err(CommandLineError::TooLarge);
        }
        if place == 0 && args.len() > 1 && is_program(word) && !exists(word) {
            scanned.warnings.push(format!("'{word}' is the program itself, and is left out"));
            continue;
        }
        let plain = without_dash(word).filter(|_| !exists(word));
        if let Some(plain) = &plain {
            scanned
                .warnings
                .push(format!("'{word}' begins with a dash of a web page, and is read as {plain}"));
        }
        match as_switch(plain.as_ref().unwrap_or(word), exists)? {
            Some(switch) if scanned.targets.is_empty() => scanned.switches.push(switch),
            Some(switch) => {
                return Err(CommandLineError::OptionAfterTarget {
                    hint: hint(&scanned),
                    option: switch.word,
                });
            }
            None => scanned.targets.push(word.clone()),
        }
    }
    Ok(scanned)
}

/// `diskspd` or `diskspd.exe`, with any directory and in any case.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    matches!(name.as_str(), "diskspd" | "diskspd.exe" | "diskspd64.exe" | "diskspd32.exe")
}

/// `word` with a hyphen if it begins with a typographic dash.
fn without_dash(word: &str) -> Option<String> {
    let rest = word
        .strip_prefix(['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}'])?;
    rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '?').then(|| format!("-{rest}"))
}

/// A value separated from its option is the most common reason for a target before an option.
fn hint(scanned: &Scanned) -> String {
    let (Some(option), Some(value)) = (scanned.switches.last(), scanned.targets.first()) else {
        return String::new();
    };
    if option.value.is_empty() && parse_size(value, 1).is_ok() {
        return format!("; a value follows its option without a blank: write {}{value}", option.word);
    }
    String::new()
}

fn as_switch(word: &str, exists: &dyn Fn(&str) -> bool) -> Result<Option<Switch>, CommandLineError> {
    let mut chars = word.chars();
    let dash = match chars.next() {
        Some('-') => true,
        Some('/') => false,
        _ => return Ok(None),
    };
    let Some(letter) = chars.next() else {
        if dash {
            return Err(CommandLineError::UnknownOption { option: word.to_owned() });
        }
        return Ok(None);
    };
    let switch = Switch { word: word.to_owned(), letter, value: chars.as_str().to_owned() };
    let is_switch = dash || (!word[1..].contains('/') && well_formed(letter, &switch.value) && !exists(word));
    Ok(is_switch.then_some(switch))
}

fn well_formed(letter: char, value: &str) -> bool {
    let size = |text: &str| parse_size(text, 1).is_ok();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match letter {
        '?' | 'h' | 'l' | 'L' | 'n' | 'p' | 'x' => value.is_empty(),
        'v' => matches!(value, "" | "s"),
        'b' | 'c' | 'T' => size(value),
        'B' => value.split_once(':').map_or_else(|| size(value), |(base, length)| size(base) && size(length)),
        'f' => size(value) || (!value.is_empty() && value.chars().all(|hint| "rst".contains(hint))),
        'C' | 'd' | 'W' | 'F' | 't' | 'o' | 'O' | 'i' | 'j' | 'I' | ':' => number(value),
        'z' | 'P' | 'D' | 'w' => value.is_empty() || number(value),
        'g' => number(value.strip_suffix('i').unwrap_or(value)),
        'r' => match (value.strip_prefix('s'), value.strip_prefix('d')) {
            (Some(share), _) => number(share),
            (_, Some(distribution)) => Distribution::parse(distribution, 1).is_ok(),
            _ => value.is_empty() || size(value),
        },
        's' => {
            let stride = value.strip_prefix('i').unwrap_or(value);
            stride.is_empty() || size(stride)
        }
        'S' => value.chars().all(|flag| "bhmruw".contains(flag)),
        'N' => matches!(value, "v" | "n" | "i"),
        'R' => value == "p" || ResultFormats::from_word(value.strip_prefix('p').unwrap_or(value)).is_some(),
        'Z' => value.is_empty() || value == "r" || size(value),
        'a' => value.is_empty() || super::affinity::parse_list(value).is_ok(),
        _ => false,
    }
}

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
