//! Where a recovery is to end.

use std::fmt;

use iostall_connect::postgres::Lsn;
use jiff::Timestamp;

/// The last that is to be recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Everything that was archived.
    Latest,
    /// Transactions that were committed until then.
    Time(Timestamp),
    /// A position in the log, bytes from its beginning.
    Position(u64),
    Transaction(u64),
    Point(String),
}

const POINT_BYTES_MAX: usize = 63;

impl Until {
    /// What `text` means; `None` if it can only be a time.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        if text == "latest" {
            return Some(Ok(Self::Latest));
        }
        if let Some(number) = text.strip_prefix("xid:") {
            let number: Option<u64> = number.parse().ok().filter(|number| *number > 0);
            let wrong = || format!("{text:?} has no number of a transaction, such as xid:74210");
            return Some(number.map(Self::Transaction).ok_or_else(wrong));
        }
        if let Some(name) = text.strip_prefix("name:") {
            let fits = !name.is_empty() && name.len() <= POINT_BYTES_MAX && !name.contains(['\n', '\0']);
            let wrong =
                || format!("{text:?} has no name of a restore point, which has 1 to {POINT_BYTES_MAX} bytes");
            return Some(fits.then(|| Self::Point(name.to_owned())).ok_or_else(wrong));
        }
        text.contains('/').then(|| match text.parse::<Lsn>() {
            Ok(Lsn(position)) => Ok(Self::Position(position)),
            Err(error) => Err(error.to_string()),
        })
    }

    /// The setting of the server, and its value; `None` for the end of the log.
    pub(super) fn setting(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Latest => None,
            Self::Time(at) => {
                Some(("recovery_target_time", at.strftime("%Y-%m-%d %H:%M:%S.%6f+00").to_string()))
            }
            Self::Position(position) => Some(("recovery_target_lsn", Lsn(*position).to_string())),
            Self::Transaction(number) => Some(("recovery_target_xid", number.to_string())),
            Self::Point(name) => Some(("recovery_target_name", name.clone())),
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("the end of the archive"),
            Self::Time(at) => at.fmt(f),
            Self::Position(position) => Lsn(*position).fmt(f),
            Self::Transaction(number) => write!(f, "transaction {number}"),
            Self::Point(name) => write!(f, "restore point {name:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtTarget {
    /// It waits, and can be read: to look whether this is the right time.
    #[default]
    Pause,
    Promote,
}

impl AtTarget {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Promote => "promote",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_transactions_and_names_are_told_from_times() {
        let parse = |text| Until::parse(text).unwrap();
        assert_eq!(parse("latest"), Ok(Until::Latest));
        assert_eq!(parse("16/B374D848"), Ok(Until::Position(0x16_B374_D848)));
        assert_eq!(parse("xid:74210"), Ok(Until::Transaction(74_210)));
        assert_eq!(parse("name:before 2.0"), Ok(Until::Point("before 2.0".to_owned())));
        for wrong in ["xid:", "xid:0", "xid:-1", "name:", "1/2/3", &format!("name:{}", "x".repeat(64))] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Until::parse("2026-11-23T07:00Z"), None);
        assert_eq!(Until::parse("yesterday"), None);
    }

    #[test]
    fn the_server_is_given_a_time_with_its_zone() {
        let at: Timestamp = "2026-11-23T07:00:00.25+01:00".parse().unwrap();
        let setting = Until::Time(at).setting();
        assert_eq!(setting, Some(("recovery_target_time", "2026-11-23 06:00:00.250000+00".to_owned())));
    }
}
