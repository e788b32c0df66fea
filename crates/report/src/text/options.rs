//! What a terminal supports, and how much detail is wanted.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal. Below about 100 the less important columns are left out, with a note.
    pub width: usize,
    pub colour: bool,
    /// Characters beyond ASCII; without them `µs` is written `us`.
    pub unicode: bool,
    /// Show the percentiles of each role, from the 25th to nine nines.
    pub percentiles: bool,
    pub bars: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 100, colour: false, unicode: true, percentiles: false, bars: true }
    }
}
