//! What a webhook's body looks like: our own document, that of a common receiver, or what a user's template makes of it.

mod own;

use iostall_model::alert::Occasion;
use serde_json::{Value, json};

use crate::message::Message;

pub use own::OwnTemplate;
pub(crate) use own::Request;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Template {
    #[default]
    Document,
    Slack,
    /// An incoming webhook of Mattermost, Rocket.Chat and others that read the same.
    Mattermost,
    Teams,
    /// Events API v2 of PagerDuty; the token is its routing key.
    PagerDuty,
    /// The alert API of Opsgenie; the token is its API key.
    Opsgenie,
    Own(OwnTemplate),
}

impl Template {
    pub(crate) const NAMES: &'static str = "document, slack, mattermost, teams, pagerduty, opsgenie";

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "document" => Self::Document,
            "slack" => Self::Slack,
            "mattermost" => Self::Mattermost,
            "teams" => Self::Teams,
            "pagerduty" => Self::PagerDuty,
            "opsgenie" => Self::Opsgenie,
            _ => return None,
        })
    }

    pub(crate) fn usual_address(&self) -> Option<&'static str> {
        match self {
            Self::PagerDuty => Some("https://events.pagerduty.com/v2/enqueue"),
            Self::Opsgenie => Some("https://api.opsgenie.com/v2/alerts"),
            Self::Document | Self::Slack | Self::Mattermost | Self::Teams | Self::Own(_) => None,
        }
    }

    pub(crate) fn needs_token(&self) -> bool {
        matches!(self, Self::PagerDuty | Self::Opsgenie)
    }

    /// What is sent. The error says what is wrong with a template.
    pub(crate) fn request(&self, message: &Message, token: Option<&str>) -> Result<Request, String> {
        let bearer = |body: String| Request { path: String::new(), scheme: Some("Bearer"), body };
        Ok(match self {
            Self::Document => bearer(message.payload().to_string()),
            Self::Slack => bearer(json!({ "text": for_slack(message) }).to_string()),
            Self::Mattermost => bearer(json!({ "text": for_markdown(message) }).to_string()),
            Self::Teams => bearer(for_teams(message).to_string()),
            Self::PagerDuty => {
                let body = for_pagerduty(message, token.unwrap_or_default()).to_string();
                Request { path: String::new(), scheme: None, body }
            }
            Self::Opsgenie => for_opsgenie(message),
            Self::Own(own) => bearer(own.render(message)?),
        })
    }
}

fn headline(message: &Message) -> &'static str {
    if matches!(message, Message::LeftOut { .. }) {
        return "LEFT OUT";
    }
    match message.occasion() {
        Occasion::Firing => "FIRING",
        Occasion::StillFiring => "STILL FIRING",
        Occasion::Resolved => "RESOLVED",
        Occasion::Test => "TEST",
    }
}

/// Three characters drive Slack's markup; names of files may hold them.
fn for_slack(message: &Message) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = format!("*{}* {}", headline(message), escape(&message.summary()));
    for line in message.details() {
        text.push_str(&format!("\n• {}", escape(&line)));
    }
    text
}

fn for_markdown(message: &Message) -> String {
    let escape = |text: &str| {
        text.chars().fold(String::new(), |mut out, letter| {
            if "\\`*_{}[]<>#|~@".contains(letter) {
                out.push('\\');
            }
            out.push(letter);
            out
        })
    };
    let mut text = format!("**{}** {}", headline(message), escape(&message.summary()));
    for line in message.details() {
        text.push_str(&format!("\n- {}", escape(&line)));
    }
    text
}

fn for_teams(message: &Message) -> Value {
    let color = match message.occasion() {
        Occasion::Firing | Occasion::StillFiring => "attention",
        Occasion::Resolved => "good",
        Occasion::Test => "default",
    };
    let line = |text: String| json!({ "type": "TextBlock", "text": text, "wrap": true });
    let mut body = vec![
        json!({ "type": "TextBlock", "text": headline(message), "weight": "bolder", "color": color }),
        line(message.summary()),
    ];
    body.extend(message.details().into_iter().map(line));
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": body,
            },
        }],
    })
}

/// Opsgenie cuts longer ones itself, in the middle of a word.
const OPSGENIE_MESSAGE_MAX: usize = 130;
const PAGERDUTY_SUMMARY_MAX: usize = 1024;

/// Whether the incident is over: nothing of its group is firing any more.
fn is_over(message: &Message) -> bool {
    message.occasion() == Occasion::Resolved && message.firing_count() == 0
}

fn for_pagerduty(message: &Message, routing_key: &str) -> Value {
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

fn for_opsgenie(message: &Message) -> Request {
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

#[cfg(test)]
mod tests;
