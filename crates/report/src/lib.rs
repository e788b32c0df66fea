//! Reports from model values: terminal text, JSON, CSV, a self-contained HTML page, and a picture of the
//! terminal text. No database, no clock, no I/O but the writer that the caller hands in.
//!
//! The figures are derived once ([`figures`]) and laid out once ([`tables`], [`facts`]); text and HTML show
//! the same tables, so the two can never disagree.

pub mod compare;
pub mod csv;
mod csv_error;
pub mod exposition;
pub mod facts;
pub mod format;
pub mod html;
pub mod json;
pub mod line;
pub mod matrix;
pub mod max_rate;
pub mod point;
pub mod section;
mod sections;
pub mod svg;
pub mod sweep;
pub mod table;
pub mod tables;
pub mod text;
pub mod top;
pub mod transfer;
pub mod warnings;
pub mod watch;
pub mod work;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod golden;

pub use csv::write_csv;
pub use html::{write_comparison_html, write_html, write_watch_html};
pub use json::{read_json, write_json};
pub use line::run_line;
pub use svg::text_to_svg;
pub use text::{TextOptions, write_sections, write_text};
