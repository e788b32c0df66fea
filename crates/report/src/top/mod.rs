//! The live full-screen view: its state, its keys, and how it is drawn.
//!
//! Nothing here depends on a terminal: keys come in as [`Key`], a frame goes out. So the whole view is tested
//! on a screen of a few lines of text.

mod columns;
mod draw;
mod inside;
mod keys;
mod past;
mod state;
mod style;
mod table;

pub use columns::Column;
pub use draw::draw;
pub use keys::{Asked, Key};
pub use state::{TopSource, TopState};

#[cfg(test)]
mod tests;
