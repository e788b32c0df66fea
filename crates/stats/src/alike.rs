//! Which of several settings cannot be told from the best of them.

use crate::compare::{ALPHA, correct_for_many};
use crate::welch::{Level, welch};

/// Indices of `settings`, each with one value a repeat, that may be as good as setting `best`: that one itself, and those
/// whose difference from it may be chance. `None` where the best, or everything else, was measured once only.
pub fn alike(settings: &[Vec<f64>], best: usize) -> Option<Vec<usize>> {
    let levels: Vec<Option<Level>> = settings.iter().map(|values| Level::of_independent(values)).collect();
    let best_level = levels.get(best).copied().flatten()?;
    let p_value = |(index, level): (usize, &Option<Level>)| {
        let other = level.filter(|_| index != best)?;
        welch(&best_level, &other).map(|ratio| ratio.p_value)
    };
    let p_values: Vec<Option<f64>> = levels.iter().enumerate().map(p_value).collect();
    if settings.len() > 1 && p_values.iter().all(Option::is_none) {
        return None;
    }
    let corrected = correct_for_many(&p_values);
    let is_alike =
        |index: &usize| *index == best || corrected[*index].is_some_and(|p_value| p_value >= ALPHA);
    Some((0..settings.len()).filter(is_alike).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_within_their_scatter_are_alike_and_others_are_not() {
        let settings = [
            vec![100.0, 101.0, 99.0],
            vec![190.0, 230.0, 200.0],
            vec![205.0, 195.0, 225.0],
            vec![198.0, 240.0, 188.0],
        ];
        assert_eq!(alike(&settings, 2), Some(vec![1, 2, 3]));
        let sure = [vec![100.0, 100.2, 99.9], vec![110.0, 110.1, 109.9]];
        assert_eq!(alike(&sure, 1), Some(vec![1]));
    }

    #[test]
    fn what_was_measured_once_says_nothing() {
        assert_eq!(alike(&[vec![100.0], vec![300.0]], 1), None);
        assert_eq!(alike(&[vec![100.0, 100.0]], 0), Some(vec![0]));
        assert_eq!(alike(&[], 0), None);
    }
}
