//! Takes one sample of each source.

use std::sync::Arc;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::utc_now;
use iostall_model::{Gap, Step};
use iostall_store::{CollectorState, History, SourceId};

use crate::error::WatchError;
use crate::reported_volumes::put_reported;
use crate::settings::is_fresh;
use crate::writer::WriterEvent;

#[derive(Debug)]
pub enum OnceEvent<'a> {
    Sampled { source: &'a str, step: &'a Step },
    Failed(SourceError),
    Writer(WriterEvent<'a>),
}

/// Reads every source once and stores the samples. Returns whether all of them answered.
pub fn sample_once(
    store: &mut (impl History + CollectorState),
    sources: Vec<(String, Box<dyn Source>)>,
    filter: &Filter,
    observer: &mut dyn FnMut(OnceEvent<'_>),
) -> Result<bool, WatchError> {
    let mut all_answered = true;
    for (name, mut source) in sources {
        let id = store.source(&name)?.id;
        source.narrow(filter);
        match source.read() {
            Ok(mut sample) => {
                filter.apply(&mut sample);
                put_reported(store, &name, &source.placements())?;
                let step = Step::first(Arc::new(sample));
                observer(OnceEvent::Sampled { source: &name, step: &step });
                for warning in &step.sample.warnings {
                    observer(OnceEvent::Writer(WriterEvent::Warning(warning)));
                }
                store.add_step(id, &step)?;
                read_settings(store, id, source.as_mut())?;
            }
            Err(error) => {
                store.add_gap(id, &Gap { at: utc_now(), missed: 1, reason: error.to_string() })?;
                observer(OnceEvent::Failed(error));
                all_answered = false;
            }
        }
    }
    store.finish()?;
    Ok(all_answered)
}

/// Reads the settings of `source`, unless that was done within the hour. A source that does not answer to that is as it was.
fn read_settings(
    store: &mut (impl History + CollectorState),
    id: SourceId,
    source: &mut dyn Source,
) -> Result<(), WatchError> {
    let now = utc_now();
    if store.settings_read(id)?.is_some_and(|read| is_fresh(read, now)) {
        return Ok(());
    }
    match source.settings() {
        Ok(settings) if !settings.is_empty() => Ok(store.put_settings(id, now, &settings)?),
        _ => Ok(()),
    }
}
