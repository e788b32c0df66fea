//! Lists the servers of a repository.

use iostall_measure::foreign::shown;
use iostall_measure::number::age;
use jiff::Timestamp;
use serde::Serialize;

use crate::zone::{column, heading};

#[derive(Clone, Debug, Serialize)]
pub struct ServerEntry {
    pub id: String,
    /// As it joined, or that of its host, or what whoever pulls it calls it.
    pub name: Option<String>,
    /// `joined`, `copied`, `revoked`, `pulled`, or `former` if it sent before it had to join.
    pub state: &'static str,
    pub state_since_utc: Option<Timestamp>,
    pub joined_utc: Option<Timestamp>,
    pub key_made_utc: Option<Timestamp>,
    pub host: Option<String>,
    pub version: Option<String>,
    pub last_contact_utc: Option<Timestamp>,
    /// How far its clock was ahead at that time, milliseconds.
    pub clock_ahead_ms: Option<i64>,
    pub sources: i64,
    /// When its newest sample in the repository was taken, and how long ago that is, seconds.
    pub newest_sample_utc: Option<Timestamp>,
    pub lag_s: Option<i64>,
}

/// A clock that is wrong by more is worth a word, milliseconds.
const CLOCK_WRONG_MS: u64 = 5_000;
const NS_PER_S: u64 = 1_000_000_000;

pub fn fleet_servers(servers: &[ServerEntry]) -> String {
    if servers.is_empty() {
        return "no server has sent anything; docs/fleet.md explains how one joins\n".to_owned();
    }
    let names: Vec<String> =
        servers.iter().map(|server| shown(server.name.as_ref().unwrap_or(&server.id))).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    let contact = heading("last contact");
    let contact_width = contact.chars().count().max(19);
    let mut text = format!(
        "{:width$}  {:7}  {:8}  {contact:contact_width$}  {:>8}  {:>7}\n",
        "server", "state", "version", "lag", "sources"
    );
    for (server, name) in servers.iter().zip(&names) {
        let version = server.version.as_deref().map_or_else(|| "-".to_owned(), shown);
        let at = server.last_contact_utc.map_or_else(|| "-".to_owned(), column);
        let lag = server.lag_s.and_then(|lag| u64::try_from(lag).ok());
        let lag = lag.map_or_else(|| "-".to_owned(), |lag| age(lag.saturating_mul(NS_PER_S)));
        text.push_str(&format!(
            "{name:width$}  {:7}  {version:8}  {at:contact_width$}  {lag:>8}  {:>7}{}\n",
            server.state,
            server.sources,
            remark(server)
        ));
    }
    text
}

fn remark(server: &ServerEntry) -> String {
    let clock = server.clock_ahead_ms.filter(|ahead| ahead.unsigned_abs() > CLOCK_WRONG_MS);
    let clock = clock.map(|ahead| {
        let direction = if ahead > 0 { "ahead" } else { "late" };
        format!("  its clock is {} {direction}", age(ahead.unsigned_abs().saturating_mul(1_000_000)))
    });
    let copied =
        (server.state == "copied").then_some("  two machines use its key: `iostall fleet join` on both");
    format!("{}{}", copied.unwrap_or_default(), clock.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_line_with_what_is_wrong_at_its_end() {
        let at: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        let server = ServerEntry {
            id: "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".into(),
            name: Some("db\u{1b}[2J1".into()),
            state: "joined",
            state_since_utc: Some(at),
            joined_utc: Some(at),
            key_made_utc: Some(at),
            host: None,
            version: Some("0.1.0".into()),
            last_contact_utc: Some(at),
            clock_ahead_ms: Some(-90_000),
            sources: 2,
            newest_sample_utc: Some(at),
            lag_s: Some(75),
        };
        let former = ServerEntry { name: None, state: "former", version: None, ..server.clone() };
        let text = fleet_servers(&[server.clone(), ServerEntry { clock_ahead_ms: Some(100), ..former }]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("joined   0.1.0") && lines[1].ends_with("late"), "{text}");
        assert!(lines[2].starts_with(&server.id) && lines[2].ends_with('2'), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert!(fleet_servers(&[]).contains("docs/fleet.md"));
    }
}
