//! Where results go: what may be written and replaced, in which forms, and what a command works on and must not lose.
//!
//! Rendering is the caller's, who hands it in: nothing here knows what a report looks like.

mod error;
mod form;
mod growing;
mod log_file;
mod outputs;
mod taken;

pub use error::{OutputError, RefusalReason, TableError};
pub use form::{Form, JUNIT_ROOT, LOG_HEADING, MARKDOWN_HEADING};
pub use growing::GrowingTable;
pub use iostall_engine::output::{OutputRefusal, Place};
pub use log_file::{LogFile, LogFileError};
pub use outputs::{Delivery, Outputs, Render, Wanted};
pub use taken::{InputIsTarget, Taken};
