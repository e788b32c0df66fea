//! Channels in the file of alerts.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use iostall_measure::Nanos;
use serde::Deserialize;
use url::{Host, Url};

use crate::channel::{Channel, Transport};
use crate::command::Command;
use crate::mail::{Mail, MailTls};
use crate::secret::Secret;
use crate::webhook::{WebAddress, Webhook};

/// Default timeout of an attempt.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Default number of attempts.
const ATTEMPTS: u32 = 3;

/// The table of a channel in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    webhook: Option<String>,
    webhook_file: Option<PathBuf>,
    webhook_env: Option<String>,
    token_file: Option<PathBuf>,
    token_env: Option<String>,
    command: Option<Vec<String>>,
    smtp: Option<String>,
    from: Option<String>,
    #[serde(default)]
    to: Vec<String>,
    password_file: Option<PathBuf>,
    password_env: Option<String>,
    timeout: Option<Nanos>,
    attempts: Option<u32>,
}

impl Written {
    pub(super) fn checked(self, name: String) -> Result<Channel, String> {
        let timeout = self.timeout.map_or(TIMEOUT, |length| Duration::from_nanos(length.nanos()));
        if timeout.is_zero() {
            return Err("timeout must be above zero".into());
        }
        let attempts = self.attempts.unwrap_or(ATTEMPTS);
        if !(1..=10).contains(&attempts) {
            return Err("attempts must be from 1 to 10".into());
        }
        Ok(Channel { name, transport: self.transport()?, timeout, attempts })
    }

    fn transport(self) -> Result<Transport, String> {
        let is_web = self.webhook.is_some() || self.webhook_file.is_some() || self.webhook_env.is_some();
        match (is_web, self.command.is_some(), self.smtp.is_some()) {
            (true, false, false) => self.webhook().map(Transport::Webhook),
            (false, true, false) => self.command().map(Transport::Command),
            (false, false, true) => self.mail().map(Transport::Mail),
            _ => Err("needs exactly one of webhook (webhook-file, webhook-env), command and smtp".into()),
        }
    }

    fn webhook(self) -> Result<Webhook, String> {
        self.refuse_mail()?;
        let hidden = secret("webhook", self.webhook_file, self.webhook_env)?;
        let address = match (self.webhook, hidden) {
            (Some(text), None) => {
                let url: Url =
                    text.parse().map_err(|error| format!("webhook {text:?} is not a URL: {error}"))?;
                if !matches!(url.scheme(), "http" | "https") {
                    return Err(format!("webhook {text:?} must begin with https:// or http://"));
                }
                if url.password().is_some() || !url.username().is_empty() {
                    return Err("a webhook's password must not be in this file: use token-file, token-env, \
                                webhook-file or webhook-env"
                        .into());
                }
                WebAddress::Open(url)
            }
            (None, Some(secret)) => WebAddress::Secret(secret),
            _ => return Err("needs one of webhook, webhook-file and webhook-env".into()),
        };
        Ok(Webhook { address, token: secret("token", self.token_file, self.token_env)? })
    }

    fn command(self) -> Result<Command, String> {
        self.refuse_mail()?;
        if self.token_file.is_some() || self.token_env.is_some() {
            return Err("a token is for a webhook".into());
        }
        let mut words = self.command.unwrap_or_default().into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program =
            program.ok_or("command must be a program and its arguments: [\"/usr/bin/page\", \"-q\"]")?;
        Ok(Command { program, arguments: words.collect() })
    }

    fn refuse_mail(&self) -> Result<(), String> {
        let has_some = self.from.is_some()
            || !self.to.is_empty()
            || self.password_file.is_some()
            || self.password_env.is_some();
        if has_some { Err("from, to and password are for mail (smtp)".into()) } else { Ok(()) }
    }

    fn mail(self) -> Result<Mail, String> {
        if self.token_file.is_some() || self.token_env.is_some() {
            return Err("a token is for a webhook".into());
        }
        let text = self.smtp.unwrap_or_default();
        let url: Url = text.parse().map_err(|error| format!("smtp {text:?} is not a URL: {error}"))?;
        if url.password().is_some() {
            return Err("a password must not be in this file: use password-file or password-env".into());
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host =
            host.ok_or_else(|| format!("smtp {text:?} names no server: smtp://mail.example.com:587"))?;
        let tls = tls(&url)?;
        let password = secret("password", self.password_file, self.password_env)?;
        let login = match (url.username(), password) {
            ("", None) => None,
            ("", Some(_)) => return Err("a password needs a login: smtp://LOGIN@HOST".into()),
            (_, None) => return Err("a login needs password-file or password-env".into()),
            (_, Some(_)) if tls == MailTls::Off && !is_this_machine(&url) => {
                return Err("a password is not sent over an unencrypted connection: remove tls=off".into());
            }
            (user, Some(secret)) => Some((decoded(user), secret)),
        };
        let mailbox =
            |text: &String| text.parse().map_err(|error| format!("{text:?} is not a mail address: {error}"));
        let from = self.from.ok_or("from is missing: the sender's address")?;
        if self.to.is_empty() {
            return Err("to is missing: the recipients' addresses".into());
        }
        Ok(Mail {
            host: host.to_owned(),
            port: url.port().unwrap_or(if tls == MailTls::Whole { 465 } else { 587 }),
            tls,
            from: mailbox(&from)?,
            to: self.to.iter().map(mailbox).collect::<Result<_, _>>()?,
            login,
        })
    }
}

/// The encryption that the URL asks for: `smtps` is encrypted, `smtp` uses STARTTLS, except for this machine
/// or with `tls=off`.
fn tls(url: &Url) -> Result<MailTls, String> {
    let mut is_off = is_this_machine(url);
    for (key, value) in url.query_pairs() {
        match (&*key, &*value) {
            ("tls", "off") => is_off = true,
            ("tls", "on") => is_off = false,
            _ => return Err(format!("smtp: {key}={value} is unknown; write tls=on or tls=off")),
        }
    }
    match url.scheme() {
        "smtps" => Ok(MailTls::Whole),
        "smtp" if is_off => Ok(MailTls::Off),
        "smtp" => Ok(MailTls::Upgraded),
        other => Err(format!("smtp: {other}:// is not a mail protocol; write smtp:// or smtps://")),
    }
}

fn is_this_machine(url: &Url) -> bool {
    // For an unknown scheme, the parser treats an address as a name.
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// Decodes a login such as `me%40example.com`.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Where the secret `what` is stored, if it is named.
fn secret(what: &str, file: Option<PathBuf>, variable: Option<String>) -> Result<Option<Secret>, String> {
    match (file, variable) {
        (Some(_), Some(_)) => Err(format!("{what}-file and {what}-env: one is enough")),
        (Some(path), None) => Secret::File(path).unless_open().map(Some),
        (None, Some(name)) => Ok(Some(Secret::Environment(name))),
        (None, None) => Ok(None),
    }
}
