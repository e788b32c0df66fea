//! Where samples are pushed, as written on the command line or in a collector's file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_engine::{Input, InputError};
use iostall_host::machine_name;
use iostall_measure::{ByteCount, Nanos};
use iostall_remote::{PostAddress, PostError, Poster};
use serde::{Deserialize, Deserializer};

use super::otlp;

const SECRET: Input = Input { what: "secret file", limit: ByteCount(64 << 10) };
const CERTIFICATES: Input = Input { what: "certificate", limit: ByteCount(1 << 20) };
/// How long samples wait for a receiver by default.
pub const BACKLOG: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WrittenPush {
    pub remote_write: Option<String>,
    /// The address of a receiver of OpenTelemetry's protocol: `http` or `https`.
    pub otlp: Option<String>,
    pub token_file: Option<PathBuf>,
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "length")]
    pub backlog: Option<Duration>,
    /// Also latencies of load tests that the store gets from now on. Only by OpenTelemetry's protocol.
    #[serde(default)]
    pub runs: bool,
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let nanos = Option::<Nanos>::deserialize(deserializer)?;
    Ok(nanos.map(|nanos| Duration::from_nanos(nanos.nanos())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Prometheus remote write 1.0.
    RemoteWrite,
    /// OpenTelemetry's protocol over HTTP.
    Otlp,
}

/// How requests prove who sends them. Files are read for each request, so that their content may change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Login {
    Nobody,
    Token(PathBuf),
    Password { user: String, file: PathBuf },
}

#[derive(Clone, Debug, PartialEq)]
pub struct PushTarget {
    pub(super) protocol: Protocol,
    pub(super) address: PostAddress,
    login: Login,
    certificate: Option<PathBuf>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) backlog: Duration,
    pub(super) sends_runs: bool,
}

impl PushTarget {
    /// Checks what was written; `directory` is that of relative paths. The error is a sentence without secrets.
    pub fn checked(written: WrittenPush, directory: &Path) -> Result<Self, String> {
        let (protocol, address) = match (&written.remote_write, &written.otlp) {
            (Some(address), None) => (Protocol::RemoteWrite, address),
            (None, Some(address)) => (Protocol::Otlp, address),
            _ => return Err("name one receiver: remote-write = \"https://…\" or otlp = \"https://…\"".into()),
        };
        if written.runs && protocol == Protocol::RemoteWrite {
            return Err("runs are only sent by OpenTelemetry's protocol, which has distributions: otlp = \"https://…\"".into());
        }
        let parsed = PostAddress::parse(address);
        let parsed = parsed.map_err(|error| format!("{error}: {}", address_hint(&error, protocol)))?;
        let address = if protocol == Protocol::Otlp { parsed.or_path(otlp::PATH) } else { parsed };
        let absolute = |path: PathBuf| directory.join(path);
        let login = match (written.token_file, written.user, written.password_file) {
            (None, None, None) => Login::Nobody,
            (Some(file), None, None) => Login::Token(absolute(file)),
            (None, Some(user), Some(file)) if !user.contains(':') => {
                Login::Password { user, file: absolute(file) }
            }
            _ => return Err("a receiver takes a token, or a user (without a colon) with a password".into()),
        };
        if login != Login::Nobody && !address.is_encrypted() && !address.is_local() {
            return Err("a secret is only sent over https, or to this machine".into());
        }
        let backlog = written.backlog.unwrap_or(BACKLOG);
        let new = Self {
            protocol,
            address,
            login,
            certificate: written.certificate.map(absolute),
            labels: labels(written.labels, protocol)?,
            backlog,
            sends_runs: written.runs,
        };
        // Better now than at the first sample.
        new.authorization()?;
        new.client()?;
        Ok(new)
    }

    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// What tells it from others: the whole address, with what may be a key in it.
    pub(crate) fn identity(&self) -> String {
        self.address.whole().to_owned()
    }

    pub(super) fn client(&self) -> Result<Poster, String> {
        let read = |path: &PathBuf| CERTIFICATES.read(path).map_err(|error| said(&error));
        let authorities = self.certificate.as_ref().map(read).transpose()?;
        let (address, authorities) = (self.address.clone(), authorities.as_deref());
        Poster::new(address, authorities).map_err(|error| match &self.certificate {
            Some(path) => format!("{}: {error}", path.display()),
            None => error.to_string(),
        })
    }

    pub(super) fn authorization(&self) -> Result<Option<String>, String> {
        let read = |path: &Path| {
            let text = SECRET.secret(path).map_err(|error| said(&error))?;
            let line = text.lines().next().unwrap_or_default().trim();
            // A line end in a header would begin another one.
            let is_plain = !line.is_empty() && line.chars().all(|c| c.is_ascii_graphic() || c == ' ');
            is_plain.then(|| line.to_owned()).ok_or_else(|| {
                format!("{}: the first line must be a secret of printable ASCII characters", path.display())
            })
        };
        Ok(match &self.login {
            Login::Nobody => None,
            Login::Token(file) => Some(format!("Bearer {}", read(file)?)),
            Login::Password { user, file } => Some(iostall_remote::basic_authorization(user, &read(file)?)),
        })
    }
}

fn address_hint(error: &PostError, protocol: Protocol) -> &'static str {
    match (error, protocol) {
        (PostError::PasswordInAddress, _) => {
            "write it into a file that only its owner can read, and name that with the user"
        }
        (_, Protocol::RemoteWrite) => "write such as https://HOST/api/v1/write",
        (_, Protocol::Otlp) => "write such as https://HOST:4318",
    }
}

fn said(error: &InputError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

/// The labels of every series: those written, and where they do not say which machine this is, its name.
fn labels(written: BTreeMap<String, String>, protocol: Protocol) -> Result<BTreeMap<String, String>, String> {
    // OpenTelemetry's names have dots.
    let has_dots = protocol != Protocol::RemoteWrite;
    let is_name = |name: &str| {
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_next = |c: char| is_first(c) || c.is_ascii_digit() || has_dots && c == '.';
        name.starts_with(is_first) && name.chars().all(is_next)
    };
    for name in written.keys() {
        if !is_name(name) || name.starts_with("__") || name == "source" {
            return Err(format!(
                "{name:?} is no label: letters, digits and _, not __ at the beginning, and not \"source\""
            ));
        }
    }
    let usual = [("job", "iostall".to_owned()), ("instance", machine_name())];
    let mut all: BTreeMap<String, String> =
        usual.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    all.extend(written);
    Ok(all)
}
