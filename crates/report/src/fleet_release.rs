//! Releases, and what they change on a server.

use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_watch::deploy::{Applied, ChangeKind, Recovered};
use iostall_watch::release::ReleaseInfo;

pub fn release_text(info: &ReleaseInfo) -> String {
    let ReleaseInfo { kind, id, key, version, made, expires, note, objects } = info;
    let mut text = match *kind {
        "undo" => format!("permit to undo release {version} ({id})\n"),
        _ => format!("release {version} ({id})\n"),
    };
    text.push_str(&format!("signed with {key} at {made:.0}, good until {expires:.0}\n"));
    if let Some(note) = note {
        text.push_str(&format!("{}\n", shown(note)));
    }
    for object in objects {
        let labels: Vec<String> =
            object.labels.iter().map(|(name, value)| format!("  {}={}", shown(name), shown(value))).collect();
        let size = ByteCount(object.bytes);
        text.push_str(&format!("  {object}  {size}  {}{}\n", &object.sha256[..12], labels.concat()));
    }
    text
}

pub fn recovered_text(recovered: &Recovered) -> String {
    match recovered {
        Recovered::Finished => "what was begun and interrupted before is finished".to_owned(),
        Recovered::Waits(error) => shown(&error.to_string()),
        Recovered::PutBack(error) => {
            format!("what was begun and interrupted before is undone: {}", shown(&error.to_string()))
        }
    }
}

pub fn applied_text(applied: &Applied, is_plan: bool) -> String {
    let Applied { version, is_undo, changes } = applied;
    let what = match (is_plan, is_undo) {
        (true, false) => "would apply",
        (true, true) => "would undo",
        (false, false) => "applied",
        (false, true) => "undid",
    };
    let mut text = format!("{what} release {version}\n");
    for change in changes {
        let word = match change.change {
            ChangeKind::Add => "add",
            ChangeKind::Replace => "replace",
            ChangeKind::Remove => "remove",
            ChangeKind::Same => "same",
        };
        text.push_str(&format!("  {word:<8} {}  {}\n", change.object, shown(&change.path.to_string_lossy())));
    }
    text
}
