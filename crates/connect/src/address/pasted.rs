//! Connection strings of other programs that DBAs paste: ADO, ODBC, JDBC and libpq.

use url::Url;

use super::login::PASTED_COMMAND;
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

/// The pairs of `Name=value;Name="va;lue";Name={va;lue}`, as in ADO, ODBC and JDBC. A part without an equals
/// sign is no pair but the rest of a value that should have been quoted.
pub(super) fn by_semicolon(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c == ';' || c.is_whitespace());
        let Some((name, after)) = rest.split_once('=') else { return pairs };
        let name = name.rsplit(';').next().unwrap_or_default().trim();
        let (value, after) = value(after.trim_start());
        pairs.push((name.to_owned(), value));
        rest = after;
    }
}

/// A value, and the rest of the text.
fn value(text: &str) -> (String, &str) {
    let close = match text.chars().next() {
        Some('{') => '}',
        Some(quote @ ('"' | '\'')) => quote,
        _ => {
            let end = text.find(';').unwrap_or(text.len());
            return (text[..end].trim().to_owned(), &text[end..]);
        }
    };
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != close {
            value.push(character);
        } else if characters.next_if(|(_, next)| *next == close).is_some() {
            // A doubled quote stands for one.
            value.push(close);
        } else {
            return (value, &text[at + close.len_utf8()..]);
        }
    }
    (value, "")
}

/// The pairs of `name=value name='va lue'`, as in libpq.
pub(super) fn by_space(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.split_whitespace().next_back().unwrap_or_default();
        let (mut value, mut quoted) = (String::new(), false);
        let mut characters = after.trim_start().chars();
        rest = "";
        while let Some(character) = characters.next() {
            match character {
                '\\' => value.extend(characters.next()),
                '\'' => quoted = !quoted,
                space if space.is_whitespace() && !quoted => {
                    rest = characters.as_str();
                    break;
                }
                other => value.push(other),
            }
        }
        pairs.push((name.to_owned(), value));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn values_of_ado_end_where_their_quotes_do() {
        let pairs = by_semicolon(" Server = tcp:h,1433 ;User ID=\"a;\"\"b\";;PWD={x}}=;y};Encrypt=yes;");
        let wanted = [("Server", "tcp:h,1433"), ("User ID", "a;\"b"), ("PWD", "x}=;y"), ("Encrypt", "yes")];
        assert_eq!(of(&pairs), wanted);
        assert_eq!(of(&by_semicolon("a=1;rest of it;b='2")), [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn values_of_libpq_end_at_spaces() {
        let pairs = by_space("host=h dbname = 'a b' user=o\\'k port=5433");
        assert_eq!(of(&pairs), [("host", "h"), ("dbname", "a b"), ("user", "o'k"), ("port", "5433")]);
    }
}
