//! What a drive holds: what survives a loss of power, and what is only in its cache.

use std::collections::HashMap;

const PAGE_BYTES: usize = 4096;
/// Writes that the cache holds; the drive moves others out of it when it pleases.
const CACHED_MAX: usize = 48;

/// What the drive does with a flush, and when its power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Personality {
    /// Has no cache: each write is durable.
    Uncached,
    /// A flush is true; of what was not flushed, whole writes are lost or not.
    Honest,
    /// A flush does nothing. The cache is emptied in order, when it is full.
    IgnoresFlush,
    /// A flush empties half of the cache.
    FlushesPartly,
    /// A flush is true; of what was not flushed, pieces of this many bytes are lost or not.
    Tears(usize),
    /// A flush does nothing, and the cache is emptied in any order.
    Reorders,
}

struct Write {
    offset: u64,
    data: Vec<u8>,
}

/// Bytes of a drive. What was never written is zeros, and takes no memory.
pub(crate) struct Medium {
    personality: Personality,
    size_bytes: u64,
    stable: HashMap<u64, Box<[u8; PAGE_BYTES]>>,
    /// Oldest first.
    cached: Vec<Write>,
    state: u64,
    is_off: bool,
    /// Writes and flushes until the power fails.
    left: Option<u64>,
}

impl Medium {
    pub(crate) fn new(personality: Personality, size_bytes: u64, seed: u64) -> Self {
        Self {
            personality,
            size_bytes,
            stable: HashMap::new(),
            cached: Vec::new(),
            state: seed.wrapping_mul(2).wrapping_add(1),
            is_off: false,
            left: None,
        }
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Cuts the power at the write or flush that comes after `count` others.
    pub(crate) fn cut_after(&mut self, count: u64) {
        self.left = Some(count);
    }

    pub(crate) fn power_on(&mut self) {
        self.is_off = false;
        self.left = None;
    }

    /// Drops the cache, but for what the personality lets survive.
    pub(crate) fn cut(&mut self) {
        self.is_off = true;
        for write in std::mem::take(&mut self.cached) {
            let piece = match self.personality {
                Personality::Honest => write.data.len(),
                Personality::Tears(bytes) => bytes,
                Personality::Uncached
                | Personality::IgnoresFlush
                | Personality::FlushesPartly
                | Personality::Reorders => continue,
            };
            for (number, part) in (0..).zip(write.data.chunks(piece.max(1))) {
                if self.coin() {
                    self.settle(write.offset + number * piece as u64, part);
                }
            }
        }
    }

    /// `None` without power.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        if self.is_off {
            return None;
        }
        let mut data = vec![0; length.min(to_usize(self.size_bytes.saturating_sub(offset)))];
        for (page, within, at, length) in pieces(offset, data.len()) {
            if let Some(content) = self.stable.get(&page) {
                data[at..at + length].copy_from_slice(&content[within..within + length]);
            }
        }
        let end = offset + data.len() as u64;
        for write in &self.cached {
            let (from, to) = (write.offset.max(offset), (write.offset + write.data.len() as u64).min(end));
            if from < to {
                let of_write = to_usize(from - write.offset)..to_usize(to - write.offset);
                data[to_usize(from - offset)..to_usize(to - offset)].copy_from_slice(&write.data[of_write]);
            }
        }
        Some(data)
    }

    /// `false` without power.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> bool {
        if !self.has_power() {
            return false;
        }
        if self.personality == Personality::Uncached {
            self.settle(offset, data);
            return true;
        }
        self.cached.push(Write { offset, data: data.to_vec() });
        while self.cached.len() > CACHED_MAX {
            let any = self.random(self.cached.len() as u64);
            let number = if self.personality == Personality::Reorders { to_usize(any) } else { 0 };
            self.empty(number);
        }
        true
    }

    /// `false` without power.
    pub(crate) fn flush(&mut self) -> bool {
        if !self.has_power() {
            return false;
        }
        match self.personality {
            Personality::Uncached | Personality::IgnoresFlush | Personality::Reorders => {}
            Personality::Honest | Personality::Tears(_) => {
                while !self.cached.is_empty() {
                    self.empty(0);
                }
            }
            Personality::FlushesPartly => {
                for number in (0..self.cached.len()).rev() {
                    if self.coin() && number < self.cached.len() {
                        self.empty(number);
                    }
                }
            }
        }
        true
    }

    fn has_power(&mut self) -> bool {
        match &mut self.left {
            Some(0) => {
                self.left = None;
                self.cut();
            }
            Some(left) => *left -= 1,
            None => {}
        }
        !self.is_off
    }

    /// Moves a write out of the cache. Older ones of the same place are gone with it.
    fn empty(&mut self, number: usize) {
        let write = self.cached.remove(number);
        let mut index = 0;
        self.cached.retain(|other| {
            index += 1;
            index > number || other.offset != write.offset
        });
        self.settle(write.offset, &write.data);
    }

    fn settle(&mut self, offset: u64, data: &[u8]) {
        for (page, within, at, length) in pieces(offset, data.len()) {
            let content = self.stable.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES]));
            content[within..within + length].copy_from_slice(&data[at..at + length]);
        }
    }

    fn coin(&mut self) -> bool {
        self.random(2) == 0
    }

    /// A number below `end` (xorshift64*).
    fn random(&mut self, end: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end.max(1)
    }
}

/// The page, where in it, where in the data, and how many bytes.
fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let position = offset + at as u64;
        let within = to_usize(position % PAGE_BYTES as u64);
        let length = (PAGE_BYTES - within).min(bytes - at);
        let piece = (position / PAGE_BYTES as u64, within, at, length);
        at += length;
        (length > 0).then_some(piece)
    })
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("a drive of a test fits into memory")
}
