//! Drops what a drill made, and nothing else.

use std::cell::Cell;
use std::fmt;

use iostall_connect::sqlserver::Parameter;
use iostall_model::drill::{CheckState, DrillCheck};

use super::chain::SqlServerDrillRequest;
use super::plan::{self, MovedFile};
use crate::backup::sqlserver::follow::Follower;
use crate::backup::sqlserver::run::cause;
use crate::backup::sqlserver::server::{Server, number, text};

const FILES: &str = include_str!("../sql/drill_files.sql");
/// A server undoes a statement that was stopped before its database can be dropped.
const TRIES: u32 = 30;
/// How often a running DROP looks whether it takes too long: a hundred milliseconds each.
const LOOKS_MAX: u32 = 3_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) database_id: u64,
    pub(super) created: String,
}

#[derive(Debug)]
pub(super) struct Left {
    name: String,
    reason: String,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the database {} is still on the server: {}; look at it, and drop it yourself",
            self.name, self.reason
        )
    }
}

pub(super) struct CleanUp<'a> {
    pub(super) server: &'a Server,
    pub(super) name: &'a str,
    pub(super) files: &'a [MovedFile],
}

enum State {
    Gone,
    Ours(Made),
    /// Somebody made one of that name.
    Foreign,
}

enum Tried {
    Gone { was_dropped: bool },
    Foreign,
}

impl CleanUp<'_> {
    /// Drops the database if it is the one that this drill made: by its files, and by its number and time if these are known. Whether there
    /// was one.
    pub(super) fn drop_database(&self, made: Option<&Made>) -> Result<bool, Left> {
        let mut last = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                Follower::pause();
            }
            match self.try_once(made) {
                Ok(Tried::Gone { was_dropped }) => return Ok(was_dropped || attempt > 0),
                Ok(Tried::Foreign) => {
                    return Err(self
                        .left("it is not the one that the drill made, so it was left as it is".to_owned()));
                }
                Err(reason) => last = reason,
            }
        }
        Err(self.left(last))
    }

    fn left(&self, reason: String) -> Left {
        Left { name: self.name.to_owned(), reason }
    }

    fn try_once(&self, made: Option<&Made>) -> Result<Tried, String> {
        let now = match self.state()? {
            State::Gone => return Ok(Tried::Gone { was_dropped: false }),
            State::Ours(now) if made.is_none_or(|made| *made == now) => now,
            State::Ours(_) | State::Foreign => return Ok(Tried::Foreign),
        };
        let tag = "iostall:drill_drop";
        let known = Some((now.database_id, now.created.as_str()));
        let text = format!("/* {tag} */ {}", plan::drop(self.name, known, self.files));
        let connection = self.server.open().map_err(|error| error.to_string())?;
        let looks = Cell::new(0);
        let is_overdue = || looks.replace(looks.get() + 1) > LOOKS_MAX;
        match connection.execute(tag, &text, &is_overdue) {
            Ok(Some(_)) => match self.state()? {
                State::Gone => Ok(Tried::Gone { was_dropped: true }),
                State::Ours(_) | State::Foreign => Err("it is still there after DROP DATABASE".to_owned()),
            },
            Ok(None) => Err("DROP DATABASE did not answer".to_owned()),
            Err(error) => Err(cause(error)),
        }
    }

    fn state(&self) -> Result<State, String> {
        let mut connection = self.server.open().map_err(|error| error.to_string())?;
        let name = [Parameter::Text(self.name)];
        let rows = connection.query("iostall:drill_files", FILES, &name).map_err(cause)?;
        let Some(first) = rows.first() else { return Ok(State::Gone) };
        let is_ours = rows.iter().all(|row| {
            let path = text(row, "physical_name").to_lowercase();
            self.files.iter().any(|file| file.to.to_lowercase() == path)
        });
        let made =
            Made { database_id: number(first, "database_id").unwrap_or(0), created: text(first, "created") };
        Ok(if is_ours { State::Ours(made) } else { State::Foreign })
    }

    /// What the server says of the database that was just made; `None` if it is not this drill's.
    pub(super) fn made(&self) -> Option<Made> {
        match self.state() {
            Ok(State::Ours(made)) => Some(made),
            Ok(State::Gone | State::Foreign) | Err(_) => None,
        }
    }
}

/// What is left, as a check of the drill.
pub(super) fn check(request: &SqlServerDrillRequest, stays: bool, left: Result<bool, Left>) -> DrillCheck {
    let (state, detail) = match left {
        Ok(_) if stays => (CheckState::Passed, format!("the database {} was kept", request.name)),
        Ok(true) => (CheckState::Passed, format!("the database {} was dropped", request.name)),
        Ok(false) => (CheckState::Passed, format!("there is no database {}", request.name)),
        Err(left) => (CheckState::NotAvailable, left.to_string()),
    };
    DrillCheck { name: "clean-up".to_owned(), state, detail, elapsed_ns: 0 }
}
