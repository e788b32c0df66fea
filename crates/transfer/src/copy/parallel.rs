//! Copies several large files at once, each with buffers and requests of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iostall_model::transfer::TransferShape;

use super::context::CopyContext;
use super::entry::Entry;
use super::error::CopyError;
use super::file::FileCopier;
use super::log::CopyLog;
use super::mover::Mover;

struct Done {
    shape: Option<TransferShape>,
    log: CopyLog,
    ended: Result<(), CopyError>,
}

/// Copies the entries with `copiers` threads. An error that ends the copy lets the others finish the file that
/// they are at.
pub(super) fn copy_large(
    context: &CopyContext<'_>,
    (mover, log): (&mut Mover<'_>, &mut CopyLog),
    entries: &[&Entry],
    copiers: usize,
) -> Result<(), CopyError> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |records| {
        let mut mover = Mover::new(context.options, context.progress, &context.clock);
        let mut log = CopyLog { records, ..CopyLog::default() };
        let mut files = FileCopier { context, mover: &mut mover, log: &mut log };
        let mut ended = Ok(());
        while ended.is_ok()
            && !stop.load(Ordering::Relaxed)
            && let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed))
        {
            ended = files.copy_or_note(entry);
        }
        if ended.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        Done { shape: mover.into_described(), log, ended }
    };
    let mut result = Ok(());
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..copiers.min(entries.len()))
            .map(|_| {
                let records = log.records.clone();
                scope.spawn(move || work(records))
            })
            .collect();
        for thread in threads {
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            mover.take_description(done.shape);
            log.merge(done.log);
            if result.is_ok() {
                result = done.ended;
            }
        }
    });
    result
}
