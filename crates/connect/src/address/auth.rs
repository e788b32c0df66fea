//! How a login proves who it is.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// A login of the server's own, with a password.
    #[default]
    Password,
    /// A Windows account, with the Kerberos ticket of the account that iostall runs as.
    Integrated,
    /// An account of Microsoft Entra ID, with an access token.
    Entra(Entra),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entra {
    Token(TokenFrom),
    /// Azure gives it to this machine or app. The user is the client id of a user-assigned identity.
    ManagedIdentity,
    /// Entra gives it to an application. The user is its client id, the password its client secret.
    ServicePrincipal {
        /// Id or domain of the directory.
        tenant: String,
        /// The address of Entra, if it is not that of the server's cloud.
        authority: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFrom {
    File(PathBuf),
    Environment(String),
    /// The output of a program with its arguments; no shell is involved.
    Command(Vec<String>),
}

impl Auth {
    /// Whether an access token is sent, which anyone who reads it could use.
    pub fn sends_token(&self) -> bool {
        matches!(self, Self::Entra(_))
    }

    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Password => Vec::new(),
            Self::Integrated => vec![("auth", "integrated".to_owned())],
            Self::Entra(Entra::Token(from)) => vec![("auth", "entra".to_owned()), from.setting()],
            Self::Entra(Entra::ManagedIdentity) => vec![("auth", "managed-identity".to_owned())],
            Self::Entra(Entra::ServicePrincipal { tenant, authority }) => {
                let mut settings = vec![("auth", "service-principal".to_owned()), ("tenant", tenant.clone())];
                settings.extend(authority.clone().map(|authority| ("authority", authority)));
                settings
            }
        }
    }
}

impl TokenFrom {
    fn setting(&self) -> (&'static str, String) {
        match self {
            Self::File(path) => ("token-file", path.to_string_lossy().into_owned()),
            Self::Environment(name) => ("token-env", name.clone()),
            Self::Command(words) => ("token-command", words.join(" ")),
        }
    }
}
