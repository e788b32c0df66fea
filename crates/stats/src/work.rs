//! Before and after times of real jobs, by name.

use crate::compare::{ALPHA, Difference, RUNS_MIN, compare_runs, correct_for_many};
use crate::summary::mean;

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub name: String,
    pub before_s: Vec<f64>,
    pub after_s: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkVerdict {
    Faster,
    Slower,
    NoDifference,
    /// Too few repeats for a verdict: this many before and after.
    Anecdote(usize, usize),
}

impl Job {
    /// Mean seconds before; `None` without any.
    pub fn before(&self) -> Option<f64> {
        mean(&self.before_s)
    }

    /// Mean seconds after; `None` without any.
    pub fn after(&self) -> Option<f64> {
        mean(&self.after_s)
    }

    /// Seconds saved; negative if it became slower.
    pub fn improvement_s(&self) -> Option<f64> {
        Some(self.before()? - self.after()?)
    }

    /// Percentage of the time before that was saved; `None` without a time before.
    pub fn improvement_pct(&self) -> Option<f64> {
        let before = self.before().filter(|before| *before > 0.0)?;
        Some(self.improvement_s()? / before * 100.0)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct JudgedJob<'a> {
    pub job: &'a Job,
    /// The statistics behind the verdict; `None` with too few repeats.
    pub found: Option<Difference>,
    /// The p-value, corrected for the number of jobs that are judged.
    pub p_value: Option<f64>,
    pub verdict: WorkVerdict,
}

/// Judges every job that has at least [`RUNS_MIN`] repeats a side, all of them together: among many jobs one would look
/// different by chance.
pub fn evaluate(jobs: &[Job]) -> Vec<JudgedJob<'_>> {
    let found: Vec<Option<Difference>> =
        jobs.iter().map(|job| compare_runs(&job.before_s, &job.after_s)).collect();
    let p_values: Vec<Option<f64>> = found.iter().map(|found| found.map(|found| found.p_value)).collect();
    let corrected = correct_for_many(&p_values);
    let judged = jobs.iter().zip(found).zip(corrected);
    judged
        .map(|((job, found), p_value)| JudgedJob {
            job,
            found,
            p_value,
            verdict: verdict(job, found, p_value),
        })
        .collect()
}

fn verdict(job: &Job, found: Option<Difference>, p_value: Option<f64>) -> WorkVerdict {
    let (before, after) = (job.before_s.len(), job.after_s.len());
    if before.min(after) < RUNS_MIN {
        return WorkVerdict::Anecdote(before, after);
    }
    match found {
        Some(found) if p_value.is_some_and(|p_value| p_value < ALPHA) => {
            if found.difference() < 0.0 {
                WorkVerdict::Faster
            } else {
                WorkVerdict::Slower
            }
        }
        Some(_) | None => WorkVerdict::NoDifference,
    }
}

/// Jobs of both tables by name, in order of first appearance; a job in only one table has no times in the
/// other.
pub fn pair(before: &[(String, f64)], after: &[(String, f64)]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for (rows, is_before) in [(before, true), (after, false)] {
        for (name, seconds) in rows {
            let place = jobs.iter().position(|job| job.name == *name).unwrap_or_else(|| {
                jobs.push(Job { name: name.clone(), before_s: Vec::new(), after_s: Vec::new() });
                jobs.len() - 1
            });
            let job = &mut jobs[place];
            if is_before { job.before_s.push(*seconds) } else { job.after_s.push(*seconds) }
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(before: &[f64], after: &[f64]) -> Job {
        Job { name: "job".into(), before_s: before.to_vec(), after_s: after.to_vec() }
    }

    #[test]
    fn the_published_table_of_three_jobs_comes_out_and_is_called_an_anecdote() {
        for (before, after, saved, percent) in
            [(1218.0, 526.0, 692.0, 56.0), (1207.0, 1035.0, 172.0, 14.0), (1344.0, 1062.0, 282.0, 21.0)]
        {
            let job = job(&[before], &[after]);
            assert!((job.improvement_s().unwrap() - saved).abs() < 1e-9);
            // The publication truncated some of its percentages and rounded others.
            assert!((job.improvement_pct().unwrap() - percent).abs() < 1.0);
            assert_eq!(evaluate(&[job])[0].verdict, WorkVerdict::Anecdote(1, 1));
        }
    }

    #[test]
    fn enough_repeats_give_a_verdict_and_scatter_gives_none() {
        let before = [1218.0, 1225.0, 1209.0, 1230.0];
        let jobs = [
            job(&before, &[526.0, 530.0, 519.0, 541.0]),
            job(&[526.0, 530.0, 519.0, 541.0], &before),
            job(&before, &[1215.0, 1228.0, 1210.0, 1233.0]),
        ];
        let verdicts: Vec<WorkVerdict> = evaluate(&jobs).iter().map(|judged| judged.verdict).collect();
        assert_eq!(verdicts, [WorkVerdict::Faster, WorkVerdict::Slower, WorkVerdict::NoDifference]);
    }

    #[test]
    fn one_job_of_many_that_looks_faster_is_no_proof() {
        // Alone, p is 0.02: but there are ten jobs, and one in fifty such differences is chance.
        let lucky = job(&[100.0, 101.0, 99.0, 100.0], &[98.0, 97.5, 98.9, 98.4]);
        assert_eq!(evaluate(std::slice::from_ref(&lucky))[0].verdict, WorkVerdict::Faster);
        let same = job(&[100.0, 101.0, 99.0, 100.0], &[99.0, 100.0, 101.0, 100.0]);
        let jobs: Vec<Job> = std::iter::once(lucky).chain(vec![same; 9]).collect();
        assert_eq!(evaluate(&jobs)[0].verdict, WorkVerdict::NoDifference, "{:?}", evaluate(&jobs)[0]);
    }

    #[test]
    fn jobs_are_paired_by_name_and_one_without_a_partner_stays() {
        let row = |name: &str, seconds: f64| (name.to_owned(), seconds);
        let jobs = pair(
            &[row("load", 10.0), row("index", 5.0), row("load", 12.0)],
            &[row("load", 6.0), row("new", 1.0)],
        );
        assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["load", "index", "new"]);
        assert_eq!(jobs[0].before_s, [10.0, 12.0]);
        assert_eq!(jobs[0].improvement_s(), Some(5.0));
        assert_eq!((jobs[1].after(), jobs[1].improvement_pct()), (None, None));
        assert_eq!(job(&[0.0], &[1.0]).improvement_pct(), None);
    }
}
