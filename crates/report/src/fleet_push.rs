//! Pushes: how far they are, and what differs on servers.

use iostall_measure::foreign::shown;
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
