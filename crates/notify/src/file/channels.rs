//! Channels in the file of alerts.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_measure::Nanos;
use iostall_model::alert::Match;
use serde::Deserialize;
use url::{Host, Url};

use crate::channel::{Channel, Transport};
use crate::command::Command;
use crate::mail::{Mail, MailTls};
use crate::secret::Secret;
use crate::template::{OwnTemplate, Template};
use crate::webhook::{Heartbeat, WebAddress, Webhook};

const TIMEOUT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;

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
    template: Option<String>,
    template_file: Option<PathBuf>,
    heartbeat: Option<String>,
    heartbeat_file: Option<PathBuf>,
    heartbeat_env: Option<String>,
    every: Option<Nanos>,
    source: Option<String>,
    tag: Option<String>,
}

/// A channel, and how often it is sent a sign of life if that is all it is for.
pub(super) struct Checked {
    pub(super) channel: Channel,
    pub(super) pulse: Option<Pulse>,
}

/// How often a sign of life is sent while samples arrive, and of which sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Pulse {
    pub channel: String,
    pub every: Duration,
    /// Whose samples count.
    pub of: Match,
}

impl Written {
    pub(super) fn is_heartbeat(&self) -> bool {
        self.heartbeat.is_some() || self.heartbeat_file.is_some() || self.heartbeat_env.is_some()
    }

    /// `base` is where relative paths begin.
    pub(super) fn checked(mut self, name: String, base: &Path) -> Result<Checked, String> {
        let timeout = self.timeout.map_or(TIMEOUT, |length| Duration::from_nanos(length.nanos()));
        if timeout.is_zero() {
            return Err("timeout must be above zero".into());
        }
        let attempts = self.attempts.unwrap_or(ATTEMPTS);
        if !(1..=10).contains(&attempts) {
            return Err("attempts must be from 1 to 10".into());
        }
        let pulse = self.pulse(&name)?;
        Ok(Checked { channel: Channel { name, transport: self.transport(base)?, timeout, attempts }, pulse })
    }

    fn pulse(&mut self, name: &str) -> Result<Option<Pulse>, String> {
        let has_more = self.every.is_some() || self.source.is_some() || self.tag.is_some();
        match (self.is_heartbeat(), self.every) {
            (false, _) if has_more => Err("every, source and tag are for a heartbeat".into()),
            (false, _) => Ok(None),
            (true, None) => Err("a heartbeat needs every: how often its address is asked for".into()),
            (true, Some(every)) if every.nanos() < 1_000_000_000 => Err("every must be 1s or longer".into()),
            (true, Some(every)) => Ok(Some(Pulse {
                channel: name.to_owned(),
                every: Duration::from_nanos(every.nanos()),
                of: Match { source: self.source.take(), tag: self.tag.take(), ..Match::default() },
            })),
        }
    }

    fn transport(self, base: &Path) -> Result<Transport, String> {
        let has_address = self.webhook.is_some() || self.webhook_file.is_some() || self.webhook_env.is_some();
        let is_web = has_address || self.template.is_some();
        match (is_web, self.command.is_some(), self.smtp.is_some(), self.is_heartbeat()) {
            (true, false, false, false) => self.webhook(base).map(Transport::Webhook),
            (false, true, false, false) => self.command().map(Transport::Command),
            (false, false, true, false) => self.mail().map(Transport::Mail),
            (false, false, false, true) => self.heartbeat().map(Transport::Heartbeat),
            _ => Err("needs exactly one of webhook (webhook-file, webhook-env), command, smtp and heartbeat"
                .into()),
        }
    }

    fn webhook(self, base: &Path) -> Result<Webhook, String> {
        self.refuse_mail()?;
        let template = template(self.template, self.template_file, base)?;
        let hidden = secret("webhook", self.webhook_file, self.webhook_env)?;
        let open =
            self.webhook.or_else(|| template.usual_address().filter(|_| hidden.is_none()).map(str::to_owned));
        let address = address("webhook", open, hidden)?;
        let token = secret("token", self.token_file, self.token_env)?;
        if token.is_none() && template.needs_token() {
            return Err("this receiver needs its key in token-file or token-env".into());
        }
        Ok(Webhook { address, token, template })
    }

    fn heartbeat(self) -> Result<Heartbeat, String> {
        self.refuse_mail()?;
        if self.token_file.is_some() || self.token_env.is_some() || self.template_file.is_some() {
            return Err("a token and a template are for a webhook".into());
        }
        let hidden = secret("heartbeat", self.heartbeat_file, self.heartbeat_env)?;
        Ok(Heartbeat { address: address("heartbeat", self.heartbeat, hidden)? })
    }

    fn command(self) -> Result<Command, String> {
        self.refuse_mail()?;
        if self.token_file.is_some() || self.token_env.is_some() || self.template_file.is_some() {
            return Err("a token and a template are for a webhook".into());
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

/// The address that stands in the file, or where it is kept.
fn address(key: &str, open: Option<String>, hidden: Option<Secret>) -> Result<WebAddress, String> {
    let text = match (open, hidden) {
        (Some(text), None) => text,
        (None, Some(secret)) => return Ok(WebAddress::Secret(secret)),
        _ => return Err(format!("needs one of {key}, {key}-file and {key}-env")),
    };
    let url: Url = text.parse().map_err(|error| format!("{key} {text:?} is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{key} {text:?} must begin with https:// or http://"));
    }
    if url.password().is_some() || !url.username().is_empty() {
        return Err(format!(
            "the password of a {key} must not be in this file: use token-file, token-env, {key}-file or {key}-env"
        ));
    }
    Ok(WebAddress::Open(url))
}

fn template(name: Option<String>, file: Option<PathBuf>, base: &Path) -> Result<Template, String> {
    match (name, file) {
        (None, None) => Ok(Template::default()),
        (Some(name), None) => Template::named(&name)
            .ok_or_else(|| format!("there is no template {name:?}: {}, or template-file", Template::NAMES)),
        (None, Some(file)) => Ok(Template::Own(OwnTemplate::read(&base.join(file))?)),
        (Some(_), Some(_)) => Err("template and template-file: one is enough".into()),
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
