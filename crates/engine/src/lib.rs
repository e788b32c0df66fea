//! The only room with `unsafe` and with Linux in it: aligned buffers, opening for direct I/O, the I/O
//! engines, arrival pacing, and what the system tells about itself.

pub mod buffer;
pub mod guard;
pub mod host;
mod request;

pub use request::{
    Completion, Engine, EngineError, EngineReport, FileIndex, IoFailure, Request, RequestOp, Wait,
};
