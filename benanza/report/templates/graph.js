// The graph of calls as boxes, laid out from top to bottom by dagre.
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 216;
const HEIGHT = 42;
const BESIDE = 160;
// Text can be read.
const LEAST_SCALE = 0.65;
// White text on hotter boxes, dark text on others can be read on light pages.
const HOT = 0.75;

function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// What repeats is drawn once, with a box that stands for the other times.
function folded(graph) {
  const home = graph.boxes.map((_, number) => number);
  const boxes = new Map(graph.boxes.map((box, number) => [number, box]));
  for (const [start, length, times] of graph.blocks) {
    const first = start + length;
    let us = 0;
    for (let number = first; number < start + length * times; number += 1) {
      us += graph.boxes[number].us;
      home[number] = first;
      boxes.delete(number);
    }
    const label = length === 1 ? `${times - 1} more of the same`
      : `${times - 1} more of these ${length}`;
    const note = graph.boxes[first].note && "";
    boxes.set(first, { ...graph.boxes[first], label, us, note, heat: 0, again: true });
  }
  return { home, boxes };
}

function laidOut(graph, fold) {
  const all = { home: graph.boxes.map((_, number) => number),
    boxes: new Map(graph.boxes.map((box, number) => [number, box])) };
  const { home, boxes } = fold ? folded(graph) : all;
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: "TB", ranksep: 26, nodesep: 18, marginx: 8, marginy: 8 });
  for (const [number] of boxes) layout.setNode(String(number), { width: WIDTH, height: HEIGHT });
  const add = (skip) => ([source, target]) => {
    const ends = [String(home[source]), String(home[target])];
    if (ends[0] === ends[1] || layout.hasEdge(...ends)) return;
    layout.setEdge(...ends, { skip, weight: skip ? 1 : 4 });
  };
  graph.arrows.forEach(add(false));
  if (!graph.beside) graph.skips.forEach(add(true));
  dagre.layout(layout);
  const lines = layout.edges().map((edge) => {
    const { points, skip } = layout.edge(edge);
    return { path: curve(points), skip };
  });
  if (graph.beside) lines.push(...arcs(graph.skips.map((ends) => ends.map((end) => home[end])), layout));
  return { layout, boxes, lines };
}

// Arrows on the right side of the boxes, the further out the longer they are.
function arcs(skips, layout) {
  const drawn = new Set();
  return skips.flatMap(([source, target]) => {
    if (source === target || drawn.has(`${source} ${target}`)) return [];
    drawn.add(`${source} ${target}`);
    const [from, to] = [source, target].map((end) => layout.node(String(end)));
    const [x, y] = [from.x + WIDTH / 2, to.x + WIDTH / 2];
    const out = Math.max(x, y) + Math.min(BESIDE, 16 + Math.abs(to.y - from.y) / 8);
    return [{ path: `M${x},${from.y}C${out},${from.y} ${out},${to.y} ${y},${to.y}`, skip: true }];
  });
}

function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`;
  rest.forEach((point, nth) => {
    const before = points[nth];
    const middle = (before.y + point.y) / 2;
    path += `C${before.x},${middle} ${point.x},${middle} ${point.x},${point.y}`;
  });
  return path;
}

function arrowHead(id, kind) {
  const marker = drawing("marker", { id, class: kind, viewBox: "0 0 8 8", refX: 7, refY: 4,
    markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" });
  marker.append(drawing("path", { d: "M0,0L8,4L0,8z" }));
  return marker;
}

let drawnGraphs = 0;

// `graphOfAll` gives the graph of all nodes, once a reader wants it.
function drawGraph(place, ofCalls, table, showCall, graphOfAll) {
  const drawn = place.querySelector(".drawn");
  const search = place.querySelector("input");
  const hits = place.querySelector(".hits");
  const blocks = place.querySelector("[data-blocks]");
  const every = place.querySelector("[data-all]");
  const tip = document.getElementById("tip");
  const id = `graph-${drawnGraphs += 1}`;
  let graph = ofCalls;
  let fold = graph.blocks.length > 0;
  let scale = 1;
  let boxes = [];

  function describe(box, node) {
    const parts = [element("strong", {}, box.label)];
    if (!box.again && box.call !== undefined) parts.push(details(table.rows[box.call], table.columns, (column) => !["call", "operators"].includes(column.title)));
    tip.replaceChildren(...parts);
    tip.hidden = false;
    const { right, left, top } = node.getBoundingClientRect();
    const beside = right + tip.offsetWidth + 16 < innerWidth ? right + 8 : Math.max(4, left - tip.offsetWidth - 8);
    tip.style.left = `${beside}px`;
    tip.style.top = `${Math.max(4, Math.min(top, innerHeight - tip.offsetHeight - 8))}px`;
  }

  function boxOf(box, at) {
    const kinds = ["box", box.critical && "critical", box.heat > HOT && "hot", box.again && "again"];
    const made = drawing("g", {
      class: kinds.filter(Boolean).join(" "), tabindex: -1, role: "button",
      "aria-label": `${box.label}, ${box.note ?? `${box.us.toFixed(2)} microseconds`}`,
      transform: `translate(${at.x - WIDTH / 2},${at.y - HEIGHT / 2})`,
      style: `--heat: ${(100 * box.heat).toFixed(0)}%`,
    });
    made.append(
      drawing("rect", { width: WIDTH, height: HEIGHT, rx: 5 }),
      drawing("text", { x: WIDTH / 2, y: 18 }, box.label),
      drawing("text", { x: WIDTH / 2, y: 34, class: "time" }, box.note ?? `${box.us.toFixed(2)} µs`),
    );
    made.addEventListener("pointerenter", () => describe(box, made));
    made.addEventListener("pointerleave", () => { tip.hidden = true; });
    made.addEventListener("focus", () => describe(box, made));
    made.addEventListener("blur", () => { tip.hidden = true; });
    const follow = () => {
      tip.hidden = true;
      if (box.again) unfold(); else if (box.call !== undefined) showCall(box.call, box.position);
    };
    made.addEventListener("click", follow);
    made.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
      if (event.key in steps) boxes[boxes.findIndex((each) => each.made === made) + steps[event.key]]?.made.focus();
      else if (event.key === "Enter" || event.key === " ") follow();
      else return;
      event.preventDefault();
    });
    return made;
  }

  function draw() {
    const { layout, boxes: shown, lines } = laidOut(graph, fold);
    const { width: inner, height } = layout.graph();
    const width = inner + (graph.beside ? BESIDE : 0);
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}` });
    svg.append(drawing("defs", {}, arrowHead(`${id}-head`, ""), arrowHead(`${id}-skip`, "of-skip")));
    for (const { path, skip } of lines) {
      svg.append(drawing("path", { d: path, class: skip ? "skip-arrow" : "",
        "marker-end": `url(#${id}-${skip ? "skip" : "head"})` }));
    }
    boxes = [...shown].map(([number, box]) => ({ box, made: boxOf(box, layout.node(String(number))) }));
    svg.append(...boxes.map(({ made }) => made));
    // The other boxes are reached by the keys with arrows.
    boxes[0]?.made.setAttribute("tabindex", 0);
    drawn.replaceChildren(svg);
    svg.dataset.width = width;
    const room = drawn.clientWidth - 4;
    scale = Math.min(1, Math.max(room / width, LEAST_SCALE));
    resize(1);
    const first = layout.node(String([...shown.keys()][0] ?? 0));
    if (first) drawn.scrollLeft = first.x * scale - drawn.clientWidth / 2;
    blocks.hidden = graph.blocks.length === 0;
    blocks.textContent = fold ? "Show all repeated blocks" : "Draw repeated blocks once";
    find();
  }

  function resize(factor) {
    scale *= factor;
    const svg = drawn.querySelector("svg");
    svg.setAttribute("width", svg.dataset.width * scale);
  }

  function unfold() {
    fold = !fold;
    draw();
  }

  function hit(box) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return words.length > 0 && words.every((word) => box.names.toLowerCase().includes(word));
  }

  function find() {
    const found = boxes.filter(({ box, made }) => {
      const is = !box.again && hit(box);
      made.classList.toggle("hit", is);
      return is;
    });
    const all = graph.boxes.filter(hit).length;
    const hidden = all - found.length;
    hits.textContent = search.value.trim()
      ? `${all} found${hidden ? `, ${hidden} in repeated blocks` : ""}` : "";
    return found;
  }

  search.addEventListener("input", () => {
    // What is hit may not be drawn.
    if (find().length === 0 && fold && graph.boxes.some(hit)) unfold();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const found = find();
    const now = found.findIndex(({ made }) => made === place.current);
    const next = found[(now + 1) % found.length];
    if (!next) return;
    place.current = next.made;
    next.made.scrollIntoView({ block: "center", inline: "center" });
  });
  for (const button of place.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => resize(Number(button.dataset.zoom)));
  }
  blocks.addEventListener("click", unfold);
  every.addEventListener("click", async () => {
    const all = graph === ofCalls;
    graph = all ? await graphOfAll() : ofCalls;
    every.textContent = all ? "Show calls" : "Show every node";
    every.setAttribute("aria-pressed", String(all));
    fold = graph.blocks.length > 0;
    draw();
  });
  draw();
}
