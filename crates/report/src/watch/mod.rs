//! How windows of watched sources, and two of them compared, are shown.

pub(crate) mod columns;
pub mod comparison;
mod forms;
mod page;
mod sentences;

pub use forms::{write_watch_csv, write_watch_json};
pub use page::{heading, sections, title};
pub use sentences::sentences;
