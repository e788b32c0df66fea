//! Patterns of names, as rsync has them.

use std::path::Path;

use iostall_engine::files::path_bytes;
use thiserror::Error;

/// A pattern: `*` and `?` match within a name, `**` across directories, `[abc]` and `{a,b}` choose.
///
/// Without a slash it matches a name in any directory. With one at the beginning it starts at the source
/// directory; with one in the middle it matches the end of a path. With one at the end it matches directories
/// only, and with `/***` at the end such directories and everything in them.
#[derive(Clone, Debug)]
pub struct NamePattern {
    steps: Vec<Step>,
    directories_only: bool,
    /// Of `dir/***`: what is in such a directory.
    inside: Option<Vec<Step>>,
}

/// What a pattern has between slashes.
#[derive(Clone, Debug)]
enum Step {
    /// `**`: any number of names, and at the end at least one.
    Names,
    Name(String),
}

impl Step {
    fn new(text: &str) -> Self {
        if text == "**" {
            return Self::Names;
        }
        let mut glob = String::new();
        // An exclamation mark in front would negate the rest.
        glob.extend(text.starts_with('!').then_some('\\'));
        for letter in text.chars() {
            // Several asterisks in a name are one.
            if letter != '*' || !glob.ends_with('*') || glob.ends_with("\\*") {
                glob.push(letter);
            }
        }
        Self::Name(glob)
    }

    fn all_match(steps: &[Self], names: &[&[u8]]) -> bool {
        match steps.split_first() {
            None => names.is_empty(),
            Some((Self::Names, [])) => !names.is_empty(),
            Some((Self::Names, rest)) => {
                (0..=names.len()).any(|taken| Self::all_match(rest, &names[taken..]))
            }
            Some((Self::Name(glob), rest)) => names.split_first().is_some_and(|(name, others)| {
                fast_glob::glob_match(glob, name) && Self::all_match(rest, others)
            }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NamePatternError {
    #[error("an empty pattern matches nothing")]
    Empty,
    #[error("{0}")]
    Syntax(String),
    #[error("a slash within [] or {{}}, or after a backslash, matches nothing: give a pattern for each path")]
    Slash,
}

impl NamePattern {
    pub fn new(text: &str) -> Result<Self, NamePatternError> {
        let (text, has_inside) = match text.strip_suffix("/***") {
            Some(directory) if !directory.is_empty() => (directory, true),
            _ => (text, false),
        };
        let directories_only = has_inside || text.ends_with('/');
        let path = text.trim_end_matches('/');
        let (is_anchored, path) = match path.strip_prefix('/') {
            Some(path) => (true, path.trim_start_matches('/')),
            None => (false, path),
        };
        if path.is_empty() {
            return Err(NamePatternError::Empty);
        }
        fast_glob::validate(text).map_err(|error| NamePatternError::Syntax(error.to_string()))?;
        if path.split('/').any(|name| fast_glob::validate(name).is_err()) {
            return Err(NamePatternError::Slash);
        }
        let anywhere = (!is_anchored).then_some(Step::Names);
        let steps: Vec<Step> = anywhere.into_iter().chain(path.split('/').map(Step::new)).collect();
        let inside = has_inside.then(|| steps.iter().cloned().chain([Step::Names]).collect());
        Ok(Self { steps, directories_only, inside })
    }

    pub fn matches(&self, relative: &Path, is_directory: bool) -> bool {
        let names: Vec<&[u8]> = path_bytes(relative).split(|byte| *byte == b'/').collect();
        (is_directory || !self.directories_only) && Step::all_match(&self.steps, &names)
            || self.inside.as_ref().is_some_and(|inside| Step::all_match(inside, &names))
    }
}
