//! Rules about PostgreSQL.

use super::facts::{Facts, evidence, evidence_beside, is_off};
use super::outcome::Outcome;
use super::rule::{Rule, Weight};

pub(super) static RULES: [Rule; 10] = [
    Rule {
        id: "fsync-off",
        weight: Weight::Safety,
        title: "fsync is off",
        why: "after a crash of the machine the cluster can be damaged beyond repair",
        action: "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf(); then sync the disks, and take a new base backup",
        reference: "PostgreSQL documentation, Write Ahead Log: fsync",
        check: |facts| facts.check("fsync", is_off),
    },
    Rule {
        id: "full-page-writes-off",
        weight: Weight::Safety,
        title: "full_page_writes is off",
        why: "a page that a crash cut in two cannot be repaired, unless file system and drive write 8 KiB in one piece",
        action: "ALTER SYSTEM SET full_page_writes = on, unless all data is on a file system that never tears a page, such as ZFS; \
                 the setting \"atomic write bytes max\" of the host shows what its drives promise",
        reference: "PostgreSQL documentation, Write Ahead Log: full_page_writes",
        check: |facts| facts.check("full_page_writes", is_off),
    },
    Rule {
        id: "synchronous-commit-off",
        weight: Weight::Safety,
        title: "synchronous_commit is off",
        why: "a crash loses transactions of the last moments whose clients were told that they are done",
        action: "set it for the sessions that can bear that, not for all",
        reference: "PostgreSQL documentation, Asynchronous Commit",
        check: |facts| facts.check("synchronous_commit", is_off),
    },
    Rule {
        id: "archiving-fails",
        weight: Weight::Safety,
        title: "the log is not archived any more",
        why: "backups cannot be brought up to date, and the log stays in pg_wal until the disk is full",
        action: "read the server's log for the output of archive_command, and `iostall backup wal list` for what is missing",
        reference: "PostgreSQL documentation, Continuous Archiving; view pg_stat_archiver",
        check: archiving_fails,
    },
    Rule {
        id: "checksums-off",
        weight: Weight::Safety,
        title: "pages have no checksums",
        why: "what a disk, a controller or a cable damages is served as data, and copied into every backup",
        action: "pg_checksums --enable while the server is down",
        reference: "PostgreSQL documentation, Data Checksums",
        check: |facts| facts.check("data_checksums", is_off),
    },
    Rule {
        id: "io-timing-off",
        weight: Weight::Care,
        title: "track_io_timing is off",
        why: "nobody can tell how long reads and writes take: reports show counts without stall",
        action: "ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf(); pg_test_timing tells what it costs",
        reference: "PostgreSQL documentation, Run-time Statistics: track_io_timing",
        check: |facts| facts.check("track_io_timing", is_off),
    },
    Rule {
        id: "wal-timing-off",
        weight: Weight::Care,
        title: "track_wal_io_timing is off",
        why: "nobody can tell how long commits wait for the log",
        action: "ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf()",
        reference: "PostgreSQL documentation, Run-time Statistics: track_wal_io_timing",
        check: |facts| match facts.get("", "track_wal_io_timing") {
            None if facts.get("", "server_version").is_some() => Outcome::NotAbout,
            _ => facts.check("track_wal_io_timing", is_off),
        },
    },
    Rule {
        id: "wal-compression-off",
        weight: Weight::Speed,
        title: "pages go into the log uncompressed",
        why: "after each checkpoint every page that changes goes whole into the log, which often halves with compression",
        action: "ALTER SYSTEM SET wal_compression = on (lz4 or zstd from 15 on); it costs CPU time",
        reference: "PostgreSQL documentation, Write Ahead Log: wal_compression",
        check: |facts| facts.check("wal_compression", is_off),
    },
    Rule {
        id: "checkpoints-at-once",
        weight: Weight::Speed,
        title: "checkpoints write as fast as they can",
        why: "a checkpoint that is not spread over its interval fills the queues of the drives, and reads wait",
        action: "ALTER SYSTEM SET checkpoint_completion_target = 0.9, the default from 14 on",
        reference: "PostgreSQL documentation, WAL Configuration: checkpoint_completion_target",
        check: |facts| {
            facts.check("checkpoint_completion_target", |value| {
                value.parse::<f64>().is_ok_and(|part| part < 0.5)
            })
        },
    },
    Rule {
        id: "waits-for-a-restart",
        weight: Weight::Care,
        title: "settings were changed that count only from the next start on",
        why: "the server does not run as its files say, and the next restart, planned or not, changes how it behaves",
        action: "restart it when that suits, or take the change back",
        reference: "PostgreSQL documentation, view pg_settings: pending_restart",
        check: |facts| match facts.get("", "waits for a restart") {
            Some(version) => Outcome::found([evidence(version)]),
            None if facts.get("", "fsync").is_some() => Outcome::Fine,
            None => Outcome::unknown("the settings were not read"),
        },
    },
];

fn archiving_fails(facts: &Facts<'_>) -> Outcome {
    match facts.value("", "archive_mode") {
        None => return Outcome::unknown("archive_mode was not read"),
        Some(mode) if is_off(mode) => return Outcome::NotAbout,
        Some(_) => {}
    }
    let Some(failed) = facts.get("", "last archiving failed") else { return Outcome::Fine };
    let last = facts.value("", "last archived");
    // Both are RFC 3339 in UTC to the second: the order of the text is that of time.
    if last.is_some_and(|last| last >= failed.setting.value.as_str()) {
        return Outcome::Fine;
    }
    let beside = last
        .map_or_else(|| "nothing was archived before".to_owned(), |last| format!("the last success: {last}"));
    Outcome::found([evidence_beside(failed, beside)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::facts::fixture;

    fn said(id: &str, all: &[(&str, &str)]) -> Result<Vec<String>, Outcome> {
        fixture::said(&RULES, id, &fixture::server(all))
    }

    #[test]
    fn each_switch_is_found_where_it_is_off_fine_where_it_is_on_and_else_unknown() {
        for (id, name) in [
            ("fsync-off", "fsync"),
            ("full-page-writes-off", "full_page_writes"),
            ("synchronous-commit-off", "synchronous_commit"),
            ("checksums-off", "data_checksums"),
            ("io-timing-off", "track_io_timing"),
            ("wal-timing-off", "track_wal_io_timing"),
            ("wal-compression-off", "wal_compression"),
        ] {
            assert_eq!(said(id, &[(name, "off")]), Ok(vec!["off".to_owned()]), "{id}");
            assert_eq!(said(id, &[(name, "on")]), Err(Outcome::Fine), "{id}");
            assert!(matches!(said(id, &[]), Err(Outcome::Unknown { .. })), "{id}");
        }
        assert_eq!(said("wal-compression-off", &[("wal_compression", "zstd")]), Err(Outcome::Fine));
        assert_eq!(said("wal-timing-off", &[("server_version", "13.4")]), Err(Outcome::NotAbout));
    }

    #[test]
    fn archiving_fails_where_the_last_attempt_did_and_nowhere_else() {
        let at = |mode, archived: &'static str, failed: &'static str| {
            [("archive_mode", mode), ("last archived", archived), ("last archiving failed", failed)]
        };
        let (early, late) = ("2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z");
        assert_eq!(said("archiving-fails", &at("on", early, late)), Ok(vec![late.to_owned()]));
        assert_eq!(said("archiving-fails", &at("on", late, early)), Err(Outcome::Fine));
        assert_eq!(said("archiving-fails", &at("off", early, late)), Err(Outcome::NotAbout));
        assert_eq!(said("archiving-fails", &[("archive_mode", "on")]), Err(Outcome::Fine));
        assert!(matches!(said("archiving-fails", &[]), Err(Outcome::Unknown { .. })));
    }

    #[test]
    fn checkpoints_and_pending_restarts_are_found_by_their_values() {
        let target = |value| said("checkpoints-at-once", &[("checkpoint_completion_target", value)]);
        assert_eq!((target("0.1").is_ok(), target("0.9")), (true, Err(Outcome::Fine)));
        let pending =
            said("waits-for-a-restart", &[("waits for a restart", "shared_buffers"), ("fsync", "on")]);
        assert_eq!(pending, Ok(vec!["shared_buffers".to_owned()]));
        assert_eq!(said("waits-for-a-restart", &[("fsync", "on")]), Err(Outcome::Fine));
    }
}
