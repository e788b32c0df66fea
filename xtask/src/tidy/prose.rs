//! Tests that pin sentences.

use super::{Finding, Tree};

/// How many there are. To reword one message costs each of them, so there are no more; lower it when some are gone.
const KNOWN: usize = 688;
/// From so many words on it is a sentence; fewer are a name, a figure or a place.
const WORDS: usize = 3;
const CALL: &str = concat!("cont", "ains(");

/// A new test looks at what is meant: a status, a figure, a field, a name.
pub(super) fn no_more_tests_pin_sentences(tree: &Tree) -> Vec<Finding> {
    more_than(KNOWN, tree)
}

fn more_than(known: usize, tree: &Tree) -> Vec<Finding> {
    let found: usize = tree.rust().map(|file| sentences(&file.text)).sum();
    if found <= known {
        return Vec::new();
    }
    let message = format!(
        "{found} places look for a sentence of {WORDS} words or more in a text, {known} are known: look for a figure, a field or a name"
    );
    vec![Finding::whole("xtask/src/tidy/prose.rs", message)]
}

/// How many calls look for a literal of several words.
fn sentences(text: &str) -> usize {
    let literals = text.match_indices(CALL).filter_map(|(at, call)| {
        let after = text[at + call.len()..].trim_start().strip_prefix('"')?;
        // What follows an escaped quotation mark is more of the same sentence.
        after.split('"').next()
    });
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    literals.filter(|literal| literal.split_whitespace().filter(is_word).count() >= WORDS).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_found_and_a_figure_is_not() {
        let text = format!(
            "assert!(said.{CALL}\"there is no such object\"));\nassert!(said.{CALL}\n    \"set the clock\",\n));\n\
             assert!(said.{CALL}\"12 MB/s\") && said.{CALL}'x') && said.{CALL}&target));\n"
        );
        assert_eq!(sentences(&text), 2);
        let tree = Tree::of(&[("tests/a.rs", &text)]);
        assert_eq!(more_than(2, &tree), []);
        assert_eq!(more_than(1, &tree).len(), 1);
    }
}
