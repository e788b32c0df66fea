//! Whether runs and comparisons meet what was required of them, and what else makes the answer no.

use iostall_measure::Percentile;
use iostall_model::part::{self, Part};
use iostall_model::qualify::QualifyScale;
use iostall_model::requirement::{LatencyMetric, Metric, Requirement};
use iostall_model::{Profile, QualifyOutcome, Run, Verdict, WarningCode};
use iostall_stats::work::{JudgedJob, WorkVerdict};
use thiserror::Error;

use crate::analysis::comparison::{ComparedSide, Comparison, MetricRow, MetricVerdict};
use crate::kinds;

pub fn verdicts(run: &Run, requirements: &[Requirement]) -> Vec<Verdict> {
    if requirements.is_empty() {
        return Vec::new();
    }
    let (gave_way, parts) = (run.body.gave_way(), kinds::parts(run));
    let one = |requirement: &Requirement| {
        if *requirement == Requirement::Steady {
            return vec![verdict_on_steady(run)];
        }
        let of_source = gave_way.and_then(|gave_way| gave_way.verdict(requirement));
        of_source.map_or_else(|| part::verdicts(&parts, std::slice::from_ref(requirement)), |one| vec![one])
    };
    requirements.iter().flat_map(one).collect()
}

fn verdict_on_steady(run: &Run) -> Verdict {
    let reason = match run.body.as_kind::<QualifyOutcome>() {
        Some(_) if !run.disturbed_by().is_empty() => {
            Some(format!("it cannot be judged: {}", run.disturbed_by()))
        }
        Some(outcome) if outcome.steady.is_some() => None,
        Some(outcome) if outcome.plan.scale == QualifyScale::Quick => {
            Some("a quick run never says so: leave out --quick".to_owned())
        }
        Some(_) => Some("no steady state was found".to_owned()),
        None => Some("only `iostall drive qualify` looks for a steady state".to_owned()),
    };
    let requirement = Requirement::Steady.to_string();
    Verdict { requirement, met: reason.is_none(), subject: None, figure: None, unit: None, reason }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{requirement:?} names {name:?}, which is no role of this load; there is {roles}")]
pub struct UnknownRole {
    requirement: String,
    name: String,
    roles: String,
}

pub fn check_roles(profile: &Profile, requirements: &[Requirement]) -> Result<(), UnknownRole> {
    let mut roles: Vec<&str> =
        profile.spans.iter().flat_map(|span| &span.roles).map(|role| role.name.as_str()).collect();
    roles.dedup();
    let is_known = |subject: &str| {
        roles.iter().any(|role| {
            let rest = subject.get(..role.len()).filter(|start| start.eq_ignore_ascii_case(role));
            rest.is_some() && matches!(subject[role.len()..].chars().next(), None | Some('.'))
        })
    };
    for requirement in requirements {
        let Requirement::Limit(limit) = requirement else { continue };
        let Some(subject) = limit.subject.as_deref().filter(|subject| !is_known(subject)) else { continue };
        let (requirement, name) = (requirement.to_string(), subject.to_owned());
        return Err(UnknownRole { requirement, name, roles: roles.join(", ") });
    }
    Ok(())
}

/// Why the answer of a run is no, whatever was required: failed requests, files that differ, a target that no setting meets.
pub fn failures(run: &Run) -> Vec<String> {
    let failed = run.warnings.iter().filter(|warning| warning.code == WarningCode::IoErrors);
    let said = failed.map(|warning| match &warning.subject {
        Some(subject) => format!("{subject}: {}", warning.message),
        None => warning.message.clone(),
    });
    said.chain(kinds::failures(run)).collect()
}

pub fn figures(run: &Run) -> Vec<(String, f64)> {
    const FIGURES: [(&str, Metric); 7] = [
        ("iops", Metric::Iops),
        ("throughput_bytes_per_s", Metric::Throughput),
        ("latency_ns_mean", Metric::Latency(LatencyMetric::Mean)),
        ("latency_ns_p50", Metric::Latency(LatencyMetric::Percentile(Percentile::P50))),
        ("latency_ns_p99", Metric::Latency(LatencyMetric::Percentile(Percentile::P99))),
        ("latency_ns_max", Metric::Latency(LatencyMetric::Max)),
        ("failed", Metric::Failed),
    ];
    let of_part = |part: &Part| {
        let prefix = part.label.as_ref().map(|label| format!("{label}.")).unwrap_or_default();
        let named =
            |(name, metric): &(&str, Metric)| Some((format!("{prefix}{name}"), part.figure(*metric)?));
        FIGURES.iter().filter_map(named).collect::<Vec<_>>()
    };
    kinds::parts(run).iter().flat_map(of_part).collect()
}

/// The verdict on `no-regression`, for each time it is required.
pub fn comparison_verdicts(comparison: &Comparison, requirements: &[Requirement]) -> Vec<Verdict> {
    verdicts_for(regression(comparison).as_ref(), requirements)
}

/// [`comparison_verdicts`] for the times of real work.
pub fn work_verdicts(jobs: &[JudgedJob<'_>], requirements: &[Requirement]) -> Vec<Verdict> {
    let slower = jobs.iter().find(|one| one.verdict == WorkVerdict::Slower);
    let is_decided = jobs.iter().any(|one| !matches!(one.verdict, WorkVerdict::Anecdote(..)));
    let reason = match slower {
        Some(one) => Some(format!("{} is slower", one.job.name)),
        None if is_decided => None,
        None => Some("every job has too few repeats for a verdict".to_owned()),
    };
    verdicts_for(reason.as_ref(), requirements)
}

fn verdicts_for(reason: Option<&String>, requirements: &[Requirement]) -> Vec<Verdict> {
    let one = |requirement: &Requirement| Verdict {
        requirement: requirement.to_string(),
        met: reason.is_none(),
        subject: None,
        figure: None,
        unit: None,
        reason: reason.cloned(),
    };
    requirements.iter().map(one).collect()
}

/// Why it cannot be said that nothing became worse; `None` if it can.
fn regression(comparison: &Comparison) -> Option<String> {
    comparison.others.iter().find_map(|other| {
        let worse: Vec<&MetricRow> = other.rows.iter().filter(|row| row.is_worse()).collect();
        if let Some(first) = worse.first() {
            let more = match worse.len() {
                1 => String::new(),
                many => format!(", and {} more", many - 1),
            };
            let change = first.change_pct().map_or_else(String::new, |pct| format!(" by {pct:+.1} %"));
            let (subject, metric) = (&first.subject, first.metric.name());
            return Some(format!("{}: {subject} {metric} is worse{change}{more}", other.label));
        }
        undecided(other)
    })
}

/// A comparison without a verdict is no pass.
fn undecided(other: &ComparedSide) -> Option<String> {
    let is_decided = other.rows.iter().any(|row| row.verdict != MetricVerdict::TooFewSamples);
    (!is_decided).then(|| format!("{}: there are too few samples for a verdict", other.label))
}

#[cfg(test)]
mod tests {
    use iostall_load::preset::preset;

    use super::*;

    /// A typing error in a name was found when the load had run for an hour.
    #[test]
    fn a_name_that_is_no_role_is_refused_before_the_load() {
        let profile = preset("oltp").unwrap();
        let check = |text: &str| check_roles(&profile, &[text.parse().unwrap()]);
        for good in ["p99<1ms", "log.p99<1ms", "LOG.write.p99<1ms", "data.iops>3"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["lgo.p99<1ms", "logs.p99<1ms", "lo.iops>1"] {
            let refused = check(bad).unwrap_err().to_string();
            assert!(refused.contains("there is data, log"), "{refused}");
        }
    }

    fn row(verdict: MetricVerdict, second: f64) -> MetricRow {
        let (subject, metric) = ("data read".to_owned(), crate::analysis::comparison::Metric::LatencyNsP99);
        MetricRow { subject, metric, first: 1e6, second, found: None, p_value: None, verdict }
    }

    fn comparison(rows: Vec<MetricRow>) -> Comparison {
        let (label, samples) = ("new".to_owned(), crate::analysis::comparison::Samples::Runs);
        let side = ComparedSide {
            label,
            rows,
            differences: Vec::new(),
            left_out: Vec::new(),
            samples,
            runs: (4, 4),
        };
        Comparison { first: "old".to_owned(), others: vec![side] }
    }

    /// A comparison in a pipeline ended with 0 whatever it found.
    #[test]
    fn no_regression_is_met_only_where_nothing_is_worse_and_there_is_a_verdict() {
        let required: Vec<Requirement> = vec!["no-regression".parse().unwrap()];
        let reason =
            |rows: Vec<MetricRow>| comparison_verdicts(&comparison(rows), &required).remove(0).reason;
        let (same, better) = (row(MetricVerdict::NoDifference, 1.1e6), row(MetricVerdict::Significant, 5e5));
        assert_eq!(reason(vec![same.clone(), better]), None);
        let worse = reason(vec![same, row(MetricVerdict::Significant, 2e6)]).unwrap();
        assert_eq!(worse, "new: data read p99 latency is worse by +100.0 %");
        assert!(reason(vec![row(MetricVerdict::RunsDiffer, 2e6)]).is_some());
        assert!(reason(vec![row(MetricVerdict::TooFewSamples, 1e6)]).unwrap().contains("too few samples"));
        assert!(reason(Vec::new()).is_some(), "nothing was compared");
    }
}
