//! Warnings in words: their names, their order and how many there are of each rank.

use iostall_model::Warning;
use iostall_model::warning::Rank;

use crate::format::shown;
use crate::table::Severity;

pub fn in_a_line(warning: &Warning) -> String {
    format!("{}: {}", title(warning), shown(&warning.message))
}

/// Its code, and what it is about: `target-small (data)`.
pub fn title(warning: &Warning) -> String {
    let code = warning.code.name();
    match &warning.subject {
        Some(subject) => format!("{code} ({})", shown(subject)),
        None => code,
    }
}

/// The most severe first; those of one rank in their order.
pub(crate) fn by_rank<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Vec<&'a Warning> {
    let mut sorted: Vec<&Warning> = warnings.into_iter().collect();
    sorted.sort_by_key(|warning| warning.code.rank());
    sorted
}

/// What a reader must know before using the numbers; `None` if there is nothing but notes.
pub(crate) fn in_brief(warnings: &[Warning]) -> Option<String> {
    let counted = counts(warnings, &[Rank::Invalidates, Rank::Caution]);
    (!counted.is_empty()).then(|| counted.join(" · "))
}

pub(crate) fn heading<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> String {
    counts(warnings, &[Rank::Invalidates, Rank::Caution, Rank::Note]).join(", ")
}

fn counts<'a>(warnings: impl IntoIterator<Item = &'a Warning>, ranks: &[Rank]) -> Vec<String> {
    let of: Vec<Rank> = warnings.into_iter().map(|warning| warning.code.rank()).collect();
    let count = |rank: &Rank| of.iter().filter(|one| *one == rank).count();
    let words = |rank: &Rank| match (rank, count(rank)) {
        (_, 0) => None,
        (Rank::Invalidates, 1) => Some("1 warning invalidates the numbers".to_owned()),
        (Rank::Invalidates, many) => Some(format!("{many} warnings invalidate the numbers")),
        (Rank::Caution, 1) => Some("1 caution".to_owned()),
        (Rank::Caution, many) => Some(format!("{many} cautions")),
        (Rank::Note, 1) => Some("1 note".to_owned()),
        (Rank::Note, many) => Some(format!("{many} notes")),
    };
    ranks.iter().filter_map(words).collect()
}

pub(crate) fn mark(warning: &Warning) -> (&'static str, Severity) {
    match warning.code.rank() {
        Rank::Invalidates => ("!!", Severity::Bad),
        Rank::Caution => ("!", Severity::Caution),
        Rank::Note => ("·", Severity::Plain),
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::WarningCode;

    use super::*;

    /// Eight warnings looked alike; the one that made all numbers worthless was the sixth.
    #[test]
    fn what_invalidates_the_numbers_comes_first_and_is_counted_apart() {
        let codes = [WarningCode::FewSamples, WarningCode::TargetSmall, WarningCode::PageCache];
        let warnings = codes.map(|code| Warning::new(code, "said"));
        let order: Vec<WarningCode> = by_rank(&warnings).iter().map(|warning| warning.code).collect();
        assert_eq!(order, [WarningCode::PageCache, WarningCode::TargetSmall, WarningCode::FewSamples]);
        assert_eq!(heading(&warnings), "1 warning invalidates the numbers, 1 caution, 1 note");
        assert_eq!(in_brief(&warnings).as_deref(), Some("1 warning invalidates the numbers · 1 caution"));
        assert_eq!(in_brief(&warnings[..1]), None);
    }
}
