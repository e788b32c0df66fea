//! Output formats of windows and comparisons of watched sources.

mod backups;
pub(crate) mod columns;
pub mod comparison;
mod forms;
mod page;

pub use forms::{TimedCsv, write_watch_csv, write_watch_json, write_watch_junit};
pub use page::{heading, reasons, sections, sentences, title};
