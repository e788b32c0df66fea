//! What a server is started with on a restored copy, so that it harms nothing that the original works with.
//!
//! The settings of the copy are those of the original. What is on the command line counts more than they do: where the copy
//! archives its log to, whom it follows or subscribes to, where it listens, and which data directory it means.

use std::ffi::OsString;
use std::path::Path;

use super::scratch::Scratch;

/// The first version with a setting (an older one does not start with it; 0: all), the setting, and its value.
const SAFE: [(u32, &str, &str); 33] = [
    // Into the archive of the original it would write a second history.
    (0, "archive_mode", "off"),
    (0, "archive_command", ""),
    (15, "archive_library", ""),
    (0, "restore_command", ""),
    (0, "archive_cleanup_command", ""),
    (0, "recovery_end_command", ""),
    (0, "primary_conninfo", ""),
    (0, "primary_slot_name", ""),
    (0, "max_wal_senders", "0"),
    // A subscription would take changes that are meant for the original. Schedulers among the extensions would run its jobs.
    (0, "max_logical_replication_workers", "0"),
    (0, "max_worker_processes", "0"),
    (17, "event_triggers", "off"),
    // A commit would wait for a standby that does not follow the copy.
    (0, "synchronous_standby_names", ""),
    // Nobody else is to reach it.
    (0, "listen_addresses", ""),
    (0, "port", "5432"),
    (0, "unix_socket_permissions", "0700"),
    (0, "unix_socket_group", ""),
    (0, "ssl", "off"),
    (0, "external_pid_file", ""),
    // Messages are to be found in one place, in words that can be looked for.
    (0, "logging_collector", "off"),
    (0, "log_destination", "stderr"),
    (0, "log_line_prefix", ""),
    (0, "log_min_messages", "warning"),
    (0, "lc_messages", "C"),
    // Damage is to be found, not to be repaired or passed over.
    (0, "zero_damaged_pages", "off"),
    (0, "ignore_checksum_failure", "off"),
    (13, "ignore_invalid_pages", "off"),
    (0, "restart_after_crash", "off"),
    (0, "autovacuum", "off"),
    // The machine has other work.
    (0, "shared_buffers", "64MB"),
    (0, "huge_pages", "off"),
    (0, "jit", "off"),
    (0, "cluster_name", "iostall-drill"),
];

/// Where the copy recovers to a point in time. It need not be readable meanwhile: that takes as many workers as the original had.
const RECOVERING: [(&str, &str); 2] = [("hot_standby", "off"), ("recovery_target_action", "promote")];
/// What such a copy has to do with the archive: it reads from it.
const READS_ARCHIVE: &str = "restore_command";

/// The arguments of `postgres` of version `major` on the copy in `data`, which `recovers` to a point in time or starts as it is.
/// `own` are settings of the user, which count most.
pub(super) fn arguments(
    data: &Path,
    scratch: &Scratch,
    major: u32,
    recovers: bool,
    own: &[(String, String)],
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into()];
    let mut set = |name: &str, value: &dyn Fn(&mut OsString)| {
        let mut setting = OsString::from(format!("{name}="));
        value(&mut setting);
        arguments.extend(["-c".into(), setting]);
    };
    // Where the settings of the original name a data directory, it is the original's.
    set("data_directory", &|setting| setting.push(data));
    if !data.join("postgresql.conf").exists() {
        set("config_file", &|setting| setting.push(scratch.file("settings")));
    }
    set("hba_file", &|setting| setting.push(scratch.file("access")));
    set("ident_file", &|setting| setting.push(scratch.file("names")));
    // A list of directories: within quotation marks a comma is part of a name.
    let sockets = scratch.sockets().display().to_string().replace('"', "\"\"");
    set("unix_socket_directories", &|setting| setting.push(format!("\"{sockets}\"")));
    for (since, name, value) in SAFE {
        if since <= major && !(recovers && name == READS_ARCHIVE) {
            set(name, &|setting| setting.push(value));
        }
    }
    for (name, value) in RECOVERING.iter().filter(|_| recovers) {
        set(name, &|setting| setting.push(value));
    }
    for (name, value) in own {
        set(name, &|setting| setting.push(value));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(major: u32, own: &[(String, String)], has_settings: bool, recovers: bool) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(place.path(), "set", 10).unwrap();
        if has_settings {
            std::fs::write(scratch.restored().join("postgresql.conf"), "").unwrap();
        }
        let all = arguments(&scratch.restored(), &scratch, major, recovers, own);
        all.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    /// A copy of the primary wrote into its archive, and the next restore of the primary followed the history of the copy.
    #[test]
    fn a_copy_archives_nothing_follows_nobody_and_means_its_own_files() {
        let words = words(15, &[], true, false);
        for setting in [
            "archive_mode=off",
            "primary_conninfo=",
            "max_logical_replication_workers=0",
            "listen_addresses=",
            "synchronous_standby_names=",
        ] {
            assert!(words.iter().any(|word| word == setting), "{setting}");
        }
        assert!(words.iter().any(|word| word.starts_with("data_directory=/")));
        assert!(!words.iter().any(|word| word.starts_with("config_file=")));
    }

    #[test]
    fn a_copy_that_recovers_reads_from_the_archive_and_still_writes_nothing_to_it() {
        let words = words(15, &[], true, true);
        let has = |setting: &str| words.iter().any(|word| word.starts_with(setting));
        assert!(!has("restore_command="));
        assert!(has("archive_mode=off") && has("archive_command=") && has("hot_standby=off"));
    }

    /// Debian keeps the settings in /etc, so there were none in the data directory, and the copy did not start.
    #[test]
    fn without_settings_of_its_own_a_copy_has_ours_and_an_old_server_hears_of_no_new_setting() {
        let old = words(12, &[], false, false);
        assert!(old.iter().any(|word| word.starts_with("config_file=/") && word.ends_with("/settings")));
        for new in ["archive_library", "event_triggers", "ignore_invalid_pages"] {
            assert!(!old.iter().any(|word| word.starts_with(new)), "{new}");
        }
        let own = [("shared_preload_libraries".to_owned(), String::new())];
        let new = words(18, &own, false, false);
        assert!(new.iter().any(|word| word == "event_triggers=off"));
        assert_eq!(new.last().map(String::as_str), Some("shared_preload_libraries="));
    }
}
