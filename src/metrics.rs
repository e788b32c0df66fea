//! `--metrics`: the current values for Prometheus.

use iostall_report::exposition::{CONTENT_TYPE, exposition};
use iostall_watch::{MachineClock, Metrics};
use iostall_web::{MetricsPage, MetricsServer, WebError};

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
    let server = MetricsServer::start(address, page).map_err(|error| with_hint(address, error))?;
    printer.note(&format!("metrics at http://{}/metrics", server.address()));
    Ok(server)
}

fn with_hint(address: &str, error: WebError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => anyhow::Error::new(error).context(format!("cannot serve metrics on {address}")),
    }
}
