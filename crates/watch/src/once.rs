//! Takes one sample of each source.

use std::sync::Arc;
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::utc_now;
use iostall_model::{Gap, Step};
use iostall_store::{CollectorState, History, SourceId};

use crate::error::WatchError;
use crate::reported_volumes::put_reported;
use crate::settings::{LIMIT, is_fresh, read_within};
use crate::writer::WriterEvent;

#[derive(Debug)]
pub enum OnceEvent<'a> {
    Sampled {
        source: &'a str,
        step: &'a Step,
    },
    Failed(SourceError),
    /// Its settings were not there within `limit`; its sample is.
    SettingsLate {
        source: &'a str,
        limit: Duration,
    },
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
                    let (source, at) = (name.as_str(), step.at());
                    observer(OnceEvent::Writer(WriterEvent::Warning { source, at, warning }));
                }
                store.add_step(id, &step)?;
                if !read_settings(store, id, source)? {
                    observer(OnceEvent::SettingsLate { source: &name, limit: LIMIT });
                }
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

/// Reads the settings of `source`, unless that was done within the hour. Whether it answered in time; what it had is as it was otherwise.
fn read_settings(
    store: &mut (impl History + CollectorState),
    id: SourceId,
    source: Box<dyn Source>,
) -> Result<bool, WatchError> {
    let now = utc_now();
    if store.settings_read(id)?.is_some_and(|read| is_fresh(read, now)) {
        return Ok(true);
    }
    let Some(read) = read_within(Ok(source), LIMIT) else { return Ok(false) };
    if let Some(settings) = read.ok().filter(|settings| !settings.is_empty()) {
        store.put_settings(id, now, &settings)?;
    }
    Ok(true)
}
