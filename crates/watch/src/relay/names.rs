//! Names of files in a relay: the store, a number, and what it is.

use std::fmt;

use iostall_store::StoreId;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    /// The wish of a server to join.
    Join,
    /// Messages of a server.
    Batch,
    /// What the centre has of a server.
    Confirmed,
}

impl FileKind {
    const ALL: [Self; 3] = [Self::Join, Self::Batch, Self::Confirmed];

    fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Batch => "batch",
            Self::Confirmed => "confirmed",
        }
    }
}

/// The name of a file. In order, those of a server come one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileName {
    pub(super) store: StoreId,
    pub(super) kind: FileKind,
    pub(super) number: u64,
}

impl FileName {
    /// `None` if it is none of a relay: whatever else lies there is left alone.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (store, number, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let name = Self {
            store: store.parse().ok()?,
            kind: FileKind::ALL.into_iter().find(|known| known.name() == kind)?,
            number: number.parse().ok()?,
        };
        // One name only for each file.
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:020}.{}", self.store, self.number, self.kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_file_and_nothing_else_is_one() {
        let text = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.00000000000000000007.batch";
        let name = FileName::parse(text).unwrap();
        assert_eq!((name.kind, name.number, name.to_string().as_str()), (FileKind::Batch, 7, text));
        let others = [
            "",
            "x",
            "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.7.batch",
            "7F0F5A6E-6a3b-4d7e-8e36-0a4a1c6d1f11.00000000000000000007.batch",
            "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.00000000000000000007.batch.x",
            "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.+0000000000000000007.batch",
            "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.00000000000000000007.sample",
            "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11.99999999999999999999.batch",
        ];
        for other in others {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
