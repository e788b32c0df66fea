//! Shows a session's events on a terminal: notes, and one progress line.

use iostall_measure::number::number;
use iostall_report::live;
use iostall_report::point::in_words;
use iostall_session::event::{Event, Observer};

use crate::commands::copy::failures;
use crate::printer::Printer;

impl Observer for Printer {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::EngineFallback { cause } => {
                let hint = cause.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                self.note(&format!("note: {cause}, so threads do the I/O{hint}"));
            }
            Event::FileBegun { path, size } => self.note(&format!("making {} ({size})", path.display())),
            Event::FileProgress { path, done, size } => {
                let (share, text) = live::making(path, *done, *size);
                self.progress(share, &text);
            }
            Event::SpanProgress(span) => {
                let (done, text) = live::span(span);
                self.progress(done, &text);
            }
            Event::PointMeasured { label, again, point } => {
                let again = if *again { " again" } else { "" };
                self.note(&format!("{label}{again}: {}", in_words(point)));
            }
            Event::QualifyBegins(cost) => self.note(&live::qualify_begins(cost)),
            Event::StageBegins { number, of, name } => self.note(&live::stage_begins(*number, *of, name)),
            Event::LimitsBegins(cost) => self.note(&live::limits_begins(cost)),
            Event::ReadAllBegins { from_bytes, whole_bytes, bytes_per_s } => {
                self.note(&live::read_all_begins(*from_bytes, *whole_bytes, *bytes_per_s));
            }
            Event::RoundEnded { number, of, fills, round } if round.points.len() > 1 => {
                self.note(&live::round_ended(*number, *of, *fills, round));
            }
            Event::RateTried { rate_iops, in_time, point } => {
                let word = if *in_time { "in time" } else { "too late" };
                self.note(&format!("{} a second: {} ({word})", number(*rate_iops), in_words(point)));
            }
            Event::SyncMeasured(step) => self.note(&live::synced(step)),
            Event::TransferProgress { now, speed, whole } => {
                let (done, text) = live::transfer(now, *speed, whole);
                self.progress(done, &text);
            }
            Event::TuneBegun(plan) => self.note(&live::tune_begun(plan)),
            Event::PartMeasured(alone) => self.note(&live::part_alone(alone)),
            Event::TuneProgress { tried, settings, bytes_per_s_best, whole } => {
                let (done, text) = live::tune(*tried, *settings, *bytes_per_s_best, whole);
                self.progress(done, &text);
            }
            Event::StatementProgress { percent_hundredths, whole } => {
                let (done, text) = live::statement(*percent_hundredths, whole);
                self.progress(done, &text);
            }
            Event::SimulationProgress { doing, done, whole } => {
                let (done, text) = live::simulation(doing, *done, whole);
                self.progress(done, &text);
            }
            Event::GaveWay(decision) => self.note(&live::gave_way(decision)),
            Event::NotCopied(failures) => failures::show(failures, self),
            Event::MustBeSaid { is_caution: true, .. } if self.quiet() => {}
            Event::MayNotFit { message } | Event::MustBeSaid { message, .. } => {
                self.warning(&anyhow::anyhow!("{message}"));
            }
            Event::FileStays { path } => {
                let path = path.display();
                self.note(&format!("{path} existed before and is kept, but now contains test data"));
            }
            Event::FileLeft { path, cause } => {
                let error = anyhow::anyhow!("{cause}");
                self.warning(&error.context(format!("cannot remove {}", path.display())));
            }
            // A sample of a write saturation is one of hundreds.
            Event::RoundEnded { .. } | Event::PacedInterval { .. } | Event::MethodEnded(_) => {}
            Event::ProgressEnded => self.clear(),
        }
    }
}
