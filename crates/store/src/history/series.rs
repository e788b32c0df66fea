//! Numbers of the series of a source, by subject.

use std::collections::HashMap;

use iostall_model::Subject;

/// See the module. Each number has one current subject. An earlier name leads nowhere, so that a subject
/// which gets it back is stored again.
#[derive(Debug, Default)]
pub(crate) struct Series {
    numbers: HashMap<Subject, u32>,
    subjects: HashMap<u32, Subject>,
}

impl Series {
    pub(crate) fn of(subjects: HashMap<u32, Subject>) -> Self {
        let numbers = subjects.iter().map(|(number, subject)| (subject.clone(), *number)).collect();
        Self { numbers, subjects }
    }

    /// The number of `subject`, if its stored name is current.
    pub(crate) fn number(&self, subject: &Subject) -> Option<u32> {
        self.numbers.get(subject).copied()
    }

    pub(crate) fn put(&mut self, number: u32, subject: Subject) {
        if let Some(earlier) = self.subjects.insert(number, subject.clone()) {
            self.numbers.remove(&earlier);
        }
        self.numbers.insert(subject, number);
    }
}
