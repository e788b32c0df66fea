//! Rules that no compiler checks, each a function over the files of the workspace.

mod arrows;
mod circles;
mod code;
mod docs;
mod documents;
mod kinds;
mod losses;
mod places;
mod platform;
pub(crate) mod product;
mod program;
mod prose;
mod text;
mod tree;
mod waiting;
mod words;

use std::fmt;

pub(crate) use tree::{SourceFile, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Relative to the workspace root.
    path: String,
    /// From 1; `None` for the whole file.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn whole(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, message: message.into() }
    }

    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 28] = [
    arrows::crates_use_only_what_stands_above_them,
    circles::modules_use_each_other_one_way,
    circles::files_use_each_other_one_way,
    kinds::every_kind_of_run_is_answered_for,
    platform::linux_has_two_rooms,
    code::files_fit_in_a_head,
    code::modules_have_names_that_say_something,
    code::unsafe_has_one_room,
    docs::modules_open_with_their_purpose,
    code::verbs_do_not_import_each_other,
    code::sql_is_in_sql_files,
    text::nothing_is_left_for_later,
    text::no_machine_is_named,
    text::lines_end_where_their_text_ends,
    text::files_end_with_one_newline,
    documents::sql_is_tagged,
    documents::examples_open_with_why,
    documents::links_lead_somewhere,
    documents::tests_of_clauses_exist,
    documents::tests_left_out_are_held_by_others,
    documents::architecture_names_what_is_there,
    words::words_are_the_fields,
    program::program_is_the_command_line,
    places::root_works_by_descriptor,
    waiting::waiting_has_one_room,
    waiting::nothing_is_made_for_others_under_a_lock,
    losses::what_keeps_data_is_believed,
    prose::no_more_tests_pin_sentences,
];

/// All violations, in the order of the rules, which are checked side by side.
pub(crate) fn findings(tree: &Tree) -> Vec<Finding> {
    std::thread::scope(|scope| {
        let running = RULES.map(|rule| scope.spawn(move || rule(tree)));
        running.into_iter().flat_map(|rule| rule.join().expect("a rule ends")).collect()
    })
}

/// Allowed, but worth a look.
pub(crate) fn notes(tree: &Tree) -> Vec<Finding> {
    code::files_that_grow_long(tree)
}
