//! Why there is no plan.

use iostall_measure::hinted;
use thiserror::Error;

hinted! {
    #[derive(Clone, Debug, PartialEq, Error)]
    #[non_exhaustive]
    pub enum BuildError {
        #[error(
            "{text:?} is no demand: write SIZE, then requests a second, writes in percent and sequential bytes a second, such as 2T,3000,30% or 100G,60MB/s"
        )]
        Demand { text: String },
        #[error("{text:?} is no level: write 0, 1, 5, 6 or 10")]
        Level { text: String },
        #[error("{text:?} is no volume: write os, data, log, tempdb or backup")]
        Role { text: String },
        #[error("RAID 1 has two drives, and {role} needs {drives} of these")]
        TooFew { role: &'static str, drives: u64 } => format!("--raid {role}=10 takes more than two"),
        #[error("{role} would need more than a million of these drives")]
        TooMany { role: &'static str } => "look at the units: a size is 2T, a rate is 3000",
    }
}
