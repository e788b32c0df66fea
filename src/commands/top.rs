//! `iostall top`: the current I/O of sources, on a full screen or once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_model::Level;
use iostall_report::top::{Asked, TopState};
use iostall_report::watch::{sections, sentences, title, write_watch_json};
use iostall_watch::{Feed, SampledFeed, StoredFeed, Travel, named_sources};

use crate::cli::timestamp::timestamp;
use crate::cli::{GlobalArgs, TopArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::stop_flag;
use crate::output::{text_of_sections, to_stdout};
use crate::printer::Printer;
use crate::screen::Screen;
use crate::store::open_watch;

/// How long to wait for a key, or for samples, before looking at the other and at a stop request.
const WAIT: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &TopArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let at = args.at.as_deref().map(|text| timestamp("--at", text, utc_now())).transpose()?;
    let sources = named_sources(&args.sources, &Printer::ask_password)?;
    let interval = (!sources.is_empty()).then_some(args.interval);
    let (mut feed, names): (Box<dyn Feed>, Vec<String>) = if sources.is_empty() {
        let store = open_watch(global)?;
        let path = store.path().to_owned();
        let open = if at.is_some() { StoredFeed::of_past } else { StoredFeed::new };
        let stored = open(store, path)?;
        let names = stored.names();
        (Box::new(stored), names)
    } else {
        let names = sources.iter().map(|source| source.name().to_owned()).collect();
        (Box::new(SampledFeed::of_named(sources, args.timeout, args.interval)?), names)
    };
    let level = args.level.map_or_else(|| usual_level(&names), Level::from);
    let mut state = TopState::new(&names, level, interval, printer.color());
    state.set_unicode(iostall_host::locale_is_utf8());
    state.set_filter(args.filter.as_deref().unwrap_or_default());
    state.show_all(args.all);
    if let Some(at) = at {
        feed.travel(Travel::To(at), &mut |event| state.take(event))?;
    }
    if args.once { once(args, &mut state, feed.as_mut(), printer) } else { live(&mut state, feed.as_mut()) }
}

/// A host has no database files.
fn usual_level(names: &[String]) -> Level {
    if names.iter().all(|name| name.starts_with("linux:")) { Level::Volumes } else { Level::Files }
}

fn once(
    args: &TopArgs,
    state: &mut TopState,
    feed: &mut dyn Feed,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let stop = stop_flag(Some(printer))?;
    loop {
        feed.wait(WAIT, &mut |event| state.take(event))?;
        if feed.is_complete_at_once() || state.is_complete() || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(Status::Interrupted);
    }
    let report = state.report();
    if report.window.groups.is_empty() {
        for source in &report.sources {
            for said in sentences(source) {
                printer.note(&format!("{}: {said}", source.name));
            }
        }
        let error = anyhow::anyhow!("there are no counters for this view");
        return Err(hinted(error, "try another --level, or another --filter"));
    }
    if args.json {
        to_stdout(printer, &|out| write_watch_json(&report, out))?;
        return Ok(Status::Done);
    }
    let (report, left_out) = state.report_to_read();
    printer.result(&text_of_sections(&title(&report), &sections(&report), printer))?;
    if let Some(said) = left_out {
        printer.note(&said);
    }
    Ok(Status::Done)
}

/// The full screen, until a key, a signal or the loss of the terminal ends it.
fn live(state: &mut TopState, feed: &mut dyn Feed) -> anyhow::Result<Status> {
    // Without a printer, because messages would be written across the screen.
    let stop = stop_flag(None)?;
    let mut screen = Screen::open()?;
    // The signal for a lost terminal may be ignored, or go to a shell that does not pass it on.
    while !stop.load(Ordering::Relaxed) && !screen.is_gone() {
        feed.wait(Duration::ZERO, &mut |event| state.take(event))?;
        state.tick(utc_now());
        let pressed = match screen.show(state).and_then(|()| screen.key(WAIT)) {
            Err(_) if screen.is_gone() => break,
            pressed => pressed?,
        };
        match pressed.map(|key| state.press(key)) {
            Some(Asked::Quit) => break,
            Some(Asked::Interval(interval)) => feed.set_interval(interval)?,
            Some(Asked::Travel(travel)) => {
                if !feed.travel(travel, &mut |event| state.take(event))? {
                    state.nothing_earlier();
                }
            }
            Some(Asked::Draw) | None => {}
        }
    }
    Ok(Status::Done)
}
