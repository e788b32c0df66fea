//! Threads that read ranges of objects into buffers.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use iostall_engine::{Buffer, Completion, IoFailure};

use crate::object::ObjectReader;

const READS_MAX: usize = 32;

pub(crate) struct Read {
    pub(crate) object: Arc<ObjectReader>,
    pub(crate) token: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) buffer: Buffer,
}

pub(crate) struct Reads {
    /// `None` when they are to end.
    to_threads: Option<Sender<Read>>,
    waiting: Arc<Mutex<Receiver<Read>>>,
    from_threads: Receiver<Completion>,
    answer: Sender<Completion>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

impl Reads {
    pub(crate) fn new() -> Self {
        let (to_threads, waiting) = channel();
        let (answer, from_threads) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        Self {
            to_threads: Some(to_threads),
            waiting,
            from_threads,
            answer,
            threads: Vec::new(),
            in_flight: 0,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn begin(&mut self, read: Read) {
        self.in_flight += 1;
        if self.in_flight > self.threads.len() && self.threads.len() < READS_MAX {
            let (waiting, answer) = (Arc::clone(&self.waiting), self.answer.clone());
            let thread =
                std::thread::Builder::new().name("objects".into()).spawn(move || work(&waiting, &answer));
            self.threads.extend(thread.ok());
        }
        if self.threads.is_empty() {
            // Nobody would ever read it.
            let result = Err(IoFailure::NO_RESOURCES);
            let _ = self.answer.send(Completion { token: read.token, result, buffer: Some(read.buffer) });
        } else if let Some(to_threads) = &self.to_threads {
            // The receiver lives as long as this does.
            let _ = to_threads.send(read);
        }
    }

    /// A finished read; with `wait`, blocks while one is on its way.
    pub(crate) fn take(&mut self, wait: bool) -> Option<Completion> {
        if self.in_flight == 0 {
            return None;
        }
        let done = if wait { self.from_threads.recv().ok() } else { self.from_threads.try_recv().ok() };
        self.in_flight -= usize::from(done.is_some());
        done
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.to_threads = None;
        for thread in self.threads.drain(..) {
            // What it had is lost with it, and so is the engine that asked.
            let _ = thread.join();
        }
    }
}

fn work(waiting: &Mutex<Receiver<Read>>, answer: &Sender<Completion>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Read { object, token, offset, length, mut buffer }) = next else { return };
        let result = match object.read(offset, length.into()) {
            Ok(bytes) => {
                let length = bytes.len().min(buffer.len());
                buffer[..length].copy_from_slice(&bytes[..length]);
                Ok(u32::try_from(length).unwrap_or(u32::MAX))
            }
            Err(_) => Err(IoFailure::BROKEN),
        };
        if answer.send(Completion { token, result, buffer: Some(buffer) }).is_err() {
            return;
        }
    }
}
