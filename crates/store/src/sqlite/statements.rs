//! Statements for runs. The SQL is in `queries/`, one statement per file.

pub(super) const INSERT_RUN: &str = include_str!("../../queries/insert_run.sql");
pub(super) const UPDATE_RUN: &str = include_str!("../../queries/update_run.sql");
pub(super) const UPDATE_DOCUMENT: &str = include_str!("../../queries/update_document.sql");
pub(super) const INSERT_TARGET: &str = include_str!("../../queries/insert_target.sql");
pub(super) const INSERT_DOCUMENT: &str = include_str!("../../queries/insert_document.sql");
pub(super) const INSERT_CAPACITY: &str = include_str!("../../queries/insert_capacity.sql");
pub(super) const DELETE_CAPACITIES: &str = include_str!("../../queries/delete_capacities.sql");
pub(super) const LIST_CAPACITIES: &str = include_str!("../../queries/list_capacities.sql");
pub(super) const FIND_BY_NUMBER: &str = include_str!("../../queries/find_by_number.sql");
pub(super) const FIND_BY_ID: &str = include_str!("../../queries/find_by_id.sql");
pub(super) const FIND_BY_FRAGMENT: &str = include_str!("../../queries/find_by_fragment.sql");
pub(super) const FIND_BY_AGE: &str = include_str!("../../queries/find_by_age.sql");
pub(super) const LIST_RUNS: &str = include_str!("../../queries/list_runs.sql");
pub(super) const READ_DOCUMENT: &str = include_str!("../../queries/read_document.sql");
pub(super) const DELETE_RUN: &str = include_str!("../../queries/delete_run.sql");
pub(super) const COUNT_OBJECTS: &str = include_str!("../../queries/count_objects.sql");
