//! Releases and their pushes: what they change, how far they are, and what differs on servers.

use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_watch::deploy::{Applied, ChangeKind, Recovered};
use iostall_watch::release::ReleaseInfo;
use iostall_watch::rollout::{
    Drift, DriftState, PushCounts, PushEntry, PushPlan, PushedServer, StoredPush, Unreached,
};

const NAMES_MAX: usize = 20;

pub fn plan_text(plan: &PushPlan) -> String {
    let mut text = format!("release {} would go to {} servers\n", plan.version, plan.servers.len());
    for server in &plan.servers {
        let changes =
            if server.changes.is_empty() { "nothing to change".to_owned() } else { server.changes.join(" ") };
        text.push_str(&format!("  ring {}  {}  {}\n", server.ring, shown(&server.server), shown(&changes)));
    }
    text + &unreached_text(&plan.unreached)
}

pub fn unreached_text(servers: &[Unreached]) -> String {
    let of = |reason: &str, words: &str| {
        let names: Vec<String> =
            servers.iter().filter(|one| one.reason == reason).map(|one| shown(&one.server)).collect();
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = names[..names.len().min(NAMES_MAX)].join(", ");
        if names.is_empty() { String::new() } else { format!("no push reaches {listed}{more}: {words}\n") }
    };
    of("no-agent", "no `iostall fleet agent` has asked there")
}

pub fn status_text(pushes: &[PushEntry]) -> String {
    let mut text = String::new();
    for PushEntry { push, servers } in pushes {
        let StoredPush { number, version, state, ring, rings, changed, .. } = push;
        let counted = counts(&push.counts);
        text.push_str(&format!("push {number}: release {version}, {state} in ring {ring} of {rings} since {changed:.0}: {counted}\n"));
        for server in servers.iter().flatten() {
            let PushedServer { name, ring, state, reason, .. } = server;
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!("  {}", shown(reason)));
            text.push_str(&format!("  ring {ring}  {}  {state}{reason}\n", shown(name)));
        }
    }
    text
}

pub fn drift_text(found: &[Drift]) -> String {
    let mut text = String::new();
    let short = |hash: &String| hash.chars().take(12).collect::<String>();
    for one in found.iter().filter(|one| one.state != DriftState::Same) {
        let (server, object) = (shown(&one.server), shown(&one.object));
        text.push_str(&format!(
            "{server}  {object}  wanted {}, there {}\n",
            short(&one.wanted),
            one.there.as_ref().map_or_else(|| "nothing".to_owned(), short)
        ));
    }
    let same = found.iter().filter(|one| one.state == DriftState::Same).count();
    text.push_str(&format!("{same} of {} objects are as they should be\n", found.len()));
    text
}

/// Servers, by what became of a push there.
fn counts(push: &PushCounts) -> String {
    let all = [
        (push.waiting, "waiting"),
        (push.asked, "asked"),
        (push.applied, "applied"),
        (push.failed, "failed"),
        (push.undo, "to undo"),
        (push.undone, "undone"),
        (push.undo_failed, "not undone"),
        (push.left, "left out"),
        (push.skipped, "skipped"),
    ];
    let parts: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

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
