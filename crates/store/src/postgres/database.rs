//! The tables of an opened repository, apart from what is remembered of its writers.

use super::partitions::Partitions;
use super::session::Session;
use crate::history::StoreId;
use crate::repository_error::RepositoryError;

pub(super) struct Database {
    pub(super) session: Session,
    pub(super) partitions: Partitions,
    pub(super) id: StoreId,
}

impl Database {
    pub(super) fn unreadable(&self, error: &tokio_postgres::Error) -> RepositoryError {
        self.session.unreadable(error)
    }
}
