//! DiskSpd's own reports, text and XML, from what iostall measured.
//!
//! Layout, names and numbers are DiskSpd 2.2's, so that scripts written for it read ours. What is done otherwise on
//! purpose: latency runs from the intended start where load is paced, the start time is the start, XML is
//! escaped, and where an interval has no samples its minimum is absent and not 0.

pub mod convert;
pub mod input;
pub mod iops;
pub mod text;
pub mod xml;

#[cfg(test)]
mod fixture;

pub use convert::from_run;
pub use input::{
    CpuTopology, DiskspdReport, IntervalBucket, OpResult, PowerScheme, Processor, TargetResult, ThreadResult,
    TimeSpanResult,
};
pub use text::write_text;
pub use xml::write_xml;
