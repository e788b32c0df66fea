//! Between reading and writing: checksums, in file order, on a thread of their own.
//!
//! Reads complete in any order and a checksum of a file needs them in one. So buffers wait here until it
//! is their turn; as reads are started in file order and the pool is bounded, few wait and none for long.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use iostall_engine::Buffer;
use iostall_model::transfer::HashKind;

use crate::hash::{BlockHashes, Digest, Hasher, piece_hash};
use crate::plan::Piece;

/// Which checksums are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashWanted {
    /// Of the whole file.
    pub whole: Option<HashKind>,
    /// Of each block of so many bytes, to find where files differ.
    pub block_bytes: Option<u64>,
    /// Of each piece, for the journal.
    pub pieces: bool,
}

impl HashWanted {
    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.whole.is_none() && self.block_bytes.is_none() && !self.pieces
    }
}

/// The checksums of a whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHashes {
    /// Of the whole.
    pub whole: Option<Digest>,
    /// XXH3 of each block, in order.
    pub blocks: Vec<u64>,
}

/// A piece whose turn is over.
pub(super) struct Hashed {
    pub(super) piece: Piece,
    pub(super) buffer: Buffer,
    /// XXH3 of the piece, where the journal wants it.
    pub(super) hash: u64,
}

/// What arrives, in file order.
enum Arrival {
    Data(Piece, Buffer),
    Zeros(u64),
}

impl Arrival {
    fn length(&self) -> u64 {
        match self {
            Self::Data(piece, _) => piece.length.into(),
            Self::Zeros(length) => *length,
        }
    }
}

struct Sums {
    whole: Option<Hasher>,
    blocks: Option<BlockHashes>,
    pieces: bool,
}

impl Sums {
    fn new(wanted: HashWanted) -> Self {
        Self {
            whole: wanted.whole.map(Hasher::new),
            blocks: wanted.block_bytes.map(BlockHashes::new),
            pieces: wanted.pieces,
        }
    }

    fn take(&mut self, arrival: Arrival) -> Option<Hashed> {
        match arrival {
            Arrival::Zeros(length) => {
                self.whole.iter_mut().for_each(|hasher| hasher.update_zeros(length));
                self.blocks.iter_mut().for_each(|blocks| blocks.update_zeros(length));
                None
            }
            Arrival::Data(piece, buffer) => {
                let data = &buffer[..piece.length as usize];
                self.whole.iter_mut().for_each(|hasher| hasher.update(data));
                self.blocks.iter_mut().for_each(|blocks| blocks.update(data));
                let hash = if self.pieces { piece_hash(data) } else { 0 };
                Some(Hashed { piece, buffer, hash })
            }
        }
    }

    fn finish(self) -> FileHashes {
        FileHashes {
            whole: self.whole.map(Hasher::finish),
            blocks: self.blocks.map(BlockHashes::finish).unwrap_or_default(),
        }
    }
}

enum Worker {
    /// On the thread that does the I/O: where there is one processor, a second thread only costs switches.
    Inline(Box<Sums>),
    Thread {
        arrivals: Sender<Arrival>,
        hashed: Receiver<Hashed>,
        thread: JoinHandle<FileHashes>,
    },
}

/// The stage between reading and writing.
pub struct HashStage {
    worker: Worker,
    next_offset: u64,
    early: BTreeMap<u64, Arrival>,
    ready: VecDeque<Hashed>,
    at_work: u32,
}

impl HashStage {
    /// A stage with a thread of its own, or on the caller's where there is but one processor.
    pub fn new(wanted: HashWanted) -> std::io::Result<Self> {
        match std::thread::available_parallelism() {
            Ok(processors) if processors.get() > 1 => Self::threaded(wanted),
            _ => Ok(Self::inline(wanted)),
        }
    }

    /// A stage on the caller's thread.
    pub fn inline(wanted: HashWanted) -> Self {
        Self::with(Worker::Inline(Box::new(Sums::new(wanted))))
    }

    /// A stage with a thread of its own.
    pub fn threaded(wanted: HashWanted) -> std::io::Result<Self> {
        let (arrivals, inbox) = channel();
        let (outbox, hashed) = channel();
        let thread = std::thread::Builder::new().name("hash".into()).spawn(move || {
            let mut sums = Sums::new(wanted);
            for arrival in inbox {
                if let Some(hashed) = sums.take(arrival) {
                    // Nobody listens any more after a failure; the buffer is then of no use to anybody.
                    let _ = outbox.send(hashed);
                }
            }
            sums.finish()
        })?;
        Ok(Self::with(Worker::Thread { arrivals, hashed, thread }))
    }

    fn with(worker: Worker) -> Self {
        Self { worker, next_offset: 0, early: BTreeMap::new(), ready: VecDeque::new(), at_work: 0 }
    }

    /// A piece has been read.
    pub(super) fn offer(&mut self, piece: Piece, buffer: Buffer) {
        self.arrive(piece.offset, Arrival::Data(piece, buffer));
    }

    /// A hole was met.
    pub(super) fn offer_hole(&mut self, offset: u64, length: u64) {
        self.arrive(offset, Arrival::Zeros(length));
    }

    fn arrive(&mut self, offset: u64, arrival: Arrival) {
        self.early.insert(offset, arrival);
        while let Some(arrival) = self.early.remove(&self.next_offset) {
            self.next_offset += arrival.length();
            match &mut self.worker {
                Worker::Inline(sums) => self.ready.extend(sums.take(arrival)),
                Worker::Thread { arrivals, .. } => {
                    self.at_work += u32::from(matches!(arrival, Arrival::Data(..)));
                    // The thread ends only when this sender is gone.
                    let _ = arrivals.send(arrival);
                }
            }
        }
    }

    /// Buffers with the thread; those that wait for their turn are not among them.
    pub(super) fn at_work(&self) -> u32 {
        self.at_work
    }

    /// Buffers here, at work or waiting.
    pub(super) fn held(&self) -> usize {
        self.early.len() + self.at_work as usize + self.ready.len()
    }

    /// A piece that is through; with `wait`, stays for it as long as one is at work.
    ///
    /// # Panics
    /// When its thread has.
    pub(super) fn take(&mut self, wait: bool) -> Option<Hashed> {
        if let Some(hashed) = self.ready.pop_front() {
            return Some(hashed);
        }
        let Worker::Thread { hashed, .. } = &self.worker else { return None };
        let hashed = if wait && self.at_work > 0 {
            hashed.recv().map_err(TryRecvError::from)
        } else {
            hashed.try_recv()
        };
        match hashed {
            Ok(hashed) => {
                self.at_work -= 1;
                Some(hashed)
            }
            Err(TryRecvError::Empty) => None,
            // It ends before its sender is dropped only in a panic, whose message has been printed; to wait for what it
            // had would be for ever.
            Err(TryRecvError::Disconnected) => panic!("the thread for checksums has ended"),
        }
    }

    /// Gives back the buffers whose turn will not come.
    pub(super) fn abandon(&mut self) -> Vec<Buffer> {
        std::mem::take(&mut self.early)
            .into_values()
            .filter_map(|arrival| match arrival {
                Arrival::Data(_, buffer) => Some(buffer),
                Arrival::Zeros(_) => None,
            })
            .collect()
    }

    /// The checksums of everything that came through.
    ///
    /// # Panics
    /// With the panic of its thread.
    pub(super) fn finish(self) -> FileHashes {
        match self.worker {
            Worker::Inline(sums) => sums.finish(),
            Worker::Thread { arrivals, hashed, thread } => {
                drop(arrivals);
                drop(hashed);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}
