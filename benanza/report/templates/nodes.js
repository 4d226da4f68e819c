// The nodes of a call as a graph of their own, and what each of them is.
const NODE_WIDTH = 150;
const NODE_NAME = 22;

const models = {};
function nodesOf(name) {
  models[name] ??= unpacked(name).then(JSON.parse);
  return models[name];
}

// Of a long name, the end tells more.
function ending(name) {
  return name.length > NODE_NAME ? `…${name.slice(1 - NODE_NAME)}` : name;
}

// The model as a graph of nodes, each as hot as its call in the graph of calls.
async function graphOfNodes(name, graph, calls) {
  const { nodes, arrows, skips, beside, blocks } = await nodesOf(name);
  const boxes = nodes.map(([op, node], position) => {
    const { call, us = 0, heat = 0, critical = false } = graph.boxes[calls.get(position)] ?? {};
    return { call, us, heat, critical, position, label: op, note: ending(node), names: `${op} ${node}` };
  });
  return { boxes, arrows, skips, beside, blocks };
}

// `calls` has the number of each position's call; `chosen` is the position of the node that a reader
// asked for, if it is one.
async function drawNodes(place, model, positions, calls, showCall, chosen) {
  const { nodes, forms, arrows, skips } = await nodesOf(model);
  const edges = [...arrows, ...skips].sort(([one, to], [other, last]) => one - other || to - last);
  const within = new Set(positions);
  const about = element("div", { class: "about", role: "status" });

  function others(ends) {
    const parts = ends.flatMap((position, nth) => {
      const [op, name] = nodes[position];
      const call = calls.get(position);
      if (call === undefined || within.has(position)) return [nth ? ", " : "", `${op} ${name}`];
      const button = element("button", { type: "button" }, `${op} ${name}`);
      button.addEventListener("click", () => showCall(call, position));
      return [nth ? " " : "", button];
    });
    return parts.length ? parts : [UNKNOWN];
  }

  function describe(position) {
    const [op, name, form] = nodes[position];
    const [attributes, reads, constants, gives] = form === null ? [] : forms[form];
    const rows = { operator: [op], name: [name || UNKNOWN], attributes: [attributes || UNKNOWN],
      reads: [reads || UNKNOWN],
      "from": others(edges.filter(([, to]) => to === position).map(([from]) => from)),
      "weights and other constants": [constants || UNKNOWN], gives: [gives || UNKNOWN],
      "to": others(edges.filter(([from]) => from === position).map(([, to]) => to)) };
    about.replaceChildren(element("dl", {}, ...Object.entries(rows).flatMap(([title, parts]) =>
      [element("dt", {}, title), element("dd", {}, ...parts)])));
    for (const [at, box] of boxes) box.classList.toggle("chosen", at === position);
  }

  const boxes = new Map();
  if (positions.length > 1) {
    await library("dagre");
    place.append(element("h4", {}, `Its ${positions.length} nodes; a click says what one is`),
      element("div", { class: "drawn" }, nodeGraph()));
  } else {
    place.append(element("h4", {}, "Its node"));
  }
  place.append(about);
  describe(chosen ?? positions[0]);
  if (chosen !== undefined) place.scrollIntoView({ block: "center" });

  function nodeGraph() {
    const layout = new dagre.graphlib.Graph();
    layout.setGraph({ rankdir: "TB", ranksep: 20, nodesep: 14, marginx: 4, marginy: 4 });
    for (const position of positions) layout.setNode(String(position), { width: NODE_WIDTH, height: HEIGHT });
    for (const ends of edges) if (ends.every((end) => within.has(end))) layout.setEdge(...ends.map(String), {});
    dagre.layout(layout);
    const { width, height } = layout.graph();
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width });
    const id = `nodes-${drawnGraphs += 1}`;
    svg.append(drawing("defs", {}, arrowHead(id, "")));
    for (const edge of layout.edges()) {
      svg.append(drawing("path", { d: curve(layout.edge(edge).points), "marker-end": `url(#${id})` }));
    }
    for (const position of positions) {
      const box = nodeBox(position, layout.node(String(position)));
      boxes.set(position, box);
      svg.append(box);
    }
    return svg;
  }

  function nodeBox(position, at) {
    const [op, name] = nodes[position];
    const box = drawing("g", { class: "box node", tabindex: 0, role: "button", "aria-label": `${op} ${name}`,
      transform: `translate(${at.x - NODE_WIDTH / 2},${at.y - HEIGHT / 2})` },
      drawing("rect", { width: NODE_WIDTH, height: HEIGHT, rx: 5 }),
      drawing("text", { x: NODE_WIDTH / 2, y: 18 }, ending(op)),
      drawing("text", { x: NODE_WIDTH / 2, y: 34, class: "time" }, ending(name)));
    box.addEventListener("click", () => describe(position));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      describe(position);
    });
    return box;
  }
}
