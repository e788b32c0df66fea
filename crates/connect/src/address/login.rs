//! The settings of an address that say how to log in.

use url::Url;

use super::auth::{Auth, Entra, TokenFrom};
use super::engine::Engine;
use super::error::AddressError;
use super::written::Tls;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Sql,
    Integrated,
    Entra,
    ManagedIdentity,
    ServicePrincipal,
}

/// See the module. Settings that were not given are absent.
#[derive(Debug, Default)]
pub(super) struct LoginParts {
    word: Option<Word>,
    token: Option<TokenFrom>,
    tenant: Option<String>,
    authority: Option<String>,
}

impl LoginParts {
    /// Applies a setting of a URL. `Ok(false)`: it is unknown.
    pub(super) fn apply(&mut self, name: &str, value: &str) -> Result<bool, AddressError> {
        match name {
            "auth" => {
                self.word = Some(match value {
                    "sql" => Word::Sql,
                    "integrated" | "kerberos" => Word::Integrated,
                    "entra" => Word::Entra,
                    "managed-identity" => Word::ManagedIdentity,
                    "service-principal" => Word::ServicePrincipal,
                    _ => return Err(AddressError::Value { name: "auth", value: value.to_owned() }),
                });
            }
            "token-file" => self.token = Some(TokenFrom::File(value.into())),
            "token-env" => self.token = Some(TokenFrom::Environment(value.to_owned())),
            "token-command" => {
                let words = value.split_whitespace().map(str::to_owned).collect();
                self.token = Some(TokenFrom::Command(words));
            }
            "tenant" => self.tenant = Some(value.to_owned()),
            "authority" => self.authority = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `Integrated Security=SSPI`, `Trusted_Connection=yes`.
    pub(super) fn integrated(&mut self) {
        self.word = Some(Word::Integrated);
    }

    /// `Authentication=Active Directory Managed Identity`, in lower case and without separators. `Ok(false)`: it
    /// is unknown.
    pub(super) fn authentication(&mut self, squeezed: &str) -> Result<bool, AddressError> {
        self.word = Some(match squeezed {
            "activedirectorymanagedidentity" | "activedirectorymsi" => Word::ManagedIdentity,
            "activedirectoryserviceprincipal" => Word::ServicePrincipal,
            "sqlpassword" => Word::Sql,
            other if other.starts_with("activedirectory") => return Err(NEEDS_PERSON),
            _ => return Ok(false),
        });
        Ok(true)
    }

    /// How `user` logs in.
    pub(super) fn finish(self, engine: Engine, user: &str, has_password: bool) -> Result<Auth, AddressError> {
        let word = self.word.unwrap_or(Word::Sql);
        let has_others = self.tenant.is_some() || self.authority.is_some();
        if engine != Engine::SqlServer && (word != Word::Sql || self.token.is_some() || has_others) {
            return Err(OTHER_ENGINE);
        }
        if self.token.is_some() && word != Word::Entra {
            return Err(NEEDLESS_TOKEN);
        }
        if has_others && word != Word::ServicePrincipal {
            return Err(NEEDLESS_TENANT);
        }
        if has_password && !matches!(word, Word::Sql | Word::ServicePrincipal) {
            return Err(NEEDLESS_PASSWORD);
        }
        if !user.is_empty() && matches!(word, Word::Integrated | Word::Entra) {
            return Err(NEEDLESS_USER);
        }
        match word {
            Word::Sql => Ok(Auth::Password),
            Word::Integrated if !cfg!(feature = "kerberos") => Err(NO_KERBEROS),
            Word::Integrated => Ok(Auth::Integrated),
            Word::ManagedIdentity => Ok(Auth::Entra(Entra::ManagedIdentity)),
            Word::Entra => match self.token {
                Some(TokenFrom::Command(words)) if words.is_empty() => Err(NO_TOKEN),
                Some(token) => Ok(Auth::Entra(Entra::Token(token))),
                None => Err(NO_TOKEN),
            },
            Word::ServicePrincipal => {
                let is_whole = |tenant: &String| is_directory(tenant) && !user.is_empty() && has_password;
                let tenant = self.tenant.filter(is_whole).ok_or(NO_APPLICATION)?;
                let authority = self.authority.map(|text| authority(&text)).transpose()?;
                Ok(Auth::Entra(Entra::ServicePrincipal { tenant, authority }))
            }
        }
    }
}

/// Whether `name` can be an id or a domain: it becomes a part of a path.
fn is_directory(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
}

/// An address to send the client secret to: encrypted, or on this machine.
fn authority(text: &str) -> Result<String, AddressError> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        url.has_host() && is_bare && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
    });
    let url = url.ok_or_else(|| AddressError::Value { name: "authority", value: text.to_owned() })?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The protection of the connection, which an access token must have.
pub(super) fn checked(auth: &Auth, tls: Option<Tls>) -> Result<Option<Tls>, AddressError> {
    match tls {
        Some(Tls::Off | Tls::Unverified) if auth.sends_token() => Err(OPEN_TOKEN),
        None if auth.sends_token() => Ok(Some(Tls::Verify)),
        tls => Ok(tls),
    }
}

const HOW_ENTRA: &str = "write auth=managed-identity on Azure, auth=service-principal&tenant=TENANT for an application, or auth=entra \
                         with a token: token-file=PATH, token-env=NAME or token-command=COMMAND, such as `az account \
                         get-access-token --resource https://database.windows.net/ --query accessToken -o tsv`";

const NEEDS_PERSON: AddressError = AddressError::Auth {
    what: "this way of logging in to Entra is not supported: it needs a person, or a person's password",
    hint: HOW_ENTRA,
};
pub(super) const NTLM: AddressError = AddressError::Auth {
    what: "iostall does not log in with NTLM",
    hint: "write auth=integrated for Kerberos, or log in with a password: sqlserver://USER@HOST?password-file=PATH",
};
pub(super) const PASTED_COMMAND: AddressError = AddressError::Auth {
    what: "a connection string must not name a program to run",
    hint: "write a URL: sqlserver://HOST/DATABASE?auth=entra&token-command=COMMAND",
};
const NO_KERBEROS: AddressError = AddressError::Auth {
    what: "this iostall was built without Kerberos, so it cannot log in with a Windows account",
    hint: "build it with `cargo build --release --features kerberos` (docs/watch.md), or log in with a password: \
           sqlserver://USER@HOST?password-file=PATH",
};
const NO_TOKEN: AddressError = AddressError::Auth {
    what: "auth=entra needs an access token",
    hint: "write token-file=PATH, token-env=NAME or token-command=COMMAND, such as `az account get-access-token \
           --resource https://database.windows.net/ --query accessToken -o tsv`",
};
const NO_APPLICATION: AddressError = AddressError::Auth {
    what: "auth=service-principal needs a client id, a tenant and a client secret",
    hint: "write sqlserver://CLIENT-ID@HOST/DATABASE?auth=service-principal&tenant=TENANT&password-file=PATH, with the \
           client secret in that file",
};
const OPEN_TOKEN: AddressError = AddressError::Auth {
    what: "an access token is only sent to a server whose certificate was verified",
    hint: "leave out tls= (Encrypt, TrustServerCertificate): this system trusts the authority of Azure's certificates; \
           ?ca=FILE names another one",
};
const OTHER_ENGINE: AddressError = AddressError::Auth {
    what: "auth=, token-…=, tenant= and authority= are only for SQL Server",
    hint: "write password-file=PATH, password-env=NAME or password=prompt",
};
const NEEDLESS_TOKEN: AddressError = AddressError::Auth {
    what: "a token is named, but this login does not use it",
    hint: "write auth=entra for a login with this token",
};
const NEEDLESS_TENANT: AddressError = AddressError::Auth {
    what: "tenant= and authority= are only used with auth=service-principal",
    hint: "leave them out, or write auth=service-principal",
};
const NEEDLESS_PASSWORD: AddressError = AddressError::Auth {
    what: "a password is named, but this login does not use it",
    hint: "leave out the password (password-file=, password-env=), or leave out auth=",
};
const NEEDLESS_USER: AddressError = AddressError::Auth {
    what: "a user is named, but the ticket or the token says who logs in",
    hint: "leave out the user: sqlserver://HOST/DATABASE?auth=…",
};
