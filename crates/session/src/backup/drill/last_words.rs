//! What a PostgreSQL server said last.

const FATAL: [&str; 2] = ["FATAL:", "PANIC:"];
/// What it says of a library that is not there.
const NO_LIBRARY: &str = "could not access file \"";

pub(super) fn reason(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().rfind(|line| FATAL.iter().any(|word| line.contains(word)));
    let Some(line) = fatal.or_else(|| lines().next_back()) else {
        return "the server ended without a word".to_owned();
    };
    if let Some(library) = line.split_once(NO_LIBRARY).and_then(|(_, rest)| rest.split('"').next()) {
        return format!(
            "the server needs the library {library}, which is not installed here: install it, or start without it \
             (--set shared_preload_libraries=)"
        );
    }
    let said = FATAL.iter().find_map(|word| line.split_once(word)).map_or(line, |(_, said)| said.trim());
    format!("the server did not start: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_server_say_why_it_ended() {
        let log = "LOG:  starting PostgreSQL 15.8\nFATAL:  could not locate a valid checkpoint record\nLOG:  database system is shut down\n";
        assert_eq!(reason(log), "the server did not start: could not locate a valid checkpoint record");
        assert_eq!(reason(""), "the server ended without a word");
        assert_eq!(
            reason("cannot open shared object\n"),
            "the server did not start: cannot open shared object"
        );
    }

    /// The message named a file that nobody had heard of, and not the setting.
    #[test]
    fn a_library_that_is_not_installed_is_named_with_the_setting_that_asks_for_it() {
        let log = "FATAL:  could not access file \"pg_cron\": No such file or directory\n";
        let said = reason(log);
        assert!(
            said.contains("library pg_cron") && said.contains("--set shared_preload_libraries="),
            "{said}"
        );
    }
}
