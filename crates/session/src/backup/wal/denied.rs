//! Why a server cannot fetch the log.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    Enter,
    Read,
    Run,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enter => "enter",
            Self::Read => "read",
            Self::Run => "run",
        })
    }
}
