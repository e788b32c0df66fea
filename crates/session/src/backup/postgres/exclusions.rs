//! What of a data directory does not belong into a backup.

/// Files that are the server's own for as long as it runs, and what it creates when it starts. The label and the map of
/// tablespaces are those of another backup: ours are written at the end. The signals would make the restored copy a standby
/// of the server that it was made of, or start a recovery that nobody has asked for.
const FILES: [&str; 10] = [
    "backup_label",
    "backup_label.old",
    "tablespace_map",
    "tablespace_map.old",
    "backup_manifest",
    "postmaster.pid",
    "postmaster.opts",
    "current_logfiles.tmp",
    "recovery.signal",
    "standby.signal",
];
/// Files and directories that begin like this: temporary files of queries, and caches of the catalogs.
const PREFIXES: [&str; 3] = ["pgsql_tmp", "pg_internal.init", "postgresql.auto.conf.tmp"];
/// Directories of which only the name is kept: what is in them is of no use to another start of the server.
const EMPTIED: [&str; 7] =
    ["pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];
/// Made by file systems, and readable by root alone.
const FOREIGN: &str = "lost+found";

pub(super) fn is_left_out(name: &str) -> bool {
    name == FOREIGN || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn is_left_out_at_the_top(name: &str) -> bool {
    is_left_out(name) || FILES.contains(&name)
}

/// Whether only the directory `name` is kept, and nothing that is in it.
pub(super) fn is_emptied(name: &str) -> bool {
    EMPTIED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_running_server_is_left_out_and_nothing_like_it() {
        assert!(
            is_left_out("pgsql_tmp") && is_left_out("pgsql_tmp12.0") && is_left_out("pg_internal.init.77")
        );
        assert!(!is_left_out("postgresql.auto.conf") && !is_left_out("pg_filenode.map"));
        assert!(is_left_out_at_the_top("postmaster.pid") && !is_left_out_at_the_top("PG_VERSION"));
        assert!(is_emptied("pg_replslot") && !is_emptied("pg_stat"));
    }
}
