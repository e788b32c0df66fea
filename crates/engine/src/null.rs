//! An engine that moves no data, to measure the cost of everything around an engine.

use crate::report::EngineReport;
use crate::request::{Completion, Engine, EngineError, Request, RequestOp, Tokens, Wait};

/// Completes every request at once and in full. A read leaves its buffer unchanged.
#[derive(Debug)]
pub struct NullEngine {
    tokens: Tokens,
    done: Vec<Completion>,
}

impl NullEngine {
    /// An engine for `capacity` requests in flight on files 0 to `file_count - 1`.
    pub fn new(capacity: u32, file_count: usize) -> Self {
        Self { tokens: Tokens::new(capacity, file_count), done: Vec::with_capacity(capacity as usize) }
    }
}

impl Engine for NullEngine {
    fn report(&self) -> EngineReport {
        EngineReport { name: "null", ..EngineReport::default() }
    }

    fn capacity(&self) -> u32 {
        self.tokens.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.tokens.in_flight()
    }

    #[inline]
    fn push(&mut self, request: Request) {
        self.tokens.admit(&request);
        let moved = match request.op {
            RequestOp::Read | RequestOp::Write | RequestOp::WriteThrough => request.length,
            RequestOp::Fdatasync | RequestOp::Fsync | RequestOp::SyncFileRange => 0,
        };
        self.done.push(Completion { token: request.token, result: Ok(moved), buffer: request.buffer });
    }

    fn submit(&mut self, _wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        for completion in &self.done {
            self.tokens.release(completion.token);
        }
        completions.append(&mut self.done);
        Ok(())
    }

    fn calls(&self) -> u64 {
        0
    }
}
