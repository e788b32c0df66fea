//! Passwords: read late and never shown.

use std::fmt;
use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;

use crate::address::PasswordFrom;
use crate::error::SourceError;

/// One line, possibly with notes below it.
const PASSWORD: Input = Input { what: "password file", limit: ByteCount(64 << 10) };

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Reads the password from the place named in an address; `None` if the user must be asked.
    pub fn of(from: &PasswordFrom) -> Result<Option<Self>, SourceError> {
        Ok(Some(match from {
            PasswordFrom::Nowhere => Self::default(),
            PasswordFrom::File(path) => Self::from_file(path)?,
            PasswordFrom::Environment(variable) => Self::from_environment(variable)?,
            PasswordFrom::Prompt => return Ok(None),
        }))
    }

    pub fn typed(text: String) -> Self {
        Self(text)
    }

    /// The first line of the file at `path`, which others must not be able to read.
    pub fn from_file(path: &Path) -> Result<Self, SourceError> {
        let text = PASSWORD.secret(path)?;
        Ok(Self(text.lines().next().unwrap_or_default().to_owned()))
    }

    pub fn from_environment(name: &str) -> Result<Self, SourceError> {
        std::env::var(name).map(Self).map_err(|_| SourceError::PasswordVariable { name: name.to_owned() })
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_of_the_file_counts_and_nothing_shows_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pw");
        std::fs::write(&path, "s3cret\nnote\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let secret = Secret::from_file(&path).unwrap();
        assert_eq!(secret.reveal(), "s3cret");
        assert!(!format!("{secret:?}").contains("s3cret"));
    }
}
