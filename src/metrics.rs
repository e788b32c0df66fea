//! `--metrics`: the current values for Prometheus.

use iostall_report::exposition::{CONTENT_TYPE, Figure, exposition};
use iostall_watch::{MachineClock, Metrics, PushNow};
use iostall_web::{MetricsPage, MetricsServer, ServeError};

use crate::failure::hinted;
use crate::printer::Printer;

/// Serves `metrics` on `address` until the returned value is dropped.
pub(crate) fn serve(
    address: &str,
    metrics: Metrics<MachineClock>,
    printer: &Printer,
) -> anyhow::Result<MetricsServer> {
    let render =
        move || exposition(&metrics.now(), &push_figures(&metrics.pushes()), env!("CARGO_PKG_VERSION"));
    serve_page(address, render, None, printer)
}

/// Why nothing works now.
type Trouble = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Serves what `render` makes, and at /healthz what `trouble` says, until the returned value is dropped.
pub(crate) fn serve_page(
    address: &str,
    render: impl Fn() -> String + Send + Sync + 'static,
    trouble: Option<Trouble>,
    printer: &Printer,
) -> anyhow::Result<MetricsServer> {
    let page = MetricsPage { content_type: CONTENT_TYPE, render: Box::new(render), trouble };
    let server = MetricsServer::start(address, page).map_err(with_hint)?;
    printer.note(&format!("metrics at http://{}/metrics", server.address()));
    Ok(server)
}

fn push_figures(pushes: &[PushNow]) -> Vec<Figure> {
    let mut all = Vec::new();
    for push in pushes {
        let mut add = |name, help, is_counter, value| {
            let label = Some(("receiver", push.receiver.clone()));
            all.push(Figure { name, help, is_counter, label, value });
        };
        let help = "Samples that were not sent, because the receiver refused them or they had waited too long, since the start.";
        add("iostall_push_dropped_total", help, true, push.refused + push.too_old);
        let help = "How long the oldest sample that is still to be sent has waited.";
        add("iostall_push_backlog_seconds", help, false, push.backlog_s);
    }
    all
}

fn with_hint(error: ServeError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
