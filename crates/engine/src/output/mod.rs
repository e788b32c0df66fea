//! The one writer of results: where a path that the user named for them leads, and how it is written without harm.
//!
//! | The path leads to | What happens |
//! |---|---|
//! | nothing yet, or a regular file | written under another name beside it, made durable, then renamed |
//! | a symbolic link | the link stays; what it leads to, there or not, is treated as above and below |
//! | a pipe, a character device, a descriptor of this process (`/dev/stdout`, `/dev/fd/63`) | written through |
//! | a directory, a block device, a socket | refused |
//!
//! Whether a regular file *may* be replaced is the caller's to decide, who knows what it was asked to write and what
//! else the command works on: [`Place`] tells which file it is by whatever name, and what is in it.

mod descriptor;
mod place;
mod refusal;
mod replace;
mod resolve;
mod stream;
#[cfg(test)]
mod tests;

pub use place::{Place, PlaceKind};
pub use refusal::OutputRefusal;
