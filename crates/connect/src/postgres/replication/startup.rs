//! The beginning of a session: TLS, the login, and what the server says about itself.

use std::io;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use iostall_measure::foreign;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::login::{DENIED, FULL, LOGIN, Login, Socket};
use super::error::ReplicationError;
use super::wire::{Incoming, Said, Wire, said};
use crate::error::SourceError;

/// The server's answer if it supports TLS.
const AGREED: u8 = b'S';
/// Messages before the end of a login: settings, keys, and what the server wants to be known.
const MESSAGES_MAX: usize = 1000;
/// The oldest version with everything that is used.
const OLDEST: u32 = 12;
const VERSION: &str = "server_version";
/// What a server says if `pg_hba.conf` has no line for replication.
const HBA: &str = "pg_hba.conf";
/// SQLSTATE of a login that is not allowed.
const NOT_ALLOWED: &str = "28000";

pub(super) struct Started {
    pub(super) wire: Wire,
    pub(super) version: u32,
    /// As `server_version` says.
    pub(super) version_text: String,
}

/// Connects and logs in for replication, as the application `name`.
pub(super) async fn start(login: &Login, name: &str) -> Result<Started, ReplicationError> {
    let socket = login.socket().await.map_err(|error| login.unreachable(&error))?;
    let socket = secured(login, socket).await?;
    let mut startup = Startup { login, wire: Wire::new(socket), scram: None, version_text: String::new() };
    let broken = |error: io::Error| ReplicationError::Server(login.unreachable(&error));
    let mut first = BytesMut::new();
    let parameters = [
        ("user", login.user()),
        ("replication", "true"),
        ("application_name", name),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(parameters, &mut first).map_err(broken)?;
    startup.wire.send(&first).await.map_err(broken)?;
    for _ in 0..MESSAGES_MAX {
        let message = startup.wire.next().await.map_err(broken)?;
        if startup.is_over(message).await? {
            return startup.finish();
        }
    }
    Err(broken(io::Error::new(io::ErrorKind::InvalidData, "the login has no end")))
}

async fn secured(login: &Login, mut socket: Socket) -> Result<Socket, SourceError> {
    if !login.is_encrypted() {
        return Ok(socket);
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let asked = async {
        socket.write_all(&request).await?;
        // One byte and no more: what follows it must be encrypted.
        socket.read_u8().await
    };
    match asked.await {
        Ok(AGREED) => login.encrypted(socket).await,
        Ok(_) => {
            let reason = "the server does not support TLS".to_owned();
            Err(SourceError::Tls { source_name: login.name.clone(), reason })
        }
        Err(error) => Err(login.unreachable(&error)),
    }
}

struct Startup<'a> {
    login: &'a Login,
    wire: Wire,
    scram: Option<ScramSha256>,
    version_text: String,
}

impl Startup<'_> {
    /// Answers a message; `true` if it was the last.
    async fn is_over(&mut self, incoming: Incoming) -> Result<bool, ReplicationError> {
        let message = match incoming {
            Incoming::Message(message) => message,
            Incoming::CopyIn | Incoming::CopyBoth => return Err(self.unexpected()),
        };
        let mut answer = BytesMut::new();
        match message {
            Message::ReadyForQuery(_) => return Ok(true),
            Message::ErrorResponse(body) => return Err(refused(self.login, said(&body))),
            Message::ParameterStatus(status) => {
                if status.name().is_ok_and(|name| name == VERSION) {
                    status.value().unwrap_or_default().clone_into(&mut self.version_text);
                }
            }
            Message::AuthenticationOk if self.scram.is_some() => {
                return Err(self.rejected("it skipped the proof that it knows the password"));
            }
            Message::AuthenticationOk | Message::BackendKeyData(_) => {}
            Message::AuthenticationCleartextPassword => {
                let password = self.password()?;
                self.written(frontend::password_message(password, &mut answer))?;
            }
            Message::AuthenticationMd5Password(body) => {
                let (user, salt) = (self.login.user().as_bytes(), body.salt());
                let hash = md5_hash(user, self.password()?, salt);
                self.written(frontend::password_message(hash.as_bytes(), &mut answer))?;
            }
            Message::AuthenticationSasl(body) => self.begin_scram(&body, &mut answer)?,
            Message::AuthenticationSaslContinue(body) => self.go_on(body.data(), &mut answer)?,
            Message::AuthenticationSaslFinal(body) => {
                let mut scram = self.scram.take().ok_or_else(|| self.unexpected())?;
                scram.finish(body.data()).map_err(|error| self.rejected(&error.to_string()))?;
            }
            Message::AuthenticationGss | Message::AuthenticationSspi | Message::AuthenticationKerberosV5 => {
                return Err(
                    self.rejected("it wants a Kerberos ticket, which replication does not support here")
                );
            }
            _ => return Err(self.unexpected()),
        }
        if !answer.is_empty() {
            let sent = self.wire.send(&answer).await;
            sent.map_err(|error| self.login.unreachable(&error))?;
        }
        Ok(false)
    }

    /// Without channel binding: who is at the other end is what the certificate says.
    fn begin_scram(
        &mut self,
        body: &AuthenticationSaslBody,
        answer: &mut BytesMut,
    ) -> Result<(), ReplicationError> {
        let is_offered = body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256));
        if !is_offered.unwrap_or(false) {
            return Err(self.rejected("it supports no kind of password that iostall knows"));
        }
        let scram = ScramSha256::new(self.password()?, ChannelBinding::unsupported());
        let begun = frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), answer);
        self.scram = Some(scram);
        self.written(begun)
    }

    fn go_on(&mut self, data: &[u8], answer: &mut BytesMut) -> Result<(), ReplicationError> {
        let Some(mut scram) = self.scram.take() else { return Err(self.unexpected()) };
        scram.update(data).map_err(|error| self.rejected(&error.to_string()))?;
        let gone_on = frontend::sasl_response(scram.message(), answer);
        self.scram = Some(scram);
        self.written(gone_on)
    }

    fn finish(self) -> Result<Started, ReplicationError> {
        let Self { login, wire, version_text, .. } = self;
        let source_name = login.name.clone();
        let Some(version) = major(&version_text) else {
            return Err(ReplicationError::Unknown { source_name, what: VERSION, text: version_text });
        };
        if version < OLDEST {
            let (version, oldest) = (version_text, "PostgreSQL 12");
            return Err(SourceError::TooOld { source_name, version, oldest }.into());
        }
        Ok(Started { wire, version, version_text })
    }

    fn password(&self) -> Result<&[u8], ReplicationError> {
        match self.login.password() {
            [] => Err(self.rejected("it wants a password, and the address names none")),
            password => Ok(password),
        }
    }

    fn written(&self, result: io::Result<()>) -> Result<(), ReplicationError> {
        result.map_err(|error| self.rejected(&error.to_string()))
    }

    fn rejected(&self, reason: &str) -> ReplicationError {
        let (source_name, user) = (self.login.name.clone(), self.login.user().to_owned());
        SourceError::Login { source_name, user, reason: foreign::said(reason) }.into()
    }

    fn unexpected(&self) -> ReplicationError {
        let (source_name, text) = (self.login.name.clone(), "a message out of order".to_owned());
        ReplicationError::Unknown { source_name, what: "login", text }
    }
}

fn refused(login: &Login, Said { state, text }: Said) -> ReplicationError {
    let (source_name, user) = (login.name.clone(), login.user().to_owned());
    match state.as_str() {
        DENIED => ReplicationError::Denied { source_name, user, action: "replicate", reason: text },
        NOT_ALLOWED if text.contains(HBA) => ReplicationError::NotLetIn { source_name, user, reason: text },
        FULL => SourceError::Full { source_name, reason: text }.into(),
        state if LOGIN.contains(&state) => SourceError::Login { source_name, user, reason: text }.into(),
        _ => SourceError::Connect { source_name, reason: text }.into(),
    }
}

/// `15` of `15.14 (Debian 15.14-0+deb12u1)`, `18` of `18beta1`.
fn major(text: &str) -> Option<u32> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_what_stands_before_the_first_other_letter() {
        for (text, version) in
            [("15.14 (Debian 15.14-0+deb12u1)", 15), ("18beta1", 18), ("17", 17), ("19devel", 19)]
        {
            assert_eq!(major(text), Some(version));
        }
        assert_eq!((major(""), major("x15"), major("99999999999")), (None, None, None));
    }
}
