//! Access tokens of Microsoft Entra ID: where they come from, and for how long one is used.
//!
//! A token is a password for an hour: it is kept in memory alone, and no message repeats one.

mod cloud;
mod command;
mod http;
mod identity;
mod token;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_measure::clock::utc_now;

use self::cloud::Cloud;
use self::identity::Endpoint;
use self::token::{Token, without_tokens};
use crate::address::{Address, Entra, TokenFrom};
use crate::error::SourceError;
use crate::secret::Secret;
use identity::Application;
use token::Failure;

const TOKEN: Input = Input { what: "token file", limit: ByteCount(64 << 10) };

const PRINTS_TOKEN: &str = "the output must be the token, or JSON with access_token: `az account get-access-token --resource \
                            https://database.windows.net/ --query accessToken -o tsv` prints one";

pub(crate) struct Tokens {
    source_name: String,
    cloud: Cloud,
    origin: Origin,
    limit: Duration,
    last: Mutex<Option<Token>>,
}

enum Origin {
    User(TokenFrom),
    Identity { client_id: String },
    Application(Application),
}

impl Tokens {
    /// The tokens that `address` asks for. `secret` is the client secret of an application, and `limit` the
    /// longest time to wait for a token.
    pub(crate) fn new(
        address: &Address,
        entra: &Entra,
        secret: &Secret,
        limit: Duration,
    ) -> Result<Self, SourceError> {
        let cloud = Cloud::of_host(&address.host);
        let origin = match entra {
            Entra::Token(from) => Origin::User(from.clone()),
            Entra::ManagedIdentity => Origin::Identity { client_id: address.user.clone() },
            Entra::ServicePrincipal { tenant, authority } => Origin::Application(Application {
                url: cloud.token_url(authority.as_deref(), tenant),
                client_id: address.user.clone(),
                secret: secret.clone(),
            }),
        };
        let source_name = address.to_string();
        let tokens = Self { source_name, cloud, origin, limit, last: Mutex::new(None) };
        // A file or variable that is missing is a mistake of the command line, and an error at once.
        if let Origin::User(from @ (TokenFrom::File(_) | TokenFrom::Environment(_))) = &tokens.origin {
            provided(from, limit).map_err(|failure| tokens.error(failure))?;
        }
        Ok(tokens)
    }

    /// A token for a login now: the last one, if it is valid for long enough. Waits for other programs.
    pub(crate) fn get(&self) -> Result<Secret, SourceError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_provided =
            matches!(&self.origin, Origin::User(TokenFrom::File(_) | TokenFrom::Environment(_)));
        let token = match last.take().filter(|token| !is_provided && token.is_fresh(utc_now())) {
            Some(token) => token,
            None => self.fetch().map_err(|failure| self.error(failure))?,
        };
        let text = token.text.clone();
        *last = Some(token);
        Ok(text)
    }

    /// What a server said about the last token, without the token.
    pub(crate) fn hidden_in(&self, said: &str) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let said =
            last.as_ref().map_or_else(|| said.to_owned(), |token| said.replace(token.text.reveal(), "…"));
        without_tokens(&said)
    }

    /// Drops the last token, because a server refused it; what is wrong with it, as far as it shows.
    pub(crate) fn refused(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        last.fault(self.cloud.resource, utc_now())
    }

    fn fetch(&self) -> Result<Token, Failure> {
        let resource = self.cloud.resource;
        match &self.origin {
            Origin::User(from) => provided(from, self.limit),
            Origin::Identity { client_id } => {
                let endpoint = Endpoint::of(|name| std::env::var(name).ok())?;
                endpoint.token(resource, client_id, self.limit)
            }
            Origin::Application(application) => application.token(resource, self.limit),
        }
    }

    fn error(&self, failure: Failure) -> SourceError {
        let source_name = self.source_name.clone();
        let Failure { reason, hint, is_refused } = failure;
        // A reason may quote another program, and that one a token.
        let reason = without_tokens(&reason);
        if is_refused {
            SourceError::TokenRefused { source_name, reason, hint }
        } else {
            SourceError::Token { source_name, reason, hint }
        }
    }
}

fn provided(from: &TokenFrom, limit: Duration) -> Result<Token, Failure> {
    let (text, what) = match from {
        TokenFrom::File(path) => {
            let text = TOKEN.secret(path).map_err(|error| {
                let hint = error.hint().unwrap_or_else(|| "write an access token into that file".into());
                Failure::refused(error.to_string(), hint)
            })?;
            (text, format!("the token file {}", path.display()))
        }
        TokenFrom::Environment(name) => {
            let text = std::env::var(name).map_err(|_| {
                let reason =
                    format!("the environment variable {name}, which should hold a token, is not set");
                Failure::refused(reason, format!("export {name} first, or write token-command=COMMAND"))
            })?;
            (text, format!("the environment variable {name}"))
        }
        TokenFrom::Command(words) => (
            command::output(words, limit)?,
            format!("the output of {}", words.first().map_or("", String::as_str)),
        ),
    };
    Token::read(&text, utc_now())
        .ok_or_else(|| Failure::refused(format!("{what} is not an access token"), PRINTS_TOKEN))
}
