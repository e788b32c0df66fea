//! Names in statements that are shown for an administrator to run.

use iostall_measure::foreign::shown;

use crate::address::Engine;

/// `name` as a statement of `engine` takes it, whatever is in it; `None` where it has characters that cannot be seen, so
/// that nobody could tell what would be run.
pub(crate) fn quoted(engine: Engine, name: &str) -> Option<String> {
    let quoted = match engine {
        Engine::Postgres | Engine::Linux => format!("\"{}\"", name.replace('"', "\"\"")),
        Engine::Mysql => format!("`{}`", name.replace('`', "``")),
        Engine::SqlServer => format!("[{}]", name.replace(']', "]]")),
    };
    (shown(name) == name).then_some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of this name made the hint a statement that gave its maker a right.
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
