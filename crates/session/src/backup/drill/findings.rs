//! What a drill finds out.

use iostall_model::drill::{CheckState, DrillCheck};

const NAMED_MAX: usize = 5;

#[derive(Default)]
pub(super) struct Findings {
    pub(super) checks: Vec<DrillCheck>,
    pub(super) engines: Vec<String>,
    /// From the start of the engines until they answered.
    pub(super) start_ns: u64,
    pub(super) checks_ns: u64,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        state: CheckState,
        detail: String,
        elapsed_ns: u64,
    ) {
        self.checks.push(DrillCheck { name: name.into(), state, detail, elapsed_ns });
    }

    /// The check passed if there are no `problems`; `looked_at` says what was looked at.
    pub(super) fn decide(
        &mut self,
        name: impl Into<String>,
        problems: &[String],
        looked_at: String,
        elapsed_ns: u64,
    ) {
        if problems.is_empty() {
            return self.add(name, CheckState::Passed, looked_at, elapsed_ns);
        }
        let mut named = problems.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; ");
        if problems.len() > NAMED_MAX {
            named.push_str(&format!("; and {} more", problems.len() - NAMED_MAX));
        }
        self.add(name, CheckState::Failed, named, elapsed_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problems_are_named_and_the_rest_are_counted() {
        let mut findings = Findings::default();
        findings.decide("pages", &[], "3 pages".into(), 1);
        let problems: Vec<String> = (0..7).map(|number| format!("page {number}")).collect();
        findings.decide("pages", &problems, "3 pages".into(), 1);
        let [passed, failed] = &findings.checks[..] else { panic!("two checks") };
        assert_eq!((passed.state, passed.detail.as_str()), (CheckState::Passed, "3 pages"));
        assert_eq!(failed.state, CheckState::Failed);
        assert_eq!(failed.detail, "page 0; page 1; page 2; page 3; page 4; and 2 more");
    }
}
