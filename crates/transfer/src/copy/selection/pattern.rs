//! Patterns of names, with rsync's rules about slashes.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

/// A pattern: `*` and `?` match within a name, `**` across directories, `[abc]` and `{a,b}` choose.
///
/// Without a slash it matches a name in any directory. With one at the beginning it starts at the source
/// directory; with one in the middle it matches the end of a path. With one at the end it matches directories
/// only.
#[derive(Clone, Debug)]
pub struct NamePattern {
    matcher: GlobMatcher,
    directories_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NamePatternError {
    #[error("an empty pattern matches nothing")]
    Empty,
    #[error("{0}")]
    Syntax(String),
}

impl NamePattern {
    pub fn new(text: &str) -> Result<Self, NamePatternError> {
        let directories_only = text.ends_with('/');
        let path = text.trim_end_matches('/');
        let (is_anchored, path) = match path.strip_prefix('/') {
            Some(path) => (true, path.trim_start_matches('/')),
            None => (false, path),
        };
        if path.is_empty() {
            return Err(NamePatternError::Empty);
        }
        let glob = if is_anchored { path.to_owned() } else { format!("**/{path}") };
        let built = GlobBuilder::new(&glob).literal_separator(true).build();
        let glob = built.map_err(|error| NamePatternError::Syntax(error.kind().to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), directories_only })
    }

    pub fn matches(&self, relative: &Path, is_directory: bool) -> bool {
        (is_directory || !self.directories_only) && self.matcher.is_match(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "/", "//"] {
            assert_eq!(NamePattern::new(text).unwrap_err(), NamePatternError::Empty);
        }
        assert!(matches!(NamePattern::new("a[b"), Err(NamePatternError::Syntax(_))));
    }

    #[test]
    fn names_that_are_not_text_match_too() {
        let name = iostall_engine::files::path_from_bytes(b"dir/odd-\xff.tmp".to_vec());
        assert!(NamePattern::new("*.tmp").unwrap().matches(&name, false));
        assert!(NamePattern::new("/dir/odd-?.tmp").unwrap().matches(&name, false));
    }
}
