//! One line about a run, for listings and progress.

use crate::report::Report;

/// The result of a run on one line, marked if it was interrupted or has warnings.
pub fn run_line(report: &Report<'_>) -> String {
    let interrupted = if report.run.interrupted { " [interrupted]" } else { "" };
    let warnings = match report.run.warnings.len() {
        0 => String::new(),
        1 => " [1 warning]".to_owned(),
        many => format!(" [{many} warnings]"),
    };
    format!("{}{interrupted}{warnings}", (report.line)())
}

#[cfg(test)]
mod tests {
    use iostall_model::Run;

    use super::*;
    use crate::fixture;

    fn line(run: &Run) -> String {
        run_line(&Report::of(run))
    }

    #[test]
    fn a_line_names_each_role_and_every_mark() {
        assert_eq!(
            line(&fixture::run()),
            "data: 3,000 IOPS · 23.4 MiB/s · p99 2.07 ms; log: write 2,000 IOPS · 7.81 MiB/s · p99 299 µs [2 warnings]"
        );
        assert!(line(&fixture::interrupted()).ends_with("[interrupted] [3 warnings]"));
        assert_eq!(line(&fixture::empty()), "data: no I/O; log: no I/O [interrupted] [1 warning]");
        assert!(line(&fixture::two_spans()).starts_with("span 2 of 2: data: 1,500 IOPS"));
    }

    /// A copy of two gigabytes was shown as "nothing measured" on its line.
    #[test]
    fn what_was_moved_is_on_the_line_of_what_moved_it() {
        assert!(line(&fixture::copy()).starts_with("1.86 GiB in 3 files copied in 4.00 s, 477 MiB/s"));
        assert!(line(&fixture::sweep()).starts_with("8 settings, "));
    }
}
