//! The settings of a server that decide about its I/O.

use iostall_connect::SourceError;
use iostall_connect::postgres::Login;
use iostall_model::{Setting, SettingClass};
use tokio_postgres::Client;

use super::queries::Query;
use crate::remote::Columns as _;
use crate::settings::{checked, of_row};

const SETTINGS: Query =
    Query { tag: "iostall:settings", texts: &[(12, include_str!("sql/settings_12.sql"))] };

const MEASURED: Query =
    Query { tag: "iostall:settings_measured", texts: &[(12, include_str!("sql/settings_measured_12.sql"))] };

pub(super) async fn read(login: &Login, client: &Client, version: u32) -> Result<Vec<Setting>, SourceError> {
    let mut all = vec![Setting::set("", "engine", "postgres")];
    for (query, class) in [(SETTINGS, SettingClass::Setting), (MEASURED, SettingClass::Measured)] {
        let rows = query.ask(login, client, version).await?;
        all.extend(rows.iter().filter_map(|row| of_row(class, row.text(0), row.text(1), row.text(2))));
    }
    Ok(checked(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_query_asks_for_what_may_hold_a_password() {
        for query in [SETTINGS, MEASURED] {
            for (_, text) in query.texts {
                assert!(text.starts_with(&format!("/* {} */", query.tag)));
                assert!(!text.contains("primary_conninfo") && !text.contains("restore_command"));
            }
        }
    }
}
