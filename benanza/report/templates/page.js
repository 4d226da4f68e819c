// What the page holds is compressed: it is unpacked where a reader opens a part.
async function unpacked(name) {
  const bytes = fromBase85(document.getElementById(`packed-${name}`).textContent.trim());
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// RFC 1924's digits, with a comma in place of what tags begin with.
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";
const VALUES = new Uint8Array(128);
[...DIGITS].forEach((digit, value) => { VALUES[digit.charCodeAt(0)] = value; });

// Five digits are four bytes; the last ones may be fewer.
function fromBase85(text) {
  const lacking = (5 - (text.length % 5)) % 5;
  const digits = text + "~".repeat(lacking);
  const bytes = new Uint8Array((digits.length / 5) * 4);
  const words = new DataView(bytes.buffer);
  for (let at = 0; at < digits.length; at += 5) {
    let word = 0;
    for (let nth = at; nth < at + 5; nth += 1) word = word * 85 + VALUES[digits.charCodeAt(nth)];
    words.setUint32((at / 5) * 4, word);
  }
  return bytes.subarray(0, bytes.length - lacking);
}

const loaded = {};
function library(name) {
  loaded[name] ??= unpacked(name).then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
  });
  return loaded[name];
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function save(name, type, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  URL.revokeObjectURL(link.href);
}

function fileName(...parts) {
  return parts.join("-").replace(/[^\w.-]+/g, "-");
}

// Zooms and moves a figure over time by the wheel and by keys, once a reader has chosen it: until
// then the wheel scrolls the page.
function moveInTime(drawn) {
  // Plotly makes another one when the page changes its width.
  const axis = () => drawn._fullLayout.xaxis;
  const all = [...axis().range];
  const show = (range) => Plotly.relayout(drawn, { "xaxis.range": range });
  const zoom = (factor, at = 0.5) => {
    const [from, to] = axis().range;
    const wide = Math.min((to - from) * factor, all[1] - all[0]);
    const start = from + (to - from) * at - wide * at;
    move(0, [start, start + wide]);
  };
  const move = (part, [from, to] = axis().range) => {
    const wide = to - from;
    const start = Math.max(all[0], Math.min(from + part * wide, all[1] - wide));
    show([start, start + wide]);
  };
  const keys = {
    w: () => zoom(0.7), "+": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
    a: () => move(-0.2), arrowleft: () => move(-0.2), d: () => move(0.2), arrowright: () => move(0.2),
    0: () => show(all), home: () => show(all),
  };
  drawn.tabIndex = 0;
  drawn.addEventListener("pointerdown", () => drawn.focus({ preventScroll: true }));
  drawn.addEventListener("keydown", (event) => {
    const action = keys[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  drawn.addEventListener("wheel", (event) => {
    if (document.activeElement !== drawn) return;
    event.preventDefault();
    const { left } = drawn.getBoundingClientRect();
    const { _offset: offset, _length: length } = axis();
    const at = (event.clientX - left - offset) / length;
    zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.max(0, Math.min(1, at)));
  }, { passive: false });
}

// What is said of a call is the same in all figures: it is there once, by the call's number.
function withHovers(figure, hovers) {
  for (const trace of figure.data) {
    if (!trace.customdata) continue;
    trace.hovertext = trace.customdata.map((number, at) =>
      [hovers[number], trace.hovertext?.[at]].filter(Boolean).join("<br>"));
  }
  return figure;
}

async function drawFigure(place, figure, name, showCall) {
  await library("plotly");
  const drawn = place.querySelector(".drawn");
  const narrow = drawn.clientWidth < 500;
  const layout = { ...figure.layout, autosize: true };
  if (narrow) {
    // Lines between calls would hide them.
    for (const trace of figure.data) if (trace.type === "bar") trace.marker.line.width = 0.1;
  }
  await Plotly.newPlot(drawn, figure.data, layout, { responsive: true, displayModeBar: false });
  drawn.on("plotly_click", (event) => {
    const number = event.points[0].customdata;
    if (typeof number === "number") showCall(number);
  });
  if (name.endsWith("timeline") || name.endsWith("memory")) moveInTime(drawn);
  const buttons = ["png", "svg"].map((format) => {
    const button = element("button", { type: "button" }, `Save ${format.toUpperCase()}`);
    button.addEventListener("click", () => Plotly.downloadImage(drawn, { format, filename: name }));
    return button;
  });
  place.querySelector(".buttons").append(...buttons);
}

async function open(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "soon";
  const data = JSON.parse(await unpacked(place.dataset.packed));
  const shown = {};
  let chosen;
  const showCall = (number, node) => {
    chosen = node;
    shown.calls?.show(number);
    chosen = undefined;
  };
  const boxes = data.graph?.boxes ?? [];
  const calls = new Map(boxes.flatMap((box) => box.positions.map((position) => [position, box.call])));
  const nodesOfRow = ([number], cell) => {
    const behind = element("div", { class: "graph" });
    cell.append(behind);
    drawNodes(behind, place.dataset.nodes, boxes[number - 1].positions, calls, showCall, chosen);
  };
  for (const each of place.querySelectorAll("[data-table]")) {
    const { table } = each.dataset;
    shown[table] = drawTable(each, data.tables[table], data.name, table === "calls" ? nodesOfRow : undefined);
  }
  for (const button of place.querySelectorAll("[data-save=trace]")) {
    button.addEventListener("click", () =>
      save(fileName(data.name, "trace.json"), "application/json", JSON.stringify(data.trace)));
  }
  for (const each of place.querySelectorAll("[data-figure]")) {
    const name = each.dataset.figure;
    const figure = withHovers(data.figures[name], data.hovers ?? []);
    await drawFigure(each, figure, fileName(data.name, name), showCall);
  }
  for (const each of place.querySelectorAll("[data-graph]")) {
    await library("dagre");
    const graphOfAll = () => graphOfNodes(place.dataset.nodes, data.graph, calls);
    drawGraph(each, data.graph, data.tables.calls, showCall, graphOfAll);
  }
  place.dataset.drawn = "yes";
}

function openWhatIsNamed() {
  const named = location.hash && document.getElementById(location.hash.slice(1));
  const around = named && (named.querySelector("details") ?? named.closest("details"));
  if (around && !around.open) {
    around.open = true;
    named.scrollIntoView();
  }
}

// Of paper as wide as A4 and letters are, in pixels. Without it, what is wider is cut off.
const PAPER = 660;
function drawAsWide(width) {
  for (const drawn of document.querySelectorAll(".js-plotly-plot")) {
    if (drawn.clientWidth) Plotly.relayout(drawn, { width, autosize: width === null });
  }
}
addEventListener("beforeprint", () => drawAsWide(PAPER));
addEventListener("afterprint", () => drawAsWide(null));

function tryToOpen(place) {
  open(place).catch((error) => {
    place.append(element("p", { role: "alert" },
      `This browser can't draw the figures and tables (${error.message}); one of 2023 or later can.`));
    throw error;
  });
}

for (const place of document.querySelectorAll("[data-packed]")) {
  if (place.tagName !== "DETAILS" || place.open) tryToOpen(place);
  place.addEventListener("toggle", () => place.open && tryToOpen(place));
}
addEventListener("hashchange", openWhatIsNamed);
openWhatIsNamed();
