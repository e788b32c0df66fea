//! The label of a backup, as the server writes it.

use iostall_connect::postgres::Lsn;

use super::error::PostgresBackupError;

pub(super) const LABEL_NAME: &str = "backup_label";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) start: Lsn,
    pub(super) timeline: u32,
    pub(super) is_of_standby: bool,
    /// Of an increment that the server has made: where the backup began that it continues.
    pub(super) increment_from: Option<Lsn>,
}

impl Label {
    pub(super) fn parse(text: &str) -> Result<Self, PostgresBackupError> {
        let missing = |what| move || PostgresBackupError::Label { what, label: text.to_owned() };
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let start =
            field("START WAL LOCATION:").and_then(|value| value.split_whitespace().next()?.parse().ok());
        let timeline = field("START TIMELINE:").and_then(|value| value.parse().ok());
        Ok(Self {
            start: start.ok_or_else(missing("START WAL LOCATION"))?,
            timeline: timeline.ok_or_else(missing("START TIMELINE"))?,
            is_of_standby: field("BACKUP FROM:") == Some("standby"),
            increment_from: field("INCREMENTAL FROM LSN:").and_then(|value| value.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_and_the_timeline_are_read_and_a_label_without_them_is_an_error() {
        let text = "START WAL LOCATION: 16/B3000028 (file 0000000300000016000000B3)\nCHECKPOINT LOCATION: 16/B3000060\n\
                    BACKUP METHOD: streamed\nBACKUP FROM: primary\nSTART TIME: 2026-01-01 00:00:00 UTC\nLABEL: iostall\n\
                    START TIMELINE: 3\n";
        let label = Label::parse(text).unwrap();
        assert_eq!(
            label,
            Label { start: Lsn(0x16_B300_0028), timeline: 3, is_of_standby: false, increment_from: None }
        );
        let error = Label::parse("START TIMELINE: 3\n").unwrap_err().to_string();
        assert!(error.contains("START WAL LOCATION"), "{error}");
    }
}
