//! How connections to a server are encrypted, and how they log in.

use std::sync::Arc;
use std::time::Duration;

use tiberius::{AuthMethod, Config, EncryptionLevel};

use crate::address::{Address, Auth, Tls};
use crate::entra::Tokens;
use crate::error::SourceError;
use crate::secret::Secret;
use crate::tls;

/// Read once and not for every connection, except an access token, which expires.
pub struct Access {
    config: Config,
    tokens: Option<Arc<Tokens>>,
}

impl Access {
    /// As `address` says. Half of `limit`, the timeout of a reading, is for getting a token.
    pub fn new(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let mut config = Config::new();
        config.application_name("iostall");
        // In another database the query would be parsed at that database's compatibility level.
        config.database(if address.database.is_empty() { "master" } else { &address.database });
        protect(&mut config, address)?;
        let tokens = match &address.auth {
            Auth::Password => {
                config.authentication(AuthMethod::sql_server(&address.user, password.reveal()));
                None
            }
            Auth::Integrated => {
                with_ticket(&mut config);
                None
            }
            Auth::Entra(entra) => Some(Arc::new(Tokens::new(address, entra, password, limit / 2)?)),
        };
        Ok(Self { config, tokens })
    }

    /// For statements that answer only when they are done, such as BACKUP: the driver would give up after 30 seconds.
    pub fn patient(mut self) -> Self {
        self.config.command_timeout(None);
        self
    }

    pub(super) async fn config(&self) -> Result<Config, SourceError> {
        let mut config = self.config.clone();
        if let Some(tokens) = &self.tokens {
            let tokens = Arc::clone(tokens);
            // Programs and web services are waited for on another thread, so that the timeout of the reading counts.
            let token = tokio::task::spawn_blocking(move || tokens.get()).await;
            let token = token.unwrap_or(Err(SourceError::Defect))?;
            config.authentication(AuthMethod::aad_token(token.reveal()));
        }
        Ok(config)
    }

    /// The error of a new connection, with what is wrong with the token if the server refused it. The next
    /// connection gets another one.
    pub(super) fn explain(&self, error: SourceError) -> SourceError {
        let Some(tokens) = &self.tokens else { return error };
        match error {
            SourceError::Login { source_name, user, reason } => {
                let reason = tokens.hidden_in(&reason);
                let fault = tokens.refused().map(|fault| format!("; {fault}")).unwrap_or_default();
                SourceError::Login { source_name, user, reason: reason + &fault }
            }
            SourceError::Connect { source_name, reason } => {
                SourceError::Connect { source_name, reason: tokens.hidden_in(&reason) }
            }
            other => other,
        }
    }
}

fn protect(config: &mut Config, address: &Address) -> Result<(), SourceError> {
    match &address.tls {
        Tls::Off => config.encryption(EncryptionLevel::NotSupported),
        Tls::Verify => config.encryption(EncryptionLevel::Required),
        Tls::VerifyWith(_) => {
            config.encryption(EncryptionLevel::Required);
            for certificate in tls::authorities(address)? {
                config.trust_cert_ca_bundle(certificate.to_vec());
            }
        }
        Tls::Unverified => {
            config.encryption(EncryptionLevel::Required);
            config.trust_cert();
        }
    }
    Ok(())
}

#[cfg(feature = "kerberos")]
fn with_ticket(config: &mut Config) {
    config.authentication(AuthMethod::Integrated);
}

/// Without the feature no address asks for a ticket.
#[cfg(not(feature = "kerberos"))]
fn with_ticket(_: &mut Config) {}
