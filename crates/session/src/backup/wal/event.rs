//! What happens while a log is received.

use std::fmt;

use iostall_connect::postgres::Lsn;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    Begun {
        from: Lsn,
        timeline: u32,
    },
    Archived {
        name: String,
    },
    Switched {
        timeline: u32,
        at: Lsn,
    },
    /// The connection is gone; another one is tried.
    Lost {
        why: String,
        pause_s: u64,
    },
    /// There is no room for more. What is durable up to `flushed` stays.
    Full {
        why: String,
        flushed: Lsn,
        pause_s: u64,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The log is durable up to here.
    pub flushed: Lsn,
    pub timeline: u32,
    pub segments: u64,
}

impl fmt::Display for ReceiveEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun { from, timeline } => {
                write!(f, "receiving the log from {from} on, timeline {timeline}")
            }
            Self::Archived { name } => write!(f, "archived {name}"),
            Self::Switched { timeline, at } => write!(f, "the server began timeline {timeline} at {at}"),
            Self::Full { why, flushed, pause_s } => write!(
                f,
                "{why}: no room left; the archive is durable up to {flushed}, and the slot keeps the rest on the server; trying again in \
                 {pause_s} s"
            ),
            Self::Lost { why, pause_s } => write!(f, "{why}; trying again in {pause_s} s"),
        }
    }
}
