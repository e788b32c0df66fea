//! Creates a target file: writes every byte with incompressible data, so that later reads reach the device.
//! Uses large direct requests, several in flight.

use std::path::Path;

use iostall_engine::buffer::{Buffer, BufferPool, Pages};
use iostall_engine::guard::HeaderKind;
use iostall_engine::null::NullEngine;
use iostall_engine::open::{Access, OpenError, OpenOptions, open_target};
use iostall_engine::psync::PsyncEngine;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_engine::{
    Completion, Engine, EngineError, FileHandle, FileIndex, Request, RequestOp, SimEngine, Wait,
};
use iostall_measure::{Caching, Percent};
use thiserror::Error;

use crate::fill::BlockFiller;
use crate::job::{EngineKind, LoadTarget};
use crate::source::WriteSource;

/// Request size for a new file: enough for full device speed, and a multiple of every sector size.
const REQUEST_BYTES: u32 = 1 << 20;
const DEPTH: u32 = 8;
/// File sizes are multiples of this, so that direct requests reach the last byte.
pub const SIZE_ALIGN: u64 = 4096;

#[derive(Debug, Error)]
pub enum PrepareError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("writing {path} at offset {offset}: {source}")]
    Write { path: String, offset: u64, source: std::io::Error },
    #[error("writing {path} at offset {offset}: the file system is full")]
    Full { path: String, offset: u64 },
    #[error("interrupted")]
    Interrupted,
}

/// Writes bytes `from..to` of the file at `path`, then syncs it. Both are rounded outwards to [`SIZE_ALIGN`].
///
/// The block at offset 0 begins with `first_header`. `go_on` is called with the bytes written so far, and
/// stops the work by returning `false`.
pub fn write_range(
    path: &Path,
    from: u64,
    to: u64,
    seed: u64,
    first_header: HeaderKind,
    kind: &EngineKind,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), PrepareError> {
    let from = from / SIZE_ALIGN * SIZE_ALIGN;
    let to = to.next_multiple_of(SIZE_ALIGN);
    write_sequence(
        &Sequence { path, from, to, request_bytes: REQUEST_BYTES, seed, first_header },
        kind,
        go_on,
    )
}

/// A pass over `target` from byte `from` to the end of what is used of it, in requests of `request_bytes`: every byte once, in order,
/// with content that no other pass with another `seed` has. Also on a simulated device, in its time.
pub fn write_pass(
    target: &LoadTarget,
    from: u64,
    request_bytes: u32,
    seed: u64,
    kind: &EngineKind,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), PrepareError> {
    let (from, to) = (from / SIZE_ALIGN * SIZE_ALIGN, target.size_bytes / SIZE_ALIGN * SIZE_ALIGN);
    let (path, first_header) = (target.open_path.as_path(), target.first_header);
    write_sequence(&Sequence { path, from, to, request_bytes, seed, first_header }, kind, go_on)
}

struct Sequence<'a> {
    path: &'a Path,
    from: u64,
    to: u64,
    request_bytes: u32,
    seed: u64,
    first_header: HeaderKind,
}

fn write_sequence(
    sequence: &Sequence<'_>,
    kind: &EngineKind,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), PrepareError> {
    let (pool, mut buffers) = BufferPool::new(DEPTH, sequence.request_bytes, Pages::HugeIfPossible)
        .map_err(|source| EngineError::System { call: "mapping the buffers", source })?;
    let mut filler = BlockFiller::new(sequence.seed, Percent::ZERO);
    for buffer in &mut buffers {
        filler.fill(buffer);
    }
    let writer = Writer {
        path: sequence.path,
        request_bytes: sequence.request_bytes,
        source: WriteSource::with_headers(filler).with_first_header(sequence.first_header),
        next: sequence.from,
        end: sequence.to,
        done: 0,
        sequence: 0,
    };
    let open = || {
        let options =
            OpenOptions { access: Access::Write, caching: Caching::Direct, ..OpenOptions::default() };
        open_target(sequence.path, &options)
    };
    match kind {
        EngineKind::Psync => {
            let target = open()?;
            writer.write(PsyncEngine::new(DEPTH, &[FileHandle::from(&target)])?, buffers, go_on)
        }
        EngineKind::Uring => {
            let target = open()?;
            let files = [FileHandle::from(&target)];
            let config = UringConfig { capacity: DEPTH, files: &files, buffers: Some(&pool) };
            writer.write(UringEngine::new(&config)?, buffers, go_on)
        }
        EngineKind::Null => writer.write(NullEngine::new(DEPTH, 1), buffers, go_on),
        EngineKind::Sim(device) => writer.write(SimEngine::new(device.clone(), DEPTH), buffers, go_on),
    }
}

#[derive(Clone, Copy, Default)]
struct Piece {
    offset: u64,
    length: u32,
}

struct Writer<'a> {
    path: &'a Path,
    request_bytes: u32,
    source: WriteSource,
    next: u64,
    end: u64,
    done: u64,
    sequence: u64,
}

impl Writer<'_> {
    fn write<E: Engine>(
        mut self,
        mut engine: E,
        buffers: Vec<Buffer>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), PrepareError> {
        let mut pieces = vec![Piece::default(); buffers.len()];
        for (token, buffer) in (0_u32..).zip(buffers) {
            self.start(&mut engine, &mut pieces, token, buffer);
        }
        let mut completions = Vec::new();
        while engine.in_flight() > 0 {
            engine.submit(Wait::ONE, &mut completions)?;
            for completion in completions.drain(..) {
                self.take(&mut engine, &mut pieces, completion)?;
            }
            if !go_on(self.done) {
                return Err(PrepareError::Interrupted);
            }
        }
        self.sync(&mut engine)
    }

    fn start<E: Engine>(&mut self, engine: &mut E, pieces: &mut [Piece], token: u32, mut buffer: Buffer) {
        let left = self.end - self.next;
        let length = u32::try_from(left).unwrap_or(u32::MAX).min(self.request_bytes);
        if length == 0 {
            return;
        }
        let offset = self.next;
        self.next += u64::from(length);
        self.source.prepare(&mut buffer[..length as usize], offset, self.sequence);
        self.sequence += 1;
        pieces[token as usize] = Piece { offset, length };
        engine.push(write_of(token, offset, length, buffer));
    }

    fn take<E: Engine>(
        &mut self,
        engine: &mut E,
        pieces: &mut [Piece],
        completion: Completion,
    ) -> Result<(), PrepareError> {
        let piece = pieces[completion.token as usize];
        let path = || self.path.display().to_string();
        let moved = completion.result.map_err(|failure| PrepareError::Write {
            path: path(),
            offset: piece.offset,
            source: failure.into(),
        })?;
        self.done += u64::from(moved);
        let mut buffer = completion.buffer.expect("a write gives its buffer back");
        if moved == piece.length {
            self.start(engine, pieces, completion.token, buffer);
            return Ok(());
        }
        if moved == 0 {
            return Err(PrepareError::Full { path: path(), offset: piece.offset });
        }
        // A short write, such as on a nearly full file system: continue with the rest.
        let rest = Piece { offset: piece.offset + u64::from(moved), length: piece.length - moved };
        buffer.copy_within(moved as usize..piece.length as usize, 0);
        pieces[completion.token as usize] = rest;
        engine.push(write_of(completion.token, rest.offset, rest.length, buffer));
        Ok(())
    }

    fn sync<E: Engine>(&self, engine: &mut E) -> Result<(), PrepareError> {
        let mut completions = Vec::new();
        engine.push(Request {
            token: 0,
            op: RequestOp::Fsync,
            file: FileIndex(0),
            offset: 0,
            length: 0,
            buffer: None,
        });
        engine.submit(Wait::ONE, &mut completions)?;
        match completions.pop().map(|completion| completion.result) {
            Some(Err(failure)) => Err(PrepareError::Write {
                path: self.path.display().to_string(),
                offset: self.end,
                source: failure.into(),
            }),
            _ => Ok(()),
        }
    }
}

fn write_of(token: u32, offset: u64, length: u32, buffer: Buffer) -> Request {
    Request { token, op: RequestOp::Write, file: FileIndex(0), offset, length, buffer: Some(buffer) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Writes a part of a new file of 12 MiB; what `go_on` was called with, and what is in the file.
    fn written(from: u64, to: u64, most: u64) -> (Result<(), PrepareError>, Vec<u64>, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made");
        std::fs::File::create(&path).unwrap().set_len(12 * MIB).unwrap();
        let mut seen = Vec::new();
        let mut go_on = |done| {
            seen.push(done);
            done < most
        };
        let result = write_range(&path, from, to, 7, HeaderKind::MadeFile, &EngineKind::Psync, &mut go_on);
        (result, seen, std::fs::read(&path).unwrap())
    }

    /// More pieces than are in flight at once: each byte is written once, and no two blocks are alike, so that no array can keep
    /// one of them for all.
    #[test]
    fn a_new_file_is_written_whole_and_no_block_of_it_is_like_another() {
        let (result, seen, content) = written(0, 12 * MIB, u64::MAX);
        result.unwrap();
        assert_eq!(seen.last(), Some(&(12 * MIB)));
        assert_eq!(content.len() as u64, 12 * MIB);
        let blocks: HashSet<&[u8]> = content.chunks(4096).collect();
        assert_eq!(blocks.len(), content.len() / 4096);
    }

    #[test]
    fn a_part_is_written_in_whole_blocks_and_the_rest_stays_as_it_was() {
        let (result, _, content) = written(2 * MIB + 1, 11 * MIB - 1, u64::MAX);
        result.unwrap();
        let is_written =
            |block: usize| content[block * 4096..(block + 1) * 4096].iter().any(|byte| *byte != 0);
        let of = |mib: u64| usize::try_from(mib * MIB / 4096).unwrap();
        assert!((of(2)..of(11)).all(is_written));
        assert!(!(0..of(2)).any(is_written) && !(of(11)..of(12)).any(is_written));
    }

    #[test]
    fn who_stops_it_is_obeyed_before_the_end() {
        let (result, seen, _) = written(0, 12 * MIB, 3 * MIB);
        assert!(matches!(result, Err(PrepareError::Interrupted)));
        assert!(seen.iter().rev().skip(1).all(|done| *done < 3 * MIB), "{seen:?}");
    }
}
