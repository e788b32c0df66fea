//! Rules of mirrors, and of parts of a database.

use super::refusal::{BACKUP, IDENTIFIERS, MEDIA, MIRRORS, PARTIAL, Refusal, SYSTEM};
use super::statement::{BackupDevice, BackupKind, BackupStatement};

const MIRRORS_MAX: usize = 3;

pub(super) fn mirrors(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let mirrors = &statement.mirrors;
    if mirrors.is_empty() {
        return;
    }
    if mirrors.len() > MIRRORS_MAX {
        let message =
            format!("{} mirrors are too many: a media set has {MIRRORS_MAX} at most", mirrors.len());
        found.push(Refusal::new(MIRRORS, message, "name fewer with --mirror-to"));
    }
    let stripes = statement.devices.len();
    if mirrors.iter().any(|mirror| mirror.len() != stripes) {
        let message = format!("each mirror needs as many devices as the backup has stripes, {stripes}");
        found.push(Refusal::new(
            MIRRORS,
            message,
            "name as many with --mirror-to as with --to, or two or three times as many",
        ));
    }
    let mut all = statement.devices.iter().chain(mirrors.iter().flatten());
    if !all.all(|device| matches!(device, BackupDevice::Disk(_))) {
        let message = "MIRROR TO is only for files: neither URLs nor NUL can be mirrored";
        found.push(Refusal::new(
            MIRRORS,
            message,
            "leave --mirror-to out, or name files with --to and --mirror-to",
        ));
    }
    if !statement.media.format && statement.media.overwrite.is_none() {
        let message = "a mirrored media set is made with FORMAT: on files that are not there yet, MIRROR TO fails without it";
        let hint = "add --format for new files (what they hold is lost), or --noinit to append to a mirrored set that is there";
        found.push(Refusal::new(MEDIA, message, hint));
    }
}

pub(super) fn parts(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let parts = &statement.parts;
    if parts.is_all() {
        return;
    }
    if statement.kind == BackupKind::Log {
        let message = "FILE, FILEGROUP and READ_WRITE_FILEGROUPS are not for backups of the log, which is one for the whole database";
        found.push(Refusal::new(
            BACKUP,
            message,
            "leave them out, or make a full or differential backup of them",
        ));
    }
    if parts.read_write && !parts.files.is_empty() {
        let message =
            "READ_WRITE_FILEGROUPS and FILE exclude each other: a partial backup is of whole filegroups";
        found.push(Refusal::new(
            PARTIAL,
            message,
            "name read-only filegroups with --filegroup, or leave one of them out",
        ));
    }
    if statement.database.eq_ignore_ascii_case("master") {
        let message = "of master there are only backups of all of it";
        found.push(Refusal::new(
            SYSTEM,
            message,
            "leave --file, --filegroup and --read-write-filegroups out",
        ));
    }
    for names in [&parts.files, &parts.filegroups] {
        let folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        for (index, name) in
            names.iter().enumerate().filter(|(index, _)| folded[..*index].contains(&folded[*index]))
        {
            let message = format!("{name:?} is named twice (number {})", index + 1);
            found.push(Refusal::new(IDENTIFIERS, message, "name each file and filegroup once"));
        }
    }
}
