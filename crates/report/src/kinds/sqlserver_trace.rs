//! What SQL Server said of its own work on a BACKUP under trace flags.

use iostall_model::sqlserver_backup::BackupTrace;

use crate::format::{bytes, count, duration, shown};
use crate::section::Fact;
use crate::table::{Column, Table, TableCell};

/// Most steps in the table: those that took longest, in their order.
const STEPS_SHOWN: usize = 20;
const MS_NS: f64 = 1e6;

/// The buffers that were in effect, in one line; `None` if the server did not say.
pub(super) fn buffers(trace: &BackupTrace) -> Option<Fact> {
    let sets = trace.buffer_sets.filter(|sets| *sets > 1).map(|sets| format!("{sets} sets of "));
    let number = trace.buffer_count.map(|number| format!("{} buffers", count(number)));
    let of = trace.transfer_bytes.map(|each| format!(" of {}", bytes(each)));
    let all = trace.buffer_bytes.map(|all| format!(", {} in all", bytes(all)));
    let limit = trace.memory_limit_bytes.map(|limit| format!("; at most {} of memory", bytes(limit)));
    let parts = [sets, number.clone(), of, all, limit];
    number.map(|_| Fact::new("buffers", parts.into_iter().flatten().collect::<String>()))
}

pub(super) fn tables(trace: &BackupTrace) -> Vec<Table> {
    let mut all = Vec::new();
    if !trace.settings.is_empty() {
        let columns = vec![Column::words("setting"), Column::words("value")];
        let mut settings = Table::new("Settings that were in effect", columns);
        for setting in &trace.settings {
            let cells = [&setting.name, &setting.value].map(|text| TableCell::from(shown(text)));
            settings.row(cells.to_vec());
        }
        all.push(settings);
    }
    if !trace.steps.is_empty() {
        all.push(steps(trace));
    }
    all
}

fn steps(trace: &BackupTrace) -> Table {
    let mut longest: Vec<usize> = (0..trace.steps.len()).collect();
    longest.sort_by_key(|number| std::cmp::Reverse(trace.steps[*number].elapsed_ms));
    longest.truncate(STEPS_SHOWN);
    longest.sort_unstable();
    let left_out = trace.steps.len() - longest.len();
    let columns = vec![Column::numbers("at"), Column::numbers("took"), Column::words("step")];
    let mut table = Table::new("What the server did", columns);
    if left_out > 0 {
        table.notes.push(format!("{} short steps are left out; JSON has them.", count(left_out as u64)));
    }
    if trace.more_steps > 0 {
        table.notes.push(format!("{} later steps were not kept.", count(trace.more_steps)));
    }
    for number in longest {
        let step = &trace.steps[number];
        table.row(vec![
            TableCell::from(duration(step.at_ms as f64 * MS_NS)),
            TableCell::from(duration(step.elapsed_ms as f64 * MS_NS)),
            TableCell::from(shown(&step.name)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use iostall_model::sqlserver_backup::TraceStep;

    use super::*;

    #[test]
    fn the_buffers_are_one_line_and_of_many_steps_the_longest_are_shown_in_their_order() {
        let step = |number: u64| TraceStep {
            at_ms: number * 10,
            elapsed_ms: number % 50,
            name: format!("step {number}"),
        };
        let trace = BackupTrace {
            buffer_count: Some(7),
            buffer_sets: Some(3),
            transfer_bytes: Some(1 << 20),
            buffer_bytes: Some(21 << 20),
            memory_limit_bytes: Some(3325 << 20),
            steps: (0..60).map(step).collect(),
            ..BackupTrace::default()
        };
        let line = buffers(&trace).unwrap().value;
        assert_eq!(line, "3 sets of 7 buffers of 1 MiB, 21 MiB in all; at most 3.25 GiB of memory");
        let tables = tables(&trace);
        assert_eq!(tables.len(), 1);
        assert!(tables[0].notes[0].starts_with("40 short steps"), "{:?}", tables[0].notes);
        assert_eq!(tables[0].lines.len(), STEPS_SHOWN);
        assert!(buffers(&BackupTrace::default()).is_none());
    }
}
