//! Connection strings of other programs that DBAs paste: ADO, ODBC, JDBC and libpq.

use url::Url;

use super::login::PASTED_COMMAND;
use super::pairs::{by_semicolon, by_space};
use super::parts::{Parts, Unknown, squeezed};
use super::{AddressError, Engine};

/// Parses another program's connection string; `None` if it is not one.
pub(super) fn read(text: &str) -> Option<Result<(Engine, Parts), AddressError>> {
    let jdbc = text.get(..5).filter(|head| head.eq_ignore_ascii_case("jdbc:")).map(|_| &text[5..]);
    let plain = jdbc.unwrap_or(text);
    match plain.split_once("://") {
        Some((scheme, rest)) if is_sql_server(scheme) && (jdbc.is_some() || has_settings(rest)) => {
            Some(of_jdbc(rest).map(|parts| (Engine::SqlServer, parts)))
        }
        Some((scheme, _)) if jdbc.is_some() && scheme.parse::<Engine>().is_ok() => {
            let url = Url::parse(plain).map_err(|_| not_understood(text));
            Some(url.and_then(|url| Parts::of_url(&url, Unknown::Passed)))
        }
        Some(_) if !begins_with_pair(plain) => None,
        _ if plain.contains(';') && plain.contains('=') => Some(of_pairs(by_semicolon(plain), text)),
        _ if plain.contains('=') && begins_with_pair(plain) => Some(of_pairs(by_space(plain), text)),
        _ => None,
    }
}

fn is_sql_server(scheme: &str) -> bool {
    matches!(scheme.parse(), Ok(Engine::SqlServer))
}

/// Whether a semicolon comes before anything that follows the path of a URL.
fn has_settings(rest: &str) -> bool {
    rest.split(['?', '#']).next().is_some_and(|place| place.contains(';'))
}

fn not_understood(text: &str) -> AddressError {
    AddressError::NotUrl { text: text.to_owned() }
}

/// Whether an equals sign comes before anything that a URL contains.
fn begins_with_pair(text: &str) -> bool {
    text.find('=').is_some_and(|at| !text[..at].contains(['/', '?', '@']))
}

/// `host\instance:port;name=value;…`, without its scheme.
fn of_jdbc(rest: &str) -> Result<Parts, AddressError> {
    let (place, settings) = rest.split_once(';').unwrap_or((rest, ""));
    let mut parts = Parts::default();
    let place = place.trim_end_matches('/');
    if place.split('/').next().is_some_and(|server| server.contains('=')) {
        // Not JDBC either: ADO settings after the scheme of a URL.
        return apply_all(parts, by_semicolon(rest));
    }
    if !place.is_empty() {
        let (login, server) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        user.clone_into(&mut parts.user);
        parts.had_password = !password.is_empty();
        let (server, database) = server.split_once('/').unwrap_or((server, ""));
        database.clone_into(&mut parts.database);
        parts.server(server)?;
    }
    apply_all(parts, by_semicolon(settings))
}

fn apply_all(mut parts: Parts, pairs: Vec<(String, String)>) -> Result<Parts, AddressError> {
    for (name, value) in pairs {
        // It may come from a web page, and running a program is not what anyone expects of it.
        if name == "token-command" {
            return Err(PASTED_COMMAND);
        }
        parts.apply(&name, &value)?;
    }
    Ok(parts)
}

fn of_pairs(pairs: Vec<(String, String)>, text: &str) -> Result<(Engine, Parts), AddressError> {
    let Some(engine) = engine(&pairs) else { return Err(not_understood(text)) };
    Ok((engine, apply_all(Parts::default(), pairs)?))
}

/// Determines the kind of server: by the driver if one is named; otherwise only libpq and Npgsql use `host`,
/// and only SQL Server names no separate port.
fn engine(pairs: &[(String, String)]) -> Option<Engine> {
    let value = |wanted: &[&str]| {
        let found = pairs.iter().find(|(name, _)| wanted.contains(&squeezed(name).as_str()));
        found.map(|(_, value)| value.to_ascii_lowercase())
    };
    if let Some(driver) = value(&["driver", "provider"]) {
        let known = [
            ("sql server", Engine::SqlServer),
            ("freetds", Engine::SqlServer),
            ("oledb", Engine::SqlServer),
            ("sqlncli", Engine::SqlServer),
            ("postgres", Engine::Postgres),
            ("psql", Engine::Postgres),
            ("mysql", Engine::Mysql),
            ("mariadb", Engine::Mysql),
        ];
        return known.into_iter().find(|(part, _)| driver.contains(part)).map(|(_, engine)| engine);
    }
    if value(&["host", "hostaddr", "dbname"]).is_some() {
        return Some(Engine::Postgres);
    }
    let server = ["server", "datasource", "addr", "address", "networkaddress"];
    match (value(&server), value(&["port"]).as_deref()) {
        (None, _) => None,
        (Some(_), None | Some("1433")) => Some(Engine::SqlServer),
        (Some(_), Some("5432")) => Some(Engine::Postgres),
        (Some(_), Some(_)) => Some(Engine::Mysql),
    }
}
