//! `--metrics`: the current values for Prometheus.

use iostall_report::exposition::{CONTENT_TYPE, exposition};
use iostall_watch::{MachineClock, Metrics};
use iostall_web::{MetricsPage, MetricsServer, ServeError, Trouble};

use crate::failure::hinted;
use crate::printer::Printer;

/// Serves `metrics` on `address` until the returned value is dropped.
pub(crate) fn serve(
    address: &str,
    metrics: Metrics<MachineClock>,
    printer: &Printer,
) -> anyhow::Result<MetricsServer> {
    let render = move || exposition(&metrics.now(), &metrics.figures(), env!("CARGO_PKG_VERSION"));
    serve_page(address, render, None, printer)
}

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

fn with_hint(error: ServeError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
