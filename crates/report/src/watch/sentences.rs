//! Sentences about a source.

use iostall_model::Warning;
use iostall_watch::windows::{GapRun, SourceHistory, Unread};

use crate::format::shown;
use crate::notes::{note_sentence, notes_with_room};
use crate::zone::timestamp;

/// As many notes as can be read before the numbers.
const NOTES_SHOWN: usize = 20;

/// Resolution of the numbers, gaps, and what the source could not read, one sentence each.
pub fn sentences(history: &SourceHistory) -> Vec<String> {
    let days = history
        .days_until
        .map(|until| format!("day by day up to {}: maxima are those of whole days", timestamp(until)));
    let hours = history
        .hours_until
        .map(|until| format!("hour by hour up to {}: maxima are those of whole hours", timestamp(until)));
    let (with_room, left_out) = notes_with_room(&history.notes, NOTES_SHOWN);
    let left_out =
        (left_out > 0).then(|| format!("{left_out} more notes: the page of --html has more of them"));
    let notes = with_room.into_iter().map(note_sentence).chain(left_out);
    let gaps = history.gap_runs().into_iter().map(|run| of_gaps(&run));
    let unread = history.unread.iter().map(|unread| of_unread(unread, history.why_unread(unread)));
    // The reason why a database was not read is shown together with the times.
    let is_said = |warning: &&Warning| {
        history.unread.iter().any(|unread| history.why_unread(unread).is_some_and(|why| why == *warning))
    };
    let warnings =
        history.warnings.iter().filter(|warning| !is_said(warning)).map(|warning| shown(&warning.message));
    days.into_iter().chain(hours).chain(notes).chain(gaps).chain(unread).chain(warnings).collect()
}

fn of_unread(unread: &Unread, why: Option<&Warning>) -> String {
    let what = why.map_or_else(
        || format!("database {} was not read", shown(&unread.database)),
        |warning| shown(&warning.message),
    );
    let (first, last) = (timestamp(unread.first), timestamp(unread.last));
    if unread.missed == 1 {
        return format!("1 sample, at {first}, without it: {what}");
    }
    format!("{} samples, from {first} to {last}, without it: {what}", unread.missed)
}

fn of_gaps(run: &GapRun) -> String {
    let (reason, at, missed) = (shown(&run.gap.reason), timestamp(run.gap.at), run.gap.missed);
    let samples = if missed == 1 { "sample" } else { "samples" };
    if run.until == run.gap.at {
        return format!("{missed} missed {samples} at {at}: {reason}");
    }
    format!("{missed} missed {samples} from {at} to {}: {reason}", timestamp(run.until))
}

pub fn reasons(sources: &[SourceHistory]) -> String {
    let line = |source: &SourceHistory, said: &str| format!("\n  {}: {said}", shown(&source.name));
    sources
        .iter()
        .flat_map(|source| sentences(source).into_iter().map(move |said| line(source, &said)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::Gap;
    use jiff::Timestamp;

    #[test]
    fn an_hour_without_an_answer_is_one_sentence() {
        let gap = |second: i64, reason: &str| {
            let at = Timestamp::from_second(second).unwrap();
            Gap { at, missed: 1, reason: reason.into() }
        };
        let gaps = vec![gap(0, "refused"), gap(10, "refused"), gap(20, "refused"), gap(30, "timed out")];
        let history = SourceHistory { name: "db".into(), gaps, ..SourceHistory::default() };
        assert_eq!(
            sentences(&history),
            [
                "3 missed samples from 1970-01-01 00:00:00 UTC to 1970-01-01 00:00:20 UTC: refused",
                "1 missed sample at 1970-01-01 00:00:30 UTC: timed out",
            ]
        );
    }
}
