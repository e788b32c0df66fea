//! The statements of these tests.

const ALL: &str = include_str!("../../testdata/sql/backup_postgres.sql");
const NAME: &str = "-- name: ";

/// The statement called `name`.
pub(crate) fn sql(name: &str) -> &'static str {
    let named = ALL.split(NAME).find_map(|one| one.strip_prefix(name)?.strip_prefix('\n'));
    named.unwrap_or_else(|| panic!("no statement is called {name}")).trim_end()
}

/// The same with values for what begins with `$`.
pub(crate) fn sql_with(name: &str, values: &[(&str, &dyn ToString)]) -> String {
    values.iter().fold(sql(name).to_owned(), |text, (variable, value)| {
        text.replace(&format!("${variable}"), &value.to_string())
    })
}
