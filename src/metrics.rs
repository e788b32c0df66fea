//! `--metrics`: the current values for Prometheus.

use iostall_report::exposition::{CONTENT_TYPE, exposition};
use iostall_watch::{MachineClock, Metrics};
use iostall_web::{MetricsPage, MetricsServer, ServeError};

use crate::failure::hinted;
use crate::printer::Printer;

/// Serves `metrics` on `address` until the returned value is dropped.
pub(crate) fn serve(
    address: &str,
    metrics: Metrics<MachineClock>,
    printer: &Printer,
) -> anyhow::Result<MetricsServer> {
    let render = move || exposition(&metrics.now(), env!("CARGO_PKG_VERSION"));
    let page = MetricsPage { content_type: CONTENT_TYPE, render: Box::new(render) };
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
