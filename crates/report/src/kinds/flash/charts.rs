//! The cliff.

use iostall_model::FlashOutcome;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, rounded};

pub(super) fn charts(flash: &FlashOutcome) -> Vec<Chart> {
    let x = json!({"title": {"text": "fills of the device"}});
    let y = json!({"title": {"text": "write amplification"}, "rangemode": "tozero"});
    drawn([Chart {
        id: "cliff".into(),
        title: "Write amplification".into(),
        caption: "After every page was written once in order: the spare area lasts for a while, then each write moves others.",
        figure: figure(&traces(flash), &x, &y, "closest"),
    }])
}

fn traces(flash: &FlashOutcome) -> Vec<Value> {
    if flash.tenths.is_empty() {
        return Vec::new();
    }
    let fills = |tenths: usize| rounded(tenths as f64 / 10.0);
    let y = flash.tenths.iter().map(|tenth| tenth.write_amplification().map(rounded));
    let mut traces = vec![json!({
        "type": "scatter", "mode": "lines", "name": "simulated",
        "x": (1..=flash.tenths.len()).map(fills).collect::<Vec<_>>(), "y": y.collect::<Vec<_>>(),
        "line": {"color": COLOURS[0], "width": 2}, "hovertemplate": "%{x} fills: %{y:.2f}",
    })];
    let colours = COLOURS.iter().skip(1).cycle();
    for (form, colour) in flash.closed_forms.iter().zip(colours) {
        let level = rounded(form.write_amplification);
        traces.push(json!({
            "type": "scatter", "mode": "lines", "name": form.name,
            "x": [0.0, fills(flash.tenths.len())], "y": [level, level],
            "line": {"color": colour, "dash": "longdash", "width": 1}, "hovertemplate": "%{y:.2f}",
        }));
    }
    traces
}
