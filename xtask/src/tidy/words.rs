//! Rejects home-made words for which the field has its own.

use std::collections::HashMap;
use std::str::FromStr as _;

use proc_macro2::{TokenStream, TokenTree};

use super::{Finding, SourceFile, Tree};

/// A longer identifier is a sentence, such as the name of a test.
const SENTENCE_WORDS: usize = 5;

/// Home-made words with the field's words, which `docs/glossary.md` explains.
const WORDS: &[(&str, &str)] = &[
    ("seat", "worker spec"),
    ("dice", "rng"),
    ("scatter", "block permutation"),
    ("tally", "worker stats"),
    ("stop_sign", "stop token"),
    ("rig", "buffer set"),
    ("lend", "take"),
    ("ladder", "flag fallback"),
    ("rung", "flag fallback"),
    ("climb", "depth search"),
    ("survey", "point runner"),
    ("effort", "precision"),
    ("beat", "tick, missed sample"),
    ("keeper", "sample writer"),
    ("onlooker", "observer"),
    ("judging", "alerting, checks"),
    ("judge", "check"),
    ("doubt", "warning"),
    ("trust", "checks"),
    ("courier", "dispatcher"),
    ("thing", "alert instance"),
    ("told", "notified"),
    ("tell", "notify"),
    ("learn", "update"),
    ("moment", "timestamp"),
    ("chapter", "section"),
    ("tone", "severity"),
    ("spell", "format"),
    ("chance", "p-value"),
    ("stand_back", "lower priority"),
    ("made_anew", "rebuilt"),
    ("anew", "rebuild, restart"),
    ("wish", "request"),
    ("stranger", "other process"),
    ("stands_out", "is significant"),
    ("goes_on", "continues"),
    ("brought", "copied"),
    ("percentiles_of_one", "single percentile table"),
    ("behind", "page-cache dropper"),
    ("settle", "complete"),
    ("settling", "completing"),
];

/// Identifiers in the program and headings in documents use the field's words.
pub(super) fn words_are_the_fields(tree: &Tree) -> Vec<Finding> {
    let mut judged = Judged::default();
    let files = tree.files().iter().filter(|file| is_product(file) || file.has_extension("md"));
    files
        .flat_map(|file| {
            places(file, &mut judged).into_iter().map(|place| {
                let message = format!("{}: the field says {}", place.identifier, place.instead);
                Finding::at(&file.path, place.line, message)
            })
        })
        .collect()
}

/// What the field says instead of each identifier seen so far: the same few come millions of times.
type Judged = HashMap<String, Option<&'static str>>;

/// "Moments" are statistics.
const HAS_OWN_PLURAL: [&str; 1] = ["moment"];

/// Words of other programs, of Linux and of statistics.
const OTHERS: [&str; 4] = ["trust_cert", "trust_cert_ca_bundle", "BestEffort", "second_moment"];

struct Place {
    line: usize,
    identifier: String,
    instead: &'static str,
}

fn is_product(file: &SourceFile) -> bool {
    let is_source = file.path.starts_with("src/") || file.path.starts_with("crates/");
    is_source && file.has_extension("rs")
}

fn places(file: &SourceFile, judged: &mut Judged) -> Vec<Place> {
    if file.has_extension("md") {
        let headings = file.numbered().filter(|(_, line)| line.starts_with('#'));
        let place = |(line, heading): (usize, &str)| {
            home_made(heading).map(|instead| Place { line, identifier: heading.to_owned(), instead })
        };
        return headings.filter_map(place).collect();
    }
    // Files that do not tokenise are left to the compiler.
    let mut found = Vec::new();
    if let Ok(tokens) = TokenStream::from_str(&file.text) {
        walk(tokens, judged, &mut found);
    }
    found
}

fn walk(tokens: TokenStream, judged: &mut Judged, found: &mut Vec<Place>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => walk(group.stream(), judged, found),
            TokenTree::Ident(name) => {
                let identifier = name.to_string();
                let instead = match judged.get(&identifier) {
                    Some(known) => *known,
                    None => *judged.entry(identifier.clone()).or_insert_with(|| home_made(&identifier)),
                };
                let place = |instead| Place { line: name.span().start().line, identifier, instead };
                found.extend(instead.map(place));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn home_made(identifier: &str) -> Option<&'static str> {
    let parts = format!("_{}_", parted(identifier));
    // The name of a test is a sentence.
    if parts.matches('_').count() > SENTENCE_WORDS && !identifier.starts_with('#') {
        return None;
    }
    if OTHERS.contains(&identifier) {
        return None;
    }
    let has = |word: &str| parts.contains(&format!("_{word}_"));
    let (_, instead) = WORDS
        .iter()
        .find(|(word, _)| has(word) || (!HAS_OWN_PLURAL.contains(word) && has(&format!("{word}s"))))?;
    Some(instead)
}

/// `StopSign` and `stop sign` as `stop_sign`.
fn parted(identifier: &str) -> String {
    let mut parted = String::new();
    let mut is_lower = false;
    for letter in identifier.chars() {
        if letter.is_uppercase() && is_lower {
            parted.push('_');
        }
        is_lower = letter.is_lowercase();
        if letter.is_alphanumeric() { parted.extend(letter.to_lowercase()) } else { parted.push('_') }
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_headings_are_counted_and_sentences_are_not() {
        let code = "/// A seat of one's own.\nstruct SeatPlan { the_dice: u8, moments: u8, besides: u8 }\n";
        let tree = Tree::of(&[("src/a.rs", code), ("docs/a.md", "# The ladder\nA rung of the ladder.\n")]);
        let said: Vec<String> = words_are_the_fields(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "src/a.rs:2: SeatPlan: the field says worker spec",
                "src/a.rs:2: the_dice: the field says rng",
                "docs/a.md:1: # The ladder: the field says flag fallback",
            ]
        );
    }
}
