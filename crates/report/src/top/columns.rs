//! The columns and their order.

use std::cmp::Ordering;

use iostall_model::{Counter, Totals};
use iostall_watch::windows::GroupKey;

use crate::judgement::{Judgement, of_stall};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Name,
    /// Reads per second.
    Reads,
    /// Writes per second.
    Writes,
    /// MiB read per second.
    ReadMib,
    /// MiB written per second.
    WriteMib,
    StallPerRead,
    StallPerWrite,
    /// Stall per read or write.
    StallPerIo,
    /// Mean size of a read or write.
    Size,
    /// Mean number in flight.
    Queue,
    /// Stall per sync or flush.
    StallPerSync,
    /// Stall per read or write that the resource governor added.
    Governor,
}

impl Column {
    /// From left to right.
    pub const ALL: [Self; 12] = [
        Self::Name,
        Self::Reads,
        Self::Writes,
        Self::ReadMib,
        Self::WriteMib,
        Self::StallPerRead,
        Self::StallPerWrite,
        Self::StallPerIo,
        Self::Size,
        Self::Queue,
        Self::StallPerSync,
        Self::Governor,
    ];

    /// The same in the order in which a narrow screen keeps them.
    const BY_USE: [Self; 11] = [
        Self::Reads,
        Self::Writes,
        Self::StallPerRead,
        Self::StallPerWrite,
        Self::Queue,
        Self::StallPerIo,
        Self::StallPerSync,
        Self::ReadMib,
        Self::WriteMib,
        Self::Size,
        Self::Governor,
    ];

    /// The columns of numbers that fit into `room` characters, from left to right: always the one that is sorted by, and those
    /// of few kinds only where some line has a number there.
    pub(super) fn shown(sort: Self, room: u16, lines: &[Line]) -> Vec<Self> {
        let is_rare = |column: &Self| matches!(column, Self::StallPerSync | Self::Governor);
        let has_number =
            |column: &Self| lines.iter().any(|line| column.value(line).is_some_and(|value| value > 0.0));
        let by_use = Self::BY_USE.into_iter().filter(|column| !is_rare(column) || has_number(column));
        let in_order = std::iter::once(sort)
            .filter(|sort| *sort != Self::Name)
            .chain(by_use.filter(|column| *column != sort));
        let mut left = room;
        let mut wanted = Vec::new();
        for column in in_order {
            // One character is between two columns.
            let Some(rest) = left.checked_sub(column.width() + 1) else { break };
            left = rest;
            wanted.push(column);
        }
        Self::ALL.into_iter().filter(|column| wanted.contains(column)).collect()
    }

    /// The width of its numbers, and of its heading with the mark of the order.
    pub(super) fn width(self) -> u16 {
        match self {
            Self::Name => 0,
            Self::Queue | Self::StallPerIo => 7,
            Self::ReadMib | Self::WriteMib | Self::StallPerRead | Self::Size | Self::StallPerSync => 8,
            Self::Reads | Self::Writes | Self::StallPerWrite | Self::Governor => 9,
        }
    }

    pub(super) fn judgement(self, line: &Line) -> Option<Judgement> {
        match self {
            Self::StallPerRead | Self::StallPerWrite | Self::StallPerIo | Self::StallPerSync => {
                of_stall(line.key.kind, &line.key.name, self.value(line)? * 1e6)
            }
            _ => None,
        }
    }

    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Reads => "reads/s",
            Self::Writes => "writes/s",
            Self::ReadMib => "r MiB/s",
            Self::WriteMib => "w MiB/s",
            Self::StallPerRead => "ms/read",
            Self::StallPerWrite => "ms/write",
            Self::StallPerIo => "ms/io",
            Self::Size => "KiB/io",
            Self::Queue => "queue",
            Self::StallPerSync => "ms/sync",
            Self::Governor => "governor",
        }
    }

    pub(super) fn value(self, line: &Line) -> Option<f64> {
        const MIB: f64 = 1_048_576.0;
        let totals = &line.totals;
        match self {
            Self::Name => None,
            Self::Reads => totals.per_second(Counter::Reads),
            Self::Writes => totals.per_second(Counter::Writes),
            Self::ReadMib => totals.per_second(Counter::ReadBytes).map(|bytes| bytes / MIB),
            Self::WriteMib => totals.per_second(Counter::WriteBytes).map(|bytes| bytes / MIB),
            Self::StallPerRead => totals.read_stall_ns_mean().map(|ns| ns / 1e6),
            Self::StallPerWrite => totals.write_stall_ns_mean().map(|ns| ns / 1e6),
            Self::StallPerIo => totals.io_stall_ns_mean().map(|ns| ns / 1e6),
            // Blocks say nothing about the size of requests.
            Self::Size if line.key.kind.counts_blocks() => None,
            Self::Size => totals.io_size_bytes_mean().map(|bytes| bytes / 1024.0),
            Self::Queue => totals.queue_depth_mean(),
            Self::StallPerSync => totals.sync_stall_ns_mean().map(|ns| ns / 1e6),
            Self::Governor => totals.queued_stall_ns_mean().map(|ns| ns / 1e6),
        }
    }

    /// Largest first, or smallest; names alphabetically. Missing numbers always come last.
    pub(super) fn compare(self, a: &Line, b: &Line, is_ascending: bool) -> Ordering {
        if self == Self::Name {
            let order = a.key.name.cmp(&b.key.name);
            return if is_ascending { order.reverse() } else { order };
        }
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) if is_ascending => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    /// The next column to the right or left, wrapping around.
    pub(super) fn beside(self, is_right: bool) -> Self {
        let count = Self::ALL.len();
        let place = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(place + if is_right { 1 } else { count - 1 }) % count]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) key: GroupKey,
    pub(super) totals: Totals,
    pub(super) missing: Vec<&'static str>,
}
