"use strict";
// Unpacks the chart library that the page carries, draws every figure into the element that bears its id, in the colours
// of the page, and again when the reader's system turns from light to dark.
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
      // At the bottom of the chart's box, whose room is then the legend's: it cannot cover the axes however many lines it has.
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0 },
      hoverlabel: { bgcolor: ground, bordercolor: grid, font: { color: text, family: font }, namelength: -1 },
    };
    for (const axis of axes) {
      const title = { ...own[axis].title, standoff: 10 };
      whole[axis] = { ...own[axis], title, gridcolor: grid, linecolor: grid, zeroline: false, automargin: true };
    }
    return whole;
  };

  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

  // The legend has columns as wide as its longest name; what it needs beyond two rows is added to the chart's height.
  const fit = (element, data) => {
    const names = data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name || "");
    const columns = Math.max(1, Math.floor(element.clientWidth / (Math.max(...names.map((name) => name.length)) * 7 + 50)));
    element.style.height = `${400 + Math.max(0, Math.ceil(names.length / columns) - 2) * 20}px`;
  };

  const draw = () => {
    for (const id of ids) {
      fit(document.getElementById(id), figures[id].data);
      Plotly.react(document.getElementById(id), figures[id].data, layout(figures[id].layout), config);
    }
  };

  // A raw deflate stream in base64, so that the page is a third of the size; an old browser cannot unpack it.
  const unpack = async () => {
    const packed = atob(document.getElementById("library").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  const begin = async () => {
    if (typeof DecompressionStream === "undefined") {
      for (const id of ids) {
        document.getElementById(id).textContent = "This browser is too old to draw charts; the tables have the same numbers.";
      }
      return;
    }
    await unpack();
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  };

  const drawn = ids.length > 0 ? begin() : Promise.resolve();
  // For whoever has to wait for the charts: a test, or a tool that prints the page.
  drawn.then(() => document.documentElement.setAttribute("data-charts", "drawn"));
})();
