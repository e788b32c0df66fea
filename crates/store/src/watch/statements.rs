//! What is asked of the file. The SQL is in `queries/watch/`, one statement a file.

pub(super) const ADD_EPOCH: &str = include_str!("../../queries/watch/add_epoch.sql");
pub(super) const ADD_GAP: &str = include_str!("../../queries/watch/add_gap.sql");
pub(super) const ADD_SAMPLE: &str = include_str!("../../queries/watch/add_sample.sql");
pub(super) const ADD_SOURCE: &str = include_str!("../../queries/watch/add_source.sql");
pub(super) const DELETE_GAPS: &str = include_str!("../../queries/watch/delete_gaps.sql");
pub(super) const DELETE_ROLLUPS: &str = include_str!("../../queries/watch/delete_rollups.sql");
pub(super) const DELETE_SAMPLES: &str = include_str!("../../queries/watch/delete_samples.sql");
pub(super) const FIND_EPOCH: &str = include_str!("../../queries/watch/find_epoch.sql");
pub(super) const FIND_ROLLUP: &str = include_str!("../../queries/watch/find_rollup.sql");
pub(super) const FIND_SOURCE: &str = include_str!("../../queries/watch/find_source.sql");
pub(super) const FORGOT_NOTHING: &str = include_str!("../../queries/watch/forgot_nothing.sql");
pub(super) const LIST_GAPS: &str = include_str!("../../queries/watch/list_gaps.sql");
pub(super) const LIST_ROLLUPS: &str = include_str!("../../queries/watch/list_rollups.sql");
pub(super) const LIST_SERIES: &str = include_str!("../../queries/watch/list_series.sql");
pub(super) const LIST_SOURCES: &str = include_str!("../../queries/watch/list_sources.sql");
pub(super) const LIST_WARNINGS: &str = include_str!("../../queries/watch/list_warnings.sql");
pub(super) const MARK_FORGOTTEN: &str = include_str!("../../queries/watch/mark_forgotten.sql");
pub(super) const MARK_ROLLED_UP: &str = include_str!("../../queries/watch/mark_rolled_up.sql");
pub(super) const PUT_ROLLUP: &str = include_str!("../../queries/watch/put_rollup.sql");
pub(super) const PUT_SERIES: &str = include_str!("../../queries/watch/put_series.sql");
pub(super) const PUT_WARNING: &str = include_str!("../../queries/watch/put_warning.sql");
pub(super) const READ_SAMPLES: &str = include_str!("../../queries/watch/read_samples.sql");
pub(super) const ROLLED_UP_TO: &str = include_str!("../../queries/watch/rolled_up_to.sql");
pub(super) const SAMPLE_BEFORE: &str = include_str!("../../queries/watch/sample_before.sql");
pub(super) const SAMPLE_LAST: &str = include_str!("../../queries/watch/sample_last.sql");
