//! A line of the table.

use iostall_model::Totals;
use iostall_watch::windows::GroupKey;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) key: GroupKey,
    pub(super) totals: Totals,
    pub(super) missing: Vec<&'static str>,
}
