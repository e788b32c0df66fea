//! Quotes names in statements that are shown to an administrator.

use iostall_connect::Engine;
use iostall_measure::foreign::shown;

/// `name` quoted for `engine`, whatever it contains; `None` if it has invisible characters, so that nobody
/// could see what would be run.
pub(crate) fn quoted(engine: Engine, name: &str) -> Option<String> {
    let quoted = match engine {
        Engine::Postgres | Engine::Linux | Engine::Smart => format!("\"{}\"", name.replace('"', "\"\"")),
        Engine::Mysql => format!("`{}`", name.replace('`', "``")),
        Engine::SqlServer => format!("[{}]", name.replace(']', "]]")),
    };
    (shown(name) == name).then_some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with a crafted name turned the hint into a statement that granted its creator a privilege.
    #[test]
    fn a_name_never_ends_before_its_quotes() {
        let name = "x\" TO evil; --";
        assert_eq!(quoted(Engine::Postgres, name).unwrap(), "\"x\"\" TO evil; --\"");
        assert_eq!(quoted(Engine::Mysql, "x` TO evil; --").unwrap(), "`x`` TO evil; --`");
        assert_eq!(quoted(Engine::SqlServer, "x] TO evil; --").unwrap(), "[x]] TO evil; --]");
        for hidden in ["a\nb", "a\u{1b}[2Jb", "a\u{202e}b", "\0"] {
            assert_eq!(quoted(Engine::Postgres, hidden), None);
        }
    }
}
