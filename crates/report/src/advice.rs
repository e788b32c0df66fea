//! What the advisor says, as text.

use std::fmt::Write as _;

use iostall_measure::foreign::shown;
use iostall_watch::{Evidence, Outcome, RuleAdvice, SourceAdvice};

use crate::settings::titled;
use crate::zone::timestamp;

/// Values of one rule that are listed; the rest is counted.
const EVIDENCE_SHOWN: usize = 10;

/// What was found of each source, what is not known, and how many rules had nothing to say.
pub fn advice_text(all: &[SourceAdvice]) -> String {
    let mut text = String::new();
    for (place, of) in all.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        let (source, read) = (titled(of.server.as_ref(), &of.source), timestamp(of.read));
        line(&mut text, &format!("{source}, as read at {read}"));
        let (mut fine, mut is_silent) = (0, true);
        for advice in &of.rules {
            match &advice.outcome {
                Outcome::Found { evidence } => found(&mut text, advice, evidence),
                Outcome::Unknown { reason } => {
                    line(&mut text, &format!("  not known   {}: {}", advice.rule.id, shown(reason)));
                }
                Outcome::Fine => fine += 1,
                Outcome::NotAbout => {}
            }
            is_silent &= !matches!(advice.outcome, Outcome::Found { .. });
        }
        if is_silent {
            line(&mut text, "  nothing was found");
        }
        let rules = if fine == 1 { "rule" } else { "rules" };
        line(&mut text, &format!("  fine        {fine} {rules}"));
    }
    text
}

fn found(text: &mut String, advice: &RuleAdvice, evidence: &[Evidence]) {
    let rule = advice.rule;
    line(text, &format!("  {:10}  {}: {}", rule.weight.name(), rule.id, rule.title));
    for one in evidence.iter().take(EVIDENCE_SHOWN) {
        let subject =
            if one.subject.is_empty() { String::new() } else { format!("{} ", shown(&one.subject)) };
        let beside = one.beside.as_ref().map_or_else(String::new, |beside| format!(" ({})", shown(beside)));
        let (name, value, since) = (shown(&one.name), shown(&one.value), timestamp(one.since));
        line(text, &format!("      found:  {subject}{name} = {value}{beside}, since {since} or before"));
    }
    if evidence.len() > EVIDENCE_SHOWN {
        line(text, &format!("              and {} more: --json has all", evidence.len() - EVIDENCE_SHOWN));
    }
    line(text, &format!("      why:    {}", rule.why));
    line(text, &format!("      do:     {}", rule.action));
    line(text, &format!("      source: {}", rule.reference));
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use iostall_watch::advice_rules;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_was_found_stands_with_its_evidence_and_what_is_not_known_is_said() {
        let since = Timestamp::from_second(0).unwrap();
        let rule = |id| advice_rules().find(|(_, rule)| rule.id == id).unwrap().1;
        let one = Evidence {
            subject: "database \u{1b}x".into(),
            name: "fsync".into(),
            value: "off".into(),
            since,
            beside: Some("it can do more".into()),
        };
        let rules = vec![
            RuleAdvice { rule: rule("fsync-off"), outcome: Outcome::Found { evidence: vec![one; 12] } },
            RuleAdvice { rule: rule("io-timing-off"), outcome: Outcome::Unknown { reason: "denied".into() } },
            RuleAdvice { rule: rule("checksums-off"), outcome: Outcome::Fine },
        ];
        let of = |rules| SourceAdvice { server: None, source: "db".into(), read: since, rules };
        let text = advice_text(&[of(rules), of(Vec::new())]);
        for part in [
            "safety      fsync-off: fsync is off",
            "= off (it can do more)",
            "and 2 more",
            "PostgreSQL documentation",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            text.contains("not known   io-timing-off: denied") && text.contains("fine        1 rule\n"),
            "{text}"
        );
        assert!(text.contains("nothing was found") && !text.contains('\u{1b}'), "{text}");
    }
}
