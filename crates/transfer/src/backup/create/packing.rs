//! Which parts of files the frames of a transfer hold, if whoever reads them decides it, and not whoever makes the frames.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::base::Before;
use crate::backup::format::{BundleWriter, Piece};

/// The frames of transfers on their way to a worker, by the number of the transfer in its job.
#[derive(Default)]
pub(super) struct Packing(Mutex<HashMap<u64, Vec<PackedFrame>>>);

impl Packing {
    pub(super) fn put(&self, sequence: u64, frames: Vec<PackedFrame>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(sequence, frames);
    }

    pub(super) fn take(&self, sequence: u64) -> Vec<PackedFrame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&sequence).unwrap_or_default()
    }
}

/// One frame: parts of files, which stand one after another in the transfer.
#[derive(Debug)]
pub(super) struct PackedFrame {
    pieces: Vec<Piece>,
    befores: Vec<Before>,
    bytes: usize,
    /// Most bytes of it, with the table that several pieces need.
    capacity: usize,
    /// No piece goes on past a multiple of this in its file, so that an increment finds the frames of its base again.
    cut_bytes: u32,
    is_shared: bool,
    is_full: bool,
}

impl PackedFrame {
    pub(super) fn new(capacity: usize, cut_bytes: u32, is_shared: bool) -> Self {
        let (pieces, befores) = (Vec::new(), Vec::new());
        Self { pieces, befores, bytes: 0, capacity, cut_bytes, is_shared, is_full: false }
    }

    #[cfg(test)]
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(super) fn compared(&self) -> impl Iterator<Item = (&Piece, &Before)> {
        self.pieces.iter().zip(&self.befores)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn encoded_bytes(&self) -> usize {
        self.bytes + table_bytes(self.pieces.len())
    }

    /// How many bytes of the content `ahead` belong into it; `None` if it is for another frame.
    pub(super) fn room_for(&self, ahead: &Piece, is_small: bool) -> Option<usize> {
        if self.is_full {
            return None;
        }
        let wanted = ahead.length as usize;
        let past = ahead.offset % u64::from(self.cut_bytes);
        let uncut = self.cut_bytes as usize - usize::try_from(past).unwrap_or(0);
        if self.continues(ahead) {
            let room = self.capacity.saturating_sub(self.encoded_bytes());
            let fits = room > 0 && past > 0 && (self.pieces.len() == 1 || room >= wanted);
            return fits.then_some(room.min(uncut));
        }
        let room = self.capacity.saturating_sub(self.bytes + table_bytes(self.pieces.len() + 1));
        let fits = self.pieces.is_empty() || (self.is_shared && is_small && room >= wanted);
        fits.then_some(room.min(uncut))
    }

    /// Adds what was read of a file of which the base has `before`. After a last piece nothing follows.
    pub(super) fn push(&mut self, piece: Piece, before: &Before, is_last: bool) {
        self.bytes += piece.length as usize;
        self.is_full |= is_last;
        match self.pieces.last_mut() {
            Some(last) if follows(last, &piece) => last.length += piece.length,
            _ => {
                self.pieces.push(piece);
                self.befores.push(before.clone());
            }
        }
    }

    fn continues(&self, ahead: &Piece) -> bool {
        self.pieces.last().is_some_and(|last| follows(last, ahead))
    }
}

fn follows(one: &Piece, next: &Piece) -> bool {
    one.file == next.file && one.offset + u64::from(one.length) == next.offset
}

/// A single piece is a frame of its file, without a table.
fn table_bytes(pieces: usize) -> usize {
    if pieces > 1 { BundleWriter::table_bytes(pieces) } else { 0 }
}
