//! Logins to MariaDB and MySQL.

use std::sync::Arc;

use iostall_measure::foreign;
use rustls::ClientConfig;

use super::conn::{Account, Conn, Place};
use super::error::MysqlError;
use crate::address::Address;
use crate::error::SourceError;
use crate::secret::Secret;
use crate::tls;

/// Server errors about a login, password, database or host: missing privilege on the database, access denied,
/// no such database, host not allowed, host blocked, the user's connections (two: at a time, and in an hour), old passwords,
/// unknown method, password expired (two), account locked (MySQL, MariaDB), encryption required.
const LOGIN: [u16; 14] =
    [1044, 1045, 1049, 1130, 1129, 1203, 1226, 1251, 1698, EXPIRED, 1862, 3118, 4151, 3159];
/// The password has expired. A server may take the login all the same, and refuse each statement.
const EXPIRED: u16 = 1820;

pub struct Login {
    address: Address,
    password: Secret,
    /// Read once and not for every connection.
    tls: Option<Arc<ClientConfig>>,
}

impl Login {
    /// As `address` says.
    pub fn new(address: Address, password: Secret) -> Result<Self, SourceError> {
        let tls = tls::client(&address)?.map(Arc::new);
        Ok(Self { address, password, tls })
    }

    pub async fn connect(&self) -> Result<Conn, SourceError> {
        let Address { host, port, user, database, .. } = &self.address;
        let place = if self.address.is_socket() {
            Place::Socket(host)
        } else {
            Place::Host { name: host, port: *port }
        };
        let account = Account { user, password: self.password.reveal(), database };
        let opened = Conn::open(place, &account, self.tls.clone()).await;
        opened.map_err(|error| refused(&self.address, &error))
    }
}

/// Why a statement of this login was refused.
pub fn query_error(address: &Address, query: &'static str, error: &MysqlError) -> SourceError {
    if matches!(error, MysqlError::Server { code: EXPIRED, .. }) {
        return refused(address, error);
    }
    SourceError::Query { source_name: address.to_string(), query, reason: foreign::said(&error.to_string()) }
}

/// A server blocks a host after a hundred handshakes that were not completed, so that those count as refused logins, too.
fn refused(address: &Address, error: &MysqlError) -> SourceError {
    let source_name = address.to_string();
    let login = |reason: String| SourceError::Login {
        source_name: source_name.clone(),
        user: address.user.clone(),
        reason,
    };
    match error {
        MysqlError::Server { code, message } if LOGIN.contains(code) => {
            login(format!("{} (error {code})", foreign::said(message)))
        }
        MysqlError::Method(_) | MysqlError::NoMethod | MysqlError::NotPrivate | MysqlError::Protocol(_) => {
            login(foreign::said(&error.to_string()))
        }
        MysqlError::NoTls => SourceError::Tls { source_name, reason: "the server does not offer it".into() },
        other => tls::connect_error(source_name, foreign::said(&other.to_string()), other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: a server that was asked each second by a login with too many connections shut the whole host out.
    #[test]
    fn a_handshake_that_the_server_counts_is_not_tried_again_each_second() {
        let address: Address = "mysql://u@db1".parse().unwrap();
        let of_server = |code| MysqlError::Server { code, message: "no".to_owned() };
        let errors = [1129, 1203, 1226, 1820].map(of_server).into_iter();
        let ours = [MysqlError::Protocol("x"), MysqlError::NoMethod, MysqlError::Method("y".to_owned())];
        for error in errors.chain(ours) {
            let refused = refused(&address, &error);
            assert!(matches!(refused, SourceError::Login { .. }), "{refused:?}");
            assert!(refused.longest_pause().is_some(), "{refused:?}");
        }
        let full = refused(&address, &of_server(1040));
        assert!(matches!(full, SourceError::Connect { .. }), "{full:?}");
    }

    #[test]
    fn an_expired_password_is_a_login_error_also_where_a_statement_says_so() {
        let address: Address = "mysql://u@db1".parse().unwrap();
        let said = |code| query_error(&address, "q", &MysqlError::Server { code, message: "no".to_owned() });
        assert!(matches!(said(1820), SourceError::Login { .. }));
        assert!(matches!(said(1142), SourceError::Query { .. }));
    }
}
