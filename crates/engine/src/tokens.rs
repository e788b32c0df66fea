//! Enforces the rules of [`Engine::push`](crate::Engine::push) for all engines.

use crate::request::{Request, RequestOp};

#[derive(Debug)]
pub(crate) struct Tokens {
    busy: Vec<bool>,
    in_flight: u32,
    file_count: usize,
}

impl Tokens {
    pub(crate) fn new(capacity: u32, file_count: usize) -> Self {
        Self { busy: vec![false; capacity as usize], in_flight: 0, file_count }
    }

    pub(crate) fn capacity(&self) -> u32 {
        // Made from a `u32`.
        u32::try_from(self.busy.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Marks the request's token as in flight. Panics as described at `Engine::push`.
    #[inline]
    pub(crate) fn admit(&mut self, request: &Request) {
        let token = request.token as usize;
        assert!(token < self.busy.len(), "token {token} is not below the capacity, {}", self.busy.len());
        assert!(!self.busy[token], "token {token} is in flight already");
        let file = usize::from(request.file.0);
        assert!(file < self.file_count, "file {file} is not one of the engine's {}", self.file_count);
        if matches!(request.op, RequestOp::Read | RequestOp::Write | RequestOp::WriteThrough) {
            let bytes = request.buffer.as_ref().map(crate::buffer::Buffer::bytes);
            let bytes = bytes.expect("a read or a write needs a buffer");
            assert!(request.length <= bytes, "{} bytes in a buffer of {bytes}", request.length);
        }
        self.busy[token] = true;
        self.in_flight += 1;
    }

    #[inline]
    pub(crate) fn release(&mut self, token: u32) {
        self.busy[token as usize] = false;
        self.in_flight -= 1;
    }
}
