//! Rules about where the stripes go.

use super::refusal::{BACKUP, MEDIA, MIRRORS, Refusal};
use super::statement::{BackupDevice, BackupKind, BackupStatement};

const DEVICES_MAX: usize = 64;
const MIRRORS_MAX: usize = 3;

pub(super) fn devices(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let devices = &statement.devices;
    if devices.is_empty() {
        found.push(Refusal::new(BACKUP, "there is no device to write to", "name one with --to"));
    }
    if devices.len() > DEVICES_MAX {
        let message = format!("{} stripes are too many: a backup has {DEVICES_MAX} at most", devices.len());
        found.push(Refusal::new(BACKUP, message, "name fewer with --to"));
    }
    let all: Vec<&BackupDevice> = devices.iter().chain(statement.mirrors.iter().flatten()).collect();
    for device in all.iter().filter(|device| device.is_of_the_system()) {
        let message = format!(
            "{} is a device of the server's system (a tape, a pipe, a disk), and no file",
            device.name()
        );
        let hint = "name a file or a URL; NUL measures how fast the database can be read, with --copy-only";
        found.push(Refusal::new(BACKUP, message, hint));
    }
    let folded: Vec<String> = all.iter().map(|device| device.name().to_lowercase()).collect();
    for (index, device) in all.into_iter().enumerate() {
        if *device != BackupDevice::Nul && folded[..index].contains(&folded[index]) {
            let message =
                format!("{} is named twice, and each stripe needs a file of its own", device.name());
            found.push(Refusal::new(
                MEDIA,
                message,
                "name each file once; to Windows upper and lower case are the same",
            ));
        }
    }
    if statement.is_to_url() && !devices.iter().all(BackupDevice::is_url) {
        let message = "files and URLs cannot be stripes of one backup: a media set has devices of one type";
        found.push(Refusal::new(MEDIA, message, "name only files, or only URLs"));
    } else if devices.iter().any(BackupDevice::is_s3) && !devices.iter().all(BackupDevice::is_s3) {
        let message = "stripes in an S3-compatible store and elsewhere cannot be one backup: a media set has devices of one type";
        found.push(Refusal::new(MEDIA, message, "name only s3://, or none of them"));
    }
}

/// What is sent to NUL is gone, and the server counts it as a backup nevertheless.
pub(super) fn nul(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    if !statement.is_to_nul() {
        return;
    }
    if !statement.devices.iter().all(|device| *device == BackupDevice::Nul) {
        let message = "one stripe to NUL would be missing, and a restore needs every stripe";
        found.push(Refusal::new(BACKUP, message, "send all stripes to NUL to measure, or none"));
    }
    if statement.copy_only {
        return;
    }
    let loss = match statement.kind {
        BackupKind::Full => {
            "a full backup to NUL becomes the base of the next differential backup, which could then never be restored"
        }
        BackupKind::Log => "a log backup to NUL takes the log away: the chain of log backups would be broken",
        BackupKind::Differential => return,
    };
    found.push(Refusal::new(BACKUP, loss, "add --copy-only, which leaves base and chain as they are"));
}

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

/// Reading back what was sent to NUL, which no statement can do.
pub fn refusal_to_read_back(statement: &BackupStatement) -> Option<Refusal> {
    let message = "what is sent to NUL is gone, so it cannot be read back";
    let hint = "leave --verify out, or name a file with --to";
    statement.is_to_nul().then(|| Refusal::new(BACKUP, message, hint))
}
