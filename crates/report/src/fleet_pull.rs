//! Lines about sources that are pulled into a repository.

use iostall_measure::foreign::shown;
use iostall_watch::pull::{PullProgress, PulledOutcome, PulledState};

const NAMES_MAX: usize = 3;

pub fn outcome_line(one: &PulledOutcome) -> String {
    let what = match one.state {
        PulledState::Sent => "sent".to_owned(),
        PulledState::Waiting => "not sent".to_owned(),
        PulledState::Elsewhere => "sampled by another puller".to_owned(),
        PulledState::Failing => shown(one.error.as_deref().unwrap_or("it does not answer")),
    };
    format!("{}: {what}\n", shown(&one.source))
}

/// Where a puller is: the share of sources that do not fail, and a line.
pub fn progress(now: &PullProgress) -> (f64, String) {
    let PullProgress { sources, failing, elsewhere, samples, is_cut } = *now;
    let elsewhere = if elsewhere == 0 { String::new() } else { format!(", {elsewhere} sampled elsewhere") };
    let cut = if is_cut { "; the repository cannot be used" } else { "" };
    let share = 1.0 - failing as f64 / sources.max(1) as f64;
    (share, format!("sources: {sources}, {failing} failing{elsewhere}; samples sent: {samples}{cut}"))
}

pub fn listed(sources: &[String]) -> String {
    let names: Vec<String> = sources.iter().take(NAMES_MAX).map(|name| shown(name)).collect();
    let more = sources.len().saturating_sub(NAMES_MAX);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_errors_of_others_are_made_safe_and_many_names_are_cut() {
        let one = PulledOutcome {
            source: "a\u{1b}[2J".into(),
            server: "db1".into(),
            state: PulledState::Failing,
            samples: 0,
            error: Some("refused\nnow".into()),
        };
        let line = outcome_line(&one);
        assert!(!line.contains('\u{1b}') && line.matches('\n').count() == 1, "{line:?}");
        let names: Vec<String> = (1..=5).map(|number| format!("s{number}")).collect();
        assert_eq!(listed(&names), "s1, s2, s3 and 2 more");
        assert_eq!(listed(&names[..1]), "s1");
        let now = PullProgress { sources: 4, failing: 1, elsewhere: 1, samples: 9, is_cut: true };
        let (share, text) = progress(&now);
        assert!(share > 0.74 && share < 0.76 && text.ends_with("the repository cannot be used"), "{text}");
    }
}
