//! Why a statement is not run.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    pub message: String,
    pub hint: String,
    /// Where Microsoft documents the rule.
    pub page: &'static str,
}

pub(super) const BACKUP: &str = "https://learn.microsoft.com/sql/t-sql/statements/backup-transact-sql";
pub(super) const URL: &str =
    "https://learn.microsoft.com/sql/relational-databases/backup-restore/sql-server-backup-to-url";
pub(super) const S3: &str = "https://learn.microsoft.com/sql/relational-databases/backup-restore/sql-server-backup-to-url-s3-compatible-object-storage";
pub(super) const ENCRYPTION: &str =
    "https://learn.microsoft.com/sql/relational-databases/backup-restore/backup-encryption";
pub(super) const MEDIA: &str = "https://learn.microsoft.com/sql/relational-databases/backup-restore/media-sets-media-families-and-backup-sets-sql-server";
pub(super) const MIRRORS: &str = "https://learn.microsoft.com/sql/relational-databases/backup-restore/mirrored-backup-media-sets-sql-server";
pub(super) const PARTIAL: &str =
    "https://learn.microsoft.com/sql/relational-databases/backup-restore/partial-backups-sql-server";
pub(super) const COMPRESSION: &str =
    "https://learn.microsoft.com/sql/relational-databases/backup-restore/backup-compression-sql-server";
pub(super) const SECONDARIES: &str = "https://learn.microsoft.com/sql/database-engine/availability-groups/windows/active-secondaries-backup-on-secondary-replicas-always-on-availability-groups";
pub(super) const SYSTEM: &str = "https://learn.microsoft.com/sql/relational-databases/backup-restore/back-up-and-restore-of-system-databases-sql-server";
pub(super) const MANAGED: &str =
    "https://learn.microsoft.com/azure/azure-sql/managed-instance/transact-sql-tsql-differences-sql-server";
pub(super) const IDENTIFIERS: &str =
    "https://learn.microsoft.com/sql/relational-databases/databases/database-identifiers";

impl Refusal {
    pub(super) fn new(page: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), page }
    }
}
