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
/// no such database, host not allowed, host blocked, old passwords, unknown method, password expired (two),
/// account locked (MySQL, MariaDB), encryption required.
const LOGIN: [u16; 12] = [1044, 1045, 1049, 1130, 1129, 1251, 1698, 1820, 1862, 3118, 4151, 3159];

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

fn refused(address: &Address, error: &MysqlError) -> SourceError {
    let source_name = address.to_string();
    match error {
        MysqlError::Server { code, message } if LOGIN.contains(code) => {
            let reason = format!("{} (error {code})", foreign::said(message));
            SourceError::Login { source_name, user: address.user.clone(), reason }
        }
        MysqlError::Method(_) | MysqlError::NotPrivate => {
            SourceError::Login { source_name, user: address.user.clone(), reason: error.to_string() }
        }
        MysqlError::NoTls => SourceError::Tls { source_name, reason: "the server does not offer it".into() },
        other => tls::connect_error(source_name, foreign::said(&other.to_string()), other),
    }
}
