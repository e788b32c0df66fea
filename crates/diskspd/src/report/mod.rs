//! DiskSpd's text and XML reports from iostall's measurements.
//!
//! Layout, names and numbers are those of DiskSpd 2.2, so that scripts written for it can read ours.
//! Deliberate differences: latency starts at the intended start if the load is paced, the start time is the
//! start, XML is escaped, and the minimum of an interval without samples is absent instead of 0.

pub mod convert;
pub mod input;
pub mod iops;
pub mod text;
pub mod xml;

#[cfg(test)]
mod fixture;

pub use convert::from_run;
pub use convert::{AskedError, asked, profile_of, report_of};
pub use input::{
    CpuTopology, DiskspdReport, IntervalBucket, OpResult, PowerScheme, Processor, TargetResult, ThreadResult,
    TimeSpanResult,
};
pub use text::write_text;
pub use xml::write_xml;
