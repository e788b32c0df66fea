//! Parts of an address, collected from a URL or another program's connection string.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;

use super::login::{self, LoginParts};
use super::{Address, AddressError, Engine, PasswordFrom, Tls};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsWord {
    On,
    Off,
    Unverified,
}

/// How to treat an unknown setting. Other programs have hundreds that are irrelevant here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    Passed,
}

/// See the module. Parts that were not given are absent.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) instance: Option<String>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: PasswordFrom,
    /// A password was given and is not stored.
    pub(super) had_password: bool,
    pub(super) tls: Option<TlsWord>,
    /// `Encrypt=false`, `sslmode=disable`: off, unless `tls=` says otherwise.
    pub(super) encrypt: Option<bool>,
    /// `TrustServerCertificate=true`, `sslmode=require`: any certificate is accepted.
    pub(super) accepts_any_certificate: bool,
    pub(super) ca: Option<PathBuf>,
    pub(super) login: LoginParts,
}

impl Parts {
    /// What a URL says as it is typed, with SQL Server's `HOST\INSTANCE` and `HOST,PORT`, which are no part of any URL.
    pub(super) fn of_typed_url(text: &str) -> Result<(Engine, Self), AddressError> {
        let not_url = || AddressError::NotUrl { text: text.to_owned() };
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (place, after) = rest.split_at(end);
        let (login, server) = place.rsplit_once('@').map_or(("", place), |(login, server)| (login, server));
        if !matches!(scheme.parse(), Ok(Engine::SqlServer)) || !server.contains(['\\', ',']) {
            return Url::parse(text)
                .map_err(|_| not_url())
                .and_then(|url| Self::of_url(&url, Unknown::Refused));
        }
        let separator = if login.is_empty() { "" } else { "@" };
        let plain = format!("{scheme}://{login}{separator}localhost{after}");
        let url = Url::parse(&plain).map_err(|_| not_url())?;
        let (engine, mut parts) = Self::of_url(&url, Unknown::Refused)?;
        parts.server(server)?;
        Ok((engine, parts))
    }

    pub(super) fn of_url(url: &Url, unknown: Unknown) -> Result<(Engine, Self), AddressError> {
        let engine: Engine = url.scheme().parse()?;
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let mut parts = Self {
            // Only URLs put brackets around an IPv6 address.
            host: url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned()),
            port: url.port(),
            user: decode(url.username()),
            database: match engine {
                Engine::Smart => decode(url.path()),
                _ => decode(url.path().trim_start_matches('/')),
            },
            had_password: url.password().is_some(),
            ..Self::default()
        };
        for (name, value) in url.query_pairs() {
            if !parts.apply(&name, &value)? && unknown == Unknown::Refused {
                return Err(AddressError::Parameter { name: name.into_owned() });
            }
        }
        Ok((engine, parts))
    }

    /// Applies a setting under our name or another program's. `Ok(false)`: it is unknown.
    pub(super) fn apply(&mut self, name: &str, value: &str) -> Result<bool, AddressError> {
        match name {
            "password-file" => self.password = PasswordFrom::File(value.into()),
            "password-env" => self.password = PasswordFrom::Environment(value.to_owned()),
            "socket" => self.host = Some(value.to_owned()),
            "instance" => self.instance = Some(value.to_owned()),
            "ca" => self.ca = Some(value.into()),
            "tls" => {
                self.tls = Some(match value {
                    "on" => TlsWord::On,
                    "off" => TlsWord::Off,
                    "unverified" => TlsWord::Unverified,
                    _ => return Err(AddressError::Value { name: "tls", value: value.to_owned() }),
                });
            }
            _ if self.login.apply(name, value)? => {}
            _ => return self.apply_foreign(&squeezed(name), value),
        }
        Ok(true)
    }

    /// The same for other programs' names, in lower case and without separators.
    fn apply_foreign(&mut self, name: &str, value: &str) -> Result<bool, AddressError> {
        match name {
            "password" | "pwd" if value.trim() == "prompt" => self.password = PasswordFrom::Prompt,
            "password" | "pwd" | "accesstoken" => self.had_password |= !value.is_empty(),
            "userid" | "uid" | "user" | "username" => value.clone_into(&mut self.user),
            "database" | "initialcatalog" | "databasename" | "dbname" => value.clone_into(&mut self.database),
            "port" | "portnumber" => self.port = Some(port(value)?),
            "instancename" => self.instance = Some(value.to_owned()),
            "servername" | "server" | "datasource" | "addr" | "address" | "networkaddress" | "host"
            | "hostaddr" => {
                self.server(value)?;
            }
            "encrypt" | "ssl" | "usessl" => self.encrypt = Some(is_yes(name, value)?),
            "trustservercertificate" => self.accepts_any_certificate = is_yes(name, value)?,
            "sslmode" => self.ssl_mode(value)?,
            "sslrootcert" | "sslca" | "rootcertificate" | "servercertificate" => self.ca = Some(value.into()),
            "integratedsecurity" | "trustedconnection" => {
                if matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "sspi") {
                    self.login.integrated();
                }
            }
            "authenticationscheme" if value.eq_ignore_ascii_case("ntlm") => return Err(login::NTLM),
            "authentication" => return self.login.authentication(&squeezed(value)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `tcp:host,1433`, `host\INSTANCE`, `host:5432`, `(local)`, or a socket directory.
    pub(super) fn server(&mut self, text: &str) -> Result<(), AddressError> {
        let text = text.trim();
        let text = text.strip_prefix("tcp:").unwrap_or(text);
        if text.starts_with('/') {
            self.host = Some(text.to_owned());
            return Ok(());
        }
        let (host, of_port) = match text.rsplit_once(',') {
            Some((host, port)) => (host, Some(port)),
            None if text.matches(':').count() == 1 || text.contains("]:") => match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
            None => (text, None),
        };
        if let Some(text) = of_port {
            self.port = Some(port(text)?);
        }
        let host = match host.split_once('\\') {
            Some((host, instance)) => {
                self.instance = Some(instance.trim().to_owned());
                host
            }
            None => host,
        };
        self.host = Some(match host.trim() {
            "." | "(local)" => "localhost".to_owned(),
            // Only URLs put brackets around an IPv6 address.
            other => other.trim_matches(['[', ']']).to_owned(),
        });
        Ok(())
    }

    fn ssl_mode(&mut self, value: &str) -> Result<(), AddressError> {
        match value.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "disable" | "disabled" | "none" => self.encrypt = Some(false),
            // The same as the default.
            "allow" | "prefer" | "preferred" => {}
            "require" | "required" => {
                self.encrypt = Some(true);
                self.accepts_any_certificate = true;
            }
            "verifyca" | "verifyfull" | "verifyidentity" => self.encrypt = Some(true),
            _ => return Err(AddressError::Value { name: "sslmode", value: value.to_owned() }),
        }
        Ok(())
    }

    pub(super) fn finish(self, engine: Engine) -> Result<Address, AddressError> {
        if engine == Engine::Smart && (self.host.is_some() || !self.database.starts_with('/')) {
            return Err(AddressError::Place);
        }
        let host = self.host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
        let is_name = |c: char| c.is_alphanumeric() || ".-_:%".contains(c);
        if !host.starts_with('/') && !host.chars().all(is_name) {
            return Err(AddressError::Host { host });
        }
        // Who names the port need not ask for it, and the instance without a name has the usual one.
        let is_named = |name: &String| self.port.is_none() && !name.eq_ignore_ascii_case("MSSQLSERVER");
        let instance = self.instance.filter(is_named);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
        if let Some(instance) = instance.as_ref().filter(|name| name.is_empty() || !name.chars().all(is_word))
        {
            return Err(AddressError::Instance { instance: instance.clone() });
        }
        let port = self.port.unwrap_or_else(|| engine.default_port());
        let word = self.tls.or(match (self.encrypt, self.accepts_any_certificate) {
            (Some(false), _) => Some(TlsWord::Off),
            (_, true) if self.ca.is_none() => Some(TlsWord::Unverified),
            (Some(true), _) => Some(TlsWord::On),
            (None, _) => None,
        });
        let tls = match (word, self.ca) {
            (Some(TlsWord::Off), Some(_)) => return Err(AddressError::Contradiction { word: "off" }),
            (Some(TlsWord::Unverified), Some(_)) => {
                return Err(AddressError::Contradiction { word: "unverified" });
            }
            (_, Some(ca)) => Some(Tls::VerifyWith(ca)),
            (Some(TlsWord::On), None) => Some(Tls::Verify),
            (Some(TlsWord::Off), None) => Some(Tls::Off),
            (Some(TlsWord::Unverified), None) => Some(Tls::Unverified),
            (None, None) => None,
        };
        let wants_tls = tls.as_ref().is_some_and(|tls| *tls != Tls::Off);
        if engine == Engine::Mysql && host.starts_with('/') && wants_tls {
            return Err(AddressError::SocketTls { socket: host });
        }
        let (user, database, password) = (self.user, self.database, self.password);
        for (part, text) in [("user", &user), ("database", &database)] {
            if text.contains('\0') {
                return Err(AddressError::Nul { part });
            }
        }
        let has_password = self.had_password || password != PasswordFrom::Nowhere;
        let auth = self.login.finish(engine, &user, has_password)?;
        let tls = login::checked(&auth, tls)?;
        let mut address =
            Address { engine, host, port, instance, user, database, password, auth, tls: Tls::Verify };
        address.tls = tls.unwrap_or(if address.is_local() { Tls::Off } else { Tls::Verify });
        Ok(address)
    }
}

/// A name normalised for comparison: `User ID`, `user_id` and `userid` are equal.
pub(super) fn squeezed(name: &str) -> String {
    let letters = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    letters.collect::<String>().to_ascii_lowercase()
}

fn port(text: &str) -> Result<u16, AddressError> {
    let refused = || AddressError::Port { text: text.trim().to_owned() };
    text.trim().parse().ok().filter(|port| *port > 0).ok_or_else(refused)
}

fn is_yes(name: &str, value: &str) -> Result<bool, AddressError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "mandatory" | "strict" | "require" => Ok(true),
        "false" | "no" | "0" | "optional" => Ok(false),
        _ => {
            let name = if name == "trustservercertificate" { "TrustServerCertificate" } else { "Encrypt" };
            Err(AddressError::Value { name, value: value.to_owned() })
        }
    }
}
