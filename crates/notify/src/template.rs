//! What a webhook's body looks like: our own document, that of a common receiver, or what a user's template makes of it.

mod incident;
mod own;
mod request;

use iostall_model::alert::Occasion;
use serde_json::{Value, json};

use crate::message::Message;

pub use own::OwnTemplate;
pub(crate) use request::Request;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Template {
    /// The document of `docs/formats.md`.
    #[default]
    Document,
    /// An incoming webhook of Slack.
    Slack,
    /// An incoming webhook of Mattermost, Rocket.Chat and others that read the same.
    Mattermost,
    /// A workflow of Microsoft Teams.
    Teams,
    /// Events API v2 of PagerDuty; the token is its routing key.
    PagerDuty,
    /// The alert API of Opsgenie; the token is its API key.
    Opsgenie,
    Own(OwnTemplate),
}

impl Template {
    /// The names that a file may write.
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

    /// Where it goes when the file names no address.
    pub(crate) fn usual_address(&self) -> Option<&'static str> {
        match self {
            Self::PagerDuty => Some("https://events.pagerduty.com/v2/enqueue"),
            Self::Opsgenie => Some("https://api.opsgenie.com/v2/alerts"),
            Self::Document | Self::Slack | Self::Mattermost | Self::Teams | Self::Own(_) => None,
        }
    }

    /// Whether nothing arrives without a token.
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
                let body = incident::for_pagerduty(message, token.unwrap_or_default()).to_string();
                Request { path: String::new(), scheme: None, body }
            }
            Self::Opsgenie => incident::for_opsgenie(message),
            Self::Own(own) => bearer(own.render(message)?),
        })
    }
}

/// What a message begins with for people.
fn headline(message: &Message) -> &'static str {
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

/// An adaptive card: what workflows of Teams post.
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

#[cfg(test)]
mod tests;
