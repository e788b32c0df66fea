//! What receivers get.

use std::path::Path;

use super::*;
use crate::payload::tests::message;

fn body(template: &Template, message: &Message) -> Value {
    serde_json::from_str(&template.request(message, Some("key")).unwrap().body).unwrap()
}

/// A message whose names hold what receivers take for markup.
fn nasty(occasion: Occasion) -> Message {
    let Message::Alert(mut notice) = message(occasion) else { unreachable!() };
    notice.source = "<!channel> & \"x\" *y*".into();
    notice.count = 7;
    notice.others = vec![notice.about.clone().unwrap()];
    notice.into()
}

#[test]
fn chats_get_a_line_whose_markup_is_ours_and_the_next_worst_under_it() {
    let text = body(&Template::Slack, &nasty(Occasion::Firing))["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("*FIRING* slow reads: 7 files on"), "{text}");
    assert!(text.contains("&lt;!channel&gt; &amp;") && !text.contains("<!"), "{text}");
    assert!(text.ends_with("\n• and 5 more"), "{text}");
    let text = body(&Template::Mattermost, &nasty(Occasion::Resolved))["text"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with("**RESOLVED** ") && text.contains("\\*y\\*") && text.contains("\\<!channel\\>"),
        "{text}"
    );
    let card = body(&Template::Teams, &nasty(Occasion::Firing));
    let content = &card["attachments"][0]["content"];
    assert_eq!(
        (&content["type"], &content["body"][0]["color"]),
        (&json!("AdaptiveCard"), &json!("attention"))
    );
    assert!(content["body"][1]["text"].as_str().unwrap().starts_with("slow reads"));
}

/// Half of a group that is resolved must not close the incident of all of it.
#[test]
fn an_incident_is_closed_when_nothing_of_its_group_fires_any_more() {
    let key = message(Occasion::Firing).key();
    let resolved = |left: u64| {
        let Message::Alert(mut notice) = message(Occasion::Resolved) else { unreachable!() };
        notice.firing_count = left;
        Message::Alert(notice)
    };
    let action = |message: &Message| body(&Template::PagerDuty, message)["event_action"].clone();
    assert_eq!(
        [action(&message(Occasion::Firing)), action(&resolved(3)), action(&resolved(0))],
        ["trigger", "trigger", "resolve"]
    );
    let event = body(&Template::PagerDuty, &message(Occasion::Firing));
    assert_eq!((&event["dedup_key"], &event["routing_key"]), (&json!(key), &json!("key")));
    assert_eq!(event["payload"]["severity"], "error");
    let opened = Template::Opsgenie.request(&message(Occasion::Firing), Some("key")).unwrap();
    assert_eq!((opened.path.as_str(), opened.scheme), ("", Some("GenieKey")));
    let alert: Value = serde_json::from_str(&opened.body).unwrap();
    assert!(alert["message"].as_str().unwrap().chars().count() <= 130);
    assert_eq!(alert["alias"], key);
    let closed = Template::Opsgenie.request(&resolved(0), Some("key")).unwrap();
    assert_eq!(closed.path, format!("/{key}/close?identifierType=alias"));
    assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{key}");
}

#[test]
fn two_groups_have_two_keys_and_one_has_the_same_for_ever() {
    let Message::Alert(mut notice) = message(Occasion::Firing) else { unreachable!() };
    let first = Message::from(notice.clone()).key();
    assert_eq!(first, message(Occasion::Resolved).key());
    notice.group.push('x');
    assert_ne!(Message::from(notice).key(), first);
}

#[test]
fn a_template_of_ones_own_takes_values_that_break_no_document() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.json");
    let text = "{ \"title\": {{ occasion ~ \": \" ~ summary }}, \"value\": {{ value }}, \"who\": {{ source }},\n\
                \"more\": [{% for one in others %}{{ one.name }}{% if not loop.last %},{% endif %}{% endfor %}] }";
    std::fs::write(&path, text).unwrap();
    let own = Template::Own(OwnTemplate::read(&path).unwrap());
    let document = body(&own, &nasty(Occasion::Firing));
    assert!(document["title"].as_str().unwrap().starts_with("firing: slow reads"), "{document}");
    assert_eq!(document["who"], "<!channel> & \"x\" *y*");
    assert_eq!((&document["value"], &document["more"][0]), (&json!(31.25), &json!("E:\\a.mdf")));
    std::fs::write(&path, "{\n{{ summary }\n").unwrap();
    let wrong = OwnTemplate::read(&path).unwrap_err();
    assert!(wrong.contains("own.json, line 2"), "{wrong}");
    assert!(OwnTemplate::read(Path::new("/no/such/template")).is_err());
}

#[test]
fn a_template_that_never_ends_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.json");
    std::fs::write(&path, "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}")
        .unwrap();
    let own = OwnTemplate::read(&path).unwrap();
    assert!(own.render(&message(Occasion::Firing)).is_err());
}

#[test]
fn every_name_that_is_offered_is_a_template() {
    for name in Template::NAMES.split(", ") {
        assert!(Template::named(name).is_some(), "{name}");
    }
    assert_eq!(Template::named("fax"), None);
}
