//! Rules about MySQL and MariaDB.

use super::facts::{Facts, evidence, is_off};
use super::outcome::Outcome;
use super::rule::{Rule, Weight};

pub(super) static RULES: [Rule; 6] = [
    Rule {
        id: "commits-not-flushed",
        weight: Weight::Safety,
        title: "innodb_flush_log_at_trx_commit is not 1",
        why: "a crash loses up to a second of transactions whose clients were told that they are done; with 0 also one of the server",
        action: "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the configuration",
        reference: "MySQL 8.0 Reference Manual and MariaDB Knowledge Base: innodb_flush_log_at_trx_commit",
        check: |facts| facts.check("innodb_flush_log_at_trx_commit", |value| value != "1" && value != "3"),
    },
    Rule {
        id: "doublewrite-off",
        weight: Weight::Safety,
        title: "innodb_doublewrite is off",
        why: "a page that a crash cut in two cannot be repaired, unless file system and drive write a page in one piece",
        action: "switch it on, unless the drives promise atomic writes of innodb_page_size; the setting \"atomic write bytes max\" of \
                 the host shows that",
        reference: "MySQL 8.0 Reference Manual, Doublewrite Buffer",
        check: |facts| {
            facts.check("innodb_doublewrite", |value| {
                is_off(value) || value.eq_ignore_ascii_case("detect_only")
            })
        },
    },
    Rule {
        id: "binlog-not-flushed",
        weight: Weight::Safety,
        title: "sync_binlog is not 1",
        why: "after a crash of the machine the binary log lacks transactions that the server has: replicas and point-in-time restores miss them",
        action: "SET GLOBAL sync_binlog = 1, and in the configuration",
        reference: "MySQL 8.0 Reference Manual, Replication and Binary Logging: sync_binlog",
        check: binlog_not_flushed,
    },
    Rule {
        id: "flushing-left-out",
        weight: Weight::Safety,
        title: "InnoDB does not flush its files",
        why: "what the server calls written is in the memory of the machine only",
        action: "innodb_flush_method = O_DIRECT, or fsync, in the configuration",
        reference: "MySQL 8.0 Reference Manual: innodb_flush_method",
        check: |facts| match facts.get("", "innodb_flush_method") {
            Some(version) => {
                let is_left_out = ["nosync", "littlesync"]
                    .iter()
                    .any(|word| version.setting.value.eq_ignore_ascii_case(word));
                Outcome::found(is_left_out.then(|| evidence(version)))
            }
            // MariaDB 11 and later may be without it.
            None if facts.get("", "version").is_some() => Outcome::NotAbout,
            None => Outcome::unknown("innodb_flush_method was not read"),
        },
    },
    Rule {
        id: "performance-schema-off",
        weight: Weight::Care,
        title: "performance_schema is off",
        why: "nobody can tell which files are read and written, and how long that takes",
        action: "performance_schema = ON in the configuration, and a restart",
        reference: "MariaDB Knowledge Base, Performance Schema Overview",
        check: |facts| facts.check("performance_schema", is_off),
    },
    Rule {
        id: "native-aio-off",
        weight: Weight::Speed,
        title: "innodb_use_native_aio is off",
        why: "InnoDB uses a few threads that each wait for one I/O instead of the asynchronous I/O of the system",
        action: "switch it on, and look in the server's log why it went off: often fs.aio-max-nr is too low",
        reference: "MySQL 8.0 Reference Manual, Using Asynchronous I/O on Linux",
        check: |facts| facts.check("innodb_use_native_aio", is_off),
    },
];

fn binlog_not_flushed(facts: &Facts<'_>) -> Outcome {
    match facts.value("", "log_bin") {
        Some(log) if is_off(log) => Outcome::NotAbout,
        Some(_) => facts.check("sync_binlog", |value| value != "1"),
        None => Outcome::unknown("log_bin was not read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::facts::fixture;

    fn said(id: &str, all: &[(&str, &str)]) -> Result<Vec<String>, Outcome> {
        fixture::said(&RULES, id, &fixture::server(all))
    }

    #[test]
    fn each_rule_speaks_on_its_value_is_silent_on_the_other_and_knows_when_it_does_not_know() {
        for (id, name, bad, fine) in [
            ("commits-not-flushed", "innodb_flush_log_at_trx_commit", "2", "1"),
            ("commits-not-flushed", "innodb_flush_log_at_trx_commit", "0", "3"),
            ("doublewrite-off", "innodb_doublewrite", "OFF", "ON"),
            ("doublewrite-off", "innodb_doublewrite", "DETECT_ONLY", "DETECT_AND_RECOVER"),
            ("flushing-left-out", "innodb_flush_method", "nosync", "O_DIRECT"),
            ("performance-schema-off", "performance_schema", "OFF", "ON"),
            ("native-aio-off", "innodb_use_native_aio", "OFF", "ON"),
        ] {
            assert_eq!(said(id, &[(name, bad)]), Ok(vec![bad.to_owned()]), "{id}");
            assert_eq!(said(id, &[(name, fine)]), Err(Outcome::Fine), "{id}");
            assert!(matches!(said(id, &[]), Err(Outcome::Unknown { .. })), "{id}");
        }
    }

    #[test]
    fn the_binary_log_matters_only_where_there_is_one() {
        let of = |log, sync| said("binlog-not-flushed", &[("log_bin", log), ("sync_binlog", sync)]);
        assert_eq!(of("ON", "0"), Ok(vec!["0".to_owned()]));
        assert_eq!(of("ON", "1"), Err(Outcome::Fine));
        assert_eq!(of("OFF", "0"), Err(Outcome::NotAbout));
    }
}
