//! The numbers of the series of a source, by what they are about.

use std::collections::HashMap;

use iostall_model::Subject;

/// See the module. A number has one subject: under a name that a thing had once nothing is found, so that a thing
/// which gets it back is written down again.
#[derive(Debug, Default)]
pub(super) struct Series {
    numbers: HashMap<Subject, u32>,
    subjects: HashMap<u32, Subject>,
}

impl Series {
    /// Those of the subjects as they are stored.
    pub(super) fn of(subjects: HashMap<u32, Subject>) -> Self {
        let numbers = subjects.iter().map(|(number, subject)| (subject.clone(), *number)).collect();
        Self { numbers, subjects }
    }

    /// The number of `subject`, if it is called now as it is stored.
    pub(super) fn number(&self, subject: &Subject) -> Option<u32> {
        self.numbers.get(subject).copied()
    }

    /// Series `number` is about `subject` from now on.
    pub(super) fn put(&mut self, number: u32, subject: Subject) {
        if let Some(earlier) = self.subjects.insert(number, subject.clone()) {
            self.numbers.remove(&earlier);
        }
        self.numbers.insert(subject, number);
    }
}
