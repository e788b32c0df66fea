//! Reports from model values: terminal text, JSON, CSV, a self-contained HTML page, and a picture of the
//! terminal text. No database, no clock, no I/O except the caller's writer.
//!
//! Each run kind builds one [`Report`], and every output format renders that, so that they always agree. Only
//! the module of a kind knows the kind.

pub mod advice;
pub mod alerts;
pub mod answer;
pub mod atomic;
pub mod backups;
pub mod build;
pub mod capacity;
pub mod chart;
pub mod collector;
pub mod compare;
pub mod csv;
pub mod endurance;
pub mod exposition;
pub mod facts;
pub mod fleet;
pub mod fleet_pull;
pub mod fleet_push;
pub mod fleet_servers;
pub mod format;
pub mod forms;
pub mod html;
pub mod json;
mod judgement;
pub mod junit;
mod kinds;
pub mod live;
pub mod markdown;
pub mod notes;
pub mod percent;
mod percentiles;
pub mod point;
pub mod powerfail;
pub mod report;
pub mod runs;
pub mod section;
pub mod settings;
pub mod table;
pub mod text;
pub mod top;
pub mod verdicts;
pub mod warnings;
pub mod watch;
mod work;
pub mod zone;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod golden;

pub use answer::run_line;
pub use csv::write_csv;
pub use html::{write_comparison_html, write_html, write_watch_html};
pub use json::{read_json, write_json};
pub use junit::write_junit;
pub use kinds::growing;
pub use markdown::write_markdown;
pub use report::Report;
pub use text::{TextOptions, write_sections, write_text};
