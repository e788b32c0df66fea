//! Output formats of two compared windows.

mod forms;
mod page;

pub use forms::{write_comparison_csv, write_comparison_json};
pub use page::{sections, title};
