"use strict";
// Draws every figure into the element that bears its id, in the colours of the page, and again when the
// reader's system turns from light to dark.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const ids = Object.keys(figures);
  const axes = ["xaxis", "yaxis"];

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return { text: read("--text"), dim: read("--dim"), accent: read("--accent"), grid: read("--line"), ground: read("--card"), font: style.fontFamily };
  };

  const layout = (own) => {
    const { text, dim, accent, grid, ground, font } = colours();
    const whole = {
      ...own,
      autosize: true,
      margin: { l: 56, r: 14, t: 34, b: 48 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: font, size: 12, color: text },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: dim, activecolor: accent },
      showlegend: true,
      legend: { orientation: "h", y: -0.22, yanchor: "top", x: 0 },
      hoverlabel: { bgcolor: ground, bordercolor: grid, font: { color: text, family: font }, namelength: -1 },
    };
    for (const axis of axes) {
      const title = { ...own[axis].title, standoff: 10 };
      whole[axis] = { ...own[axis], title, gridcolor: grid, linecolor: grid, zeroline: false, automargin: true };
    }
    return whole;
  };

  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

  const draw = () => {
    for (const id of ids) {
      Plotly.react(document.getElementById(id), figures[id].data, layout(figures[id].layout), config);
    }
  };

  if (ids.length > 0) {
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
})();
