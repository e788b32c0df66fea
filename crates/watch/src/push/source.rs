//! What a receiver is told of a source besides its name.

use std::collections::BTreeMap;

use iostall_collect::{Address, Engine};
use iostall_host::machine_name;

/// A source that is sent, with what it is: the attributes of OpenTelemetry's resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PushSource {
    pub(crate) name: String,
    pub(super) attributes: BTreeMap<&'static str, String>,
}

impl PushSource {
    /// Of the source named `name` at `address`. Nothing of a login is in it.
    pub(crate) fn of(name: &str, address: &Address) -> Self {
        let mut attributes = BTreeMap::from([("iostall.source", name.to_owned())]);
        let (system, older) = match address.engine {
            Engine::SqlServer => ("microsoft.sql_server", "mssql"),
            Engine::Postgres => ("postgresql", "postgresql"),
            Engine::Mysql => ("mysql", "mysql"),
            Engine::Linux | Engine::Smart => ("", ""),
        };
        if system.is_empty() {
            attributes.insert("os.type", "linux".into());
        } else {
            // The second is what the first was called until 2025.
            attributes.insert("db.system.name", system.into());
            attributes.insert("db.system", older.into());
            attributes.insert("server.address", address.host.clone());
            if !address.is_socket() {
                attributes.insert("server.port", address.port.to_string());
            }
        }
        let is_here = system.is_empty() || address.is_local();
        let host = if is_here { machine_name() } else { address.host.clone() };
        attributes.insert("host.name", host);
        Self { name: name.to_owned(), attributes }
    }
}

/// What a receiver is told of the machine where a run was made.
pub(super) fn of_runs() -> PushSource {
    let attributes = BTreeMap::from([("host.name", machine_name()), ("os.type", "linux".to_owned())]);
    PushSource { name: String::new(), attributes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(url: &str) -> BTreeMap<&'static str, String> {
        PushSource::of("s", &url.parse().unwrap()).attributes
    }

    #[test]
    fn a_database_is_named_with_its_host_and_without_its_login() {
        let of = attributes("postgres://mon@db1:5433/sales?password-file=/etc/word");
        let expected = [
            ("db.system", "postgresql"),
            ("db.system.name", "postgresql"),
            ("host.name", "db1"),
            ("iostall.source", "s"),
            ("server.address", "db1"),
            ("server.port", "5433"),
        ];
        let found: Vec<(&str, &str)> = of.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(attributes("mysql://mon@localhost/")["host.name"], machine_name(), "it is here");
        assert_eq!(attributes("linux:")["host.name"], machine_name());
    }
}
