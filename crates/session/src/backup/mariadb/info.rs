//! What mariadb-backup writes about a backup, into small files of its own.

/// The file that says where the backup ends, under its names before 11.1 and since.
pub(super) const CHECKPOINTS: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];
/// The file that says where the binary log was.
pub(super) const BINLOG: [&str; 2] = ["xtrabackup_binlog_info", "mariadb_backup_binlog_info"];
/// No such file is longer.
const BYTES_MAX: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackupInfo {
    checkpoints: Vec<u8>,
    binlog: Vec<u8>,
}

impl BackupInfo {
    /// `bytes` of the file `name`, which come in their order.
    pub(super) fn see(&mut self, name: &[u8], bytes: &[u8]) {
        let is_one_of = |names: &[&str; 2]| names.iter().any(|one| one.as_bytes() == name);
        let into = if is_one_of(&CHECKPOINTS) {
            &mut self.checkpoints
        } else if is_one_of(&BINLOG) {
            &mut self.binlog
        } else {
            return;
        };
        let room = BYTES_MAX.saturating_sub(into.len()).min(bytes.len());
        into.extend_from_slice(&bytes[..room]);
    }

    /// Position in InnoDB's log up to which changes are in the backup.
    pub(super) fn end_lsn(&self) -> Option<u64> {
        let text = String::from_utf8_lossy(&self.checkpoints);
        let number = |name: &str| {
            let line =
                text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == name);
            line.and_then(|(_, value)| value.trim().parse::<u64>().ok())
        };
        // The log was copied further than the last checkpoint.
        number("last_lsn").or_else(|| number("to_lsn"))
    }

    /// File, position and global transaction id, as they were written.
    pub(super) fn binlog(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.binlog);
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_read_under_old_names_and_new() {
        for (checkpoints, binlog) in CHECKPOINTS.into_iter().zip(BINLOG) {
            let mut info = BackupInfo::default();
            info.see(checkpoints.as_bytes(), b"backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 5");
            info.see(checkpoints.as_bytes(), b"0\nlast_lsn = 61\n");
            info.see(binlog.as_bytes(), b"binlog.000003\t1234\t0-1-7\n");
            info.see(b"shop/xtrabackup_checkpoints", b"to_lsn = 9");
            assert_eq!(info.end_lsn(), Some(61));
            assert_eq!(info.binlog().as_deref(), Some("binlog.000003 1234 0-1-7"));
        }
        assert_eq!((BackupInfo::default().end_lsn(), BackupInfo::default().binlog()), (None, None));
    }
}
