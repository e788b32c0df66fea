//! Before and after times of real jobs, by name.

use crate::compare::{Difference, SAMPLES_MIN, Samples, compare};
use crate::summary::mean;

/// One job, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub name: String,
    /// Seconds of each repeat before.
    pub before_s: Vec<f64>,
    /// Seconds of each repeat after.
    pub after_s: Vec<f64>,
}

/// Whether a job improved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkVerdict {
    /// Faster, and significantly so.
    Faster,
    /// Slower, and significantly so.
    Slower,
    /// No significant difference.
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

    /// The statistics behind the verdict; `None` with too few repeats.
    pub fn difference(&self, seed: u64) -> Option<Difference> {
        compare(&self.before_s, &self.after_s, Samples::Runs, seed)
    }

    /// No verdict below [`SAMPLES_MIN`] repeats per side.
    pub fn verdict(&self, seed: u64) -> WorkVerdict {
        let counts = (self.before_s.len(), self.after_s.len());
        match self.difference(seed) {
            _ if counts.0 < SAMPLES_MIN || counts.1 < SAMPLES_MIN => {
                WorkVerdict::Anecdote(counts.0, counts.1)
            }
            Some(found) if found.is_significant() && found.difference() < 0.0 => WorkVerdict::Faster,
            Some(found) if found.is_significant() => WorkVerdict::Slower,
            Some(_) | None => WorkVerdict::NoDifference,
        }
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
            assert_eq!(job.verdict(1), WorkVerdict::Anecdote(1, 1));
        }
    }

    #[test]
    fn enough_repeats_give_a_verdict_and_scatter_gives_none() {
        let before = [1218.0, 1225.0, 1209.0, 1230.0];
        assert_eq!(job(&before, &[526.0, 530.0, 519.0, 541.0]).verdict(1), WorkVerdict::Faster);
        assert_eq!(job(&[526.0, 530.0, 519.0, 541.0], &before).verdict(1), WorkVerdict::Slower);
        assert_eq!(job(&before, &[1215.0, 1228.0, 1210.0, 1233.0]).verdict(1), WorkVerdict::NoDifference);
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
