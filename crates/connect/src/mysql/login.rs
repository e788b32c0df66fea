//! Logins to MariaDB and MySQL.

use iostall_measure::foreign;
use mysql_async::{Conn, DriverError, Opts, OptsBuilder, SslOpts};

use crate::address::{Address, Tls};
use crate::error::SourceError;
use crate::secret::Secret;
use crate::tls;

/// Server errors about a login, password, database or host: missing privilege on the database, access denied,
/// no such database, host not allowed, host blocked, old passwords, unknown method, password expired (two),
/// account locked (MySQL, MariaDB), encryption required.
const LOGIN: [u16; 12] = [1044, 1045, 1049, 1130, 1129, 1251, 1698, 1820, 1862, 3118, 4151, 3159];

/// Our rows have a few hundred bytes.
const PACKET_BYTES_MAX: usize = 4 << 20;

pub struct Login {
    address: Address,
    password: Secret,
    ssl: Option<SslOpts>,
}

impl Login {
    /// As `address` says.
    pub fn new(address: Address, password: Secret) -> Result<Self, SourceError> {
        let ssl = ssl(&address)?;
        Ok(Self { address, password, ssl })
    }

    pub async fn connect(&self) -> Result<Conn, SourceError> {
        Conn::new(self.options()).await.map_err(|error| refused(&self.address, &error))
    }

    fn options(&self) -> Opts {
        let mut options = OptsBuilder::default()
            .user(Some(&self.address.user))
            .prefer_socket(false)
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .pass((!self.password.is_empty()).then(|| self.password.reveal()));
        options = if self.address.is_socket() {
            options.socket(Some(&self.address.host))
        } else {
            options.ip_or_hostname(&self.address.host).tcp_port(self.address.port)
        };
        if !self.address.database.is_empty() {
            options = options.db_name(Some(&self.address.database));
        }
        options.ssl_opts(self.ssl.clone()).into()
    }
}

/// Read once and not for every connection.
fn ssl(address: &Address) -> Result<Option<SslOpts>, SourceError> {
    Ok(match address.tls {
        Tls::Off => None,
        Tls::Verify => Some(SslOpts::default()),
        Tls::VerifyWith(_) => {
            let named = tls::authorities(address)?.into_iter();
            let named = named.map(|certificate| certificate.to_vec().into()).collect();
            // Named certificates replace the built-in ones.
            Some(SslOpts::default().with_root_certs(named).with_disable_built_in_roots(true))
        }
        Tls::Unverified => Some(
            SslOpts::default()
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        ),
    })
}

fn refused(address: &Address, error: &mysql_async::Error) -> SourceError {
    let source_name = address.to_string();
    match error {
        mysql_async::Error::Server(said) if LOGIN.contains(&said.code) => {
            let reason = format!("{} (error {})", foreign::said(&said.message), said.code);
            SourceError::Login { source_name, user: address.user.clone(), reason }
        }
        mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer) => {
            SourceError::Tls { source_name, reason: "the server does not offer it".into() }
        }
        // The driver says of each layer that it is an error of input or output.
        other => {
            let said = other.to_string();
            let said = said.strip_prefix("Input/output error: ").unwrap_or(&said);
            tls::connect_error(source_name, foreign::said(said), other)
        }
    }
}
