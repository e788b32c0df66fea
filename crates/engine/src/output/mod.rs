//! Writes results to a path that the user named, without damaging anything.
//!
//! | The path leads to | What happens |
//! |---|---|
//! | nothing yet, or a regular file | written to a temporary file beside it, made durable, then renamed |
//! | a symbolic link | the link stays; its target, existing or not, is treated as in this table |
//! | a pipe, a character device, a descriptor of this process (`/dev/stdout`, `/dev/fd/63`) | written directly |
//! | a directory, a block device, a socket | refused |
//!
//! Whether a regular file *may* be replaced is up to the caller, who knows what else the command works on:
//! [`Place`]
//! identifies the file under any name, and its content.

mod place;
mod refusal;
mod replace;
mod resolve;
mod stream;
#[cfg(test)]
mod tests;

pub use place::{Place, PlaceKind};
pub use refusal::OutputRefusal;
