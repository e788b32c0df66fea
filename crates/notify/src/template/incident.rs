//! Receivers that keep an incident: each message names it, and the last one closes it.

use iostall_model::alert::Occasion;
use serde_json::{Value, json};

use super::request::Request;
use crate::message::Message;

/// Opsgenie cuts longer ones itself, in the middle of a word.
const OPSGENIE_MESSAGE_MAX: usize = 130;
/// PagerDuty refuses longer ones.
const PAGERDUTY_SUMMARY_MAX: usize = 1024;

/// Whether the incident is over: nothing of its group is firing any more.
fn is_over(message: &Message) -> bool {
    message.occasion() == Occasion::Resolved && message.firing_count() == 0
}

pub(super) fn for_pagerduty(message: &Message, routing_key: &str) -> Value {
    let severity = if message.occasion() == Occasion::Test { "info" } else { "error" };
    json!({
        "routing_key": routing_key,
        "event_action": if is_over(message) { "resolve" } else { "trigger" },
        "dedup_key": message.key(),
        "payload": {
            "summary": cut(&message.summary(), PAGERDUTY_SUMMARY_MAX),
            "source": message.source(),
            "severity": severity,
            "component": "storage",
            "custom_details": message.payload(),
        },
    })
}

pub(super) fn for_opsgenie(message: &Message) -> Request {
    let scheme = Some("GenieKey");
    if is_over(message) {
        let body = json!({ "source": "iostall", "note": message.summary() }).to_string();
        return Request { path: format!("/{}/close?identifierType=alias", message.key()), scheme, body };
    }
    let description = [vec![message.summary()], message.details()].concat().join("\n");
    let body = json!({
        "message": cut(&message.summary(), OPSGENIE_MESSAGE_MAX),
        "alias": message.key(),
        "description": description,
        "source": "iostall",
        "entity": message.source(),
    });
    Request { path: String::new(), scheme, body: body.to_string() }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
