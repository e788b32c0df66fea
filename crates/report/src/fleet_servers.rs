//! Lists the servers of a repository.

use iostall_measure::foreign::shown;
use iostall_measure::number::age;
use jiff::{SignedDuration, Timestamp};
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
    /// What was not taken of it last.
    pub refused: Option<Refused>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    pub at: Timestamp,
    pub reason: String,
}

/// A clock that is wrong by more is worth a word, milliseconds.
const CLOCK_WRONG_MS: u64 = 5_000;
const NS_PER_S: u64 = 1_000_000_000;

/// What was refused longer ago is over.
const REFUSED_SHOWN: SignedDuration = SignedDuration::from_hours(24);

pub fn fleet_servers(servers: &[ServerEntry], now: Timestamp) -> String {
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
            remark(server, now)
        ));
        // Of two of one name each is told by its id.
        if names.iter().filter(|other| *other == name).count() > 1 {
            text.push_str(&format!("{:width$}  id {}\n", "", server.id));
        }
    }
    text
}

fn remark(server: &ServerEntry, now: Timestamp) -> String {
    let clock = server.clock_ahead_ms.filter(|ahead| ahead.unsigned_abs() > CLOCK_WRONG_MS);
    let clock = clock.map(|ahead| {
        let direction = if ahead > 0 { "ahead" } else { "late" };
        let seconds = ahead.unsigned_abs() / 1_000;
        let off = if seconds < 120 { format!("{seconds} s") } else { age(seconds.saturating_mul(NS_PER_S)) };
        format!("  its clock is {off} {direction}")
    });
    let refused = server.refused.as_ref().filter(|refused| now.duration_since(refused.at) < REFUSED_SHOWN);
    let refused =
        refused.map(|Refused { at, reason }| format!("  refused {}: {}", column(*at), shown(reason)));
    let copied =
        (server.state == "copied").then_some("  two machines use its key: `iostall fleet join` on both");
    [copied.map(str::to_owned), clock, refused].into_iter().flatten().collect()
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
            refused: Some(Refused { at, reason: "too many sources".into() }),
        };
        let former =
            ServerEntry { name: None, state: "former", version: None, refused: None, ..server.clone() };
        let all = [server.clone(), ServerEntry { clock_ahead_ms: Some(100), ..former }];
        let text = fleet_servers(&all, at);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("joined   0.1.0") && lines[1].contains("90 s late"), "{text}");
        assert!(lines[1].ends_with("too many sources"), "{text}");
        assert!(lines[2].starts_with(&server.id) && lines[2].ends_with('2'), "{text}");
        assert!(!text.contains('\u{1b}') && text.lines().count() == 3, "{text}");
        assert!(!fleet_servers(&all, at + REFUSED_SHOWN).contains("refused"));
        assert!(fleet_servers(&[], at).contains("docs/fleet.md"));
        // `fleet revoke` asks for the id of one of two that are called the same.
        let twin = ServerEntry { id: "0192f0c4-4d00-7000-8000-000000000001".into(), ..server.clone() };
        let text = fleet_servers(&[server.clone(), twin.clone()], at);
        assert!(text.contains(&server.id) && text.contains(&twin.id), "{text}");
    }
}
