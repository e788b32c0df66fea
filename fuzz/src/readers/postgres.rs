//! PostgreSQL's configuration files.

use iostall_session::fsync::postgres_config::{ConfigLine, command_line_settings, config_line};

/// A configuration file, or the command line of a server: a setting that is written again is the same setting.
pub(crate) fn config(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for line in text.lines() {
        let Some(ConfigLine::Setting { name, value }) = config_line(line) else { continue };
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        let again = config_line(&format!("{name} = '{quoted}' # the same"));
        assert_eq!(again, Some(ConfigLine::Setting { name, value }), "{line:?}");
    }
    for (name, _) in command_line_settings(&text) {
        assert!(!name.contains('='), "{name:?}");
    }
}
