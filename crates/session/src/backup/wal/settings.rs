//! The settings with which a server recovers to a point in time.

use std::path::Path;

use iostall_engine::files::path_bytes;

use super::target::{AtTarget, Until};

/// The settings that name a target: more than one of them is an error of the server.
const TARGETS: [&str; 5] = [
    "recovery_target",
    "recovery_target_lsn",
    "recovery_target_name",
    "recovery_target_time",
    "recovery_target_xid",
];

#[derive(Clone, Debug)]
pub(super) struct Settings<'a> {
    pub(super) program: &'a Path,
    pub(super) archive: &'a Path,
    pub(super) until: &'a Until,
    pub(super) is_inclusive: bool,
    pub(super) at_target: AtTarget,
    /// `None` for that of the base.
    pub(super) timeline: Option<u32>,
}

impl Settings<'_> {
    /// As the server's shell runs it: the server itself replaces what follows a percent sign.
    pub(super) fn restore_command(&self) -> Vec<u8> {
        let mut command = Vec::new();
        for (word, path) in [("", self.program), (" backup wal fetch %f %p --from ", self.archive)] {
            command.extend_from_slice(word.as_bytes());
            command.push(b'\'');
            for byte in path_bytes(path) {
                match byte {
                    b'\'' => command.extend_from_slice(b"'\\''"),
                    b'%' => command.extend_from_slice(b"%%"),
                    byte => command.push(*byte),
                }
            }
            command.push(b'\'');
        }
        command
    }

    /// Lines for the end of `postgresql.auto.conf`, where they count more than what stands before.
    pub(super) fn lines(&self) -> Vec<u8> {
        let mut lines =
            b"\n# Written by `iostall backup restore`: how to recover. The last value of a setting counts.\n"
                .to_vec();
        let mut set = |name: &str, value: &[u8]| {
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b" = ");
            lines.extend_from_slice(&quoted(value));
            lines.push(b'\n');
        };
        set("restore_command", &self.restore_command());
        let target = self.until.setting();
        // What the original was once recovered to must not count. The server wants the empty ones first.
        for name in TARGETS.iter().filter(|name| Some(**name) != target.as_ref().map(|(name, _)| *name)) {
            set(name, b"");
        }
        if let Some((name, value)) = target {
            set(name, value.as_bytes());
            set("recovery_target_inclusive", if self.is_inclusive { b"on" } else { b"off" });
            set("recovery_target_action", self.at_target.word().as_bytes());
        }
        let timeline = self.timeline.map_or_else(|| "current".to_owned(), |timeline| timeline.to_string());
        set("recovery_target_timeline", timeline.as_bytes());
        lines
    }
}

fn quoted(value: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in value {
        match byte {
            b'\'' => text.extend_from_slice(b"''"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings<'a>(archive: &'a str, until: &'a Until) -> Settings<'a> {
        Settings {
            program: Path::new("/opt/my tools/iostall"),
            archive: Path::new(archive),
            until,
            is_inclusive: true,
            at_target: AtTarget::Pause,
            timeline: Some(3),
        }
    }

    /// The story: the archive was in a directory with an apostrophe, and the restored server did not start.
    #[test]
    fn a_directory_of_any_name_passes_the_file_the_server_and_the_shell() {
        let until = Until::Latest;
        let said = |archive| String::from_utf8(settings(archive, &until).lines()).unwrap();
        let line = |archive| said(archive).lines().nth(2).unwrap().to_owned();
        assert_eq!(
            line("/wal"),
            "restore_command = '''/opt/my tools/iostall'' backup wal fetch %f %p --from ''/wal'''"
        );
        assert!(line("/it's 50%p").ends_with(r"--from ''/it''\\''''s 50%%p'''"), "{}", line("/it's 50%p"));
        assert!(line("/two\nlines\\").ends_with(r"--from ''/two\nlines\\'''"), "{}", line("/two\nlines\\"));
    }

    #[test]
    fn only_one_target_is_named_and_it_is_named_last() {
        let until = Until::Position(0x0300_0110);
        let text = String::from_utf8(settings("/wal", &until).lines()).unwrap();
        let named: Vec<_> = text.lines().filter(|line| line.starts_with("recovery_target")).collect();
        assert_eq!(
            named,
            [
                "recovery_target = ''",
                "recovery_target_name = ''",
                "recovery_target_time = ''",
                "recovery_target_xid = ''",
                "recovery_target_lsn = '0/3000110'",
                "recovery_target_inclusive = 'on'",
                "recovery_target_action = 'pause'",
                "recovery_target_timeline = '3'",
            ]
        );
    }
}
