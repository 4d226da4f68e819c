// A table whose rows are sorted, searched, opened, and saved as CSV.
const UNKNOWN = "–";

function cellText(value, column) {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  if (column.digits === null) return value;
  const text = value.toLocaleString("en", {
    minimumFractionDigits: column.digits, maximumFractionDigits: column.digits,
  });
  return /[1-9]/.test(text) ? text : text.replace("-", "");
}

function csv(table) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [table.columns.map((column) => column.title), ...table.rows];
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

// What a table on the page holds: numbers without their units, and text as it is shown.
function saveShown(table) {
  const line = (row) => [...row.cells].filter((cell) => cell.dataset.csv !== "no")
    .map((cell) => cell.dataset.value ?? cell.textContent.trim());
  const [head, ...rows] = [...table.rows].map(line);
  const columns = head.map((title) => ({ title }));
  save(fileName(`${table.dataset.csv}.csv`), "text/csv", csv({ columns, rows }));
}

for (const table of document.querySelectorAll("table[data-csv]")) {
  const button = element("button", { type: "button" }, "Save CSV");
  button.addEventListener("click", () => saveShown(table));
  (table.closest(".wide") ?? table).after(element("div", { class: "buttons" }, button));
}

function details(row, columns, left = () => true) {
  const list = element("dl");
  columns.forEach((column, place) => {
    if (!left(column)) return;
    list.append(element("dt", {}, column.title), element("dd", {}, cellText(row[place], column)));
  });
  return list;
}

// `more` draws what is behind the cells of an opened row.
function drawTable(place, table, title, more = () => {}) {
  const { columns } = table;
  const sight = columns.map((column, at) => ({ ...column, at }))
    .filter((column) => column.seen !== "opened");
  const opens = sight.length < columns.length;
  const looks = (column) =>
    [column.digits !== null && "number", column.seen === "wide" && "narrow-out"]
      .filter(Boolean).join(" ");
  let by = table.by === null ? null : { at: table.by, down: true };

  const heads = sight.map((column) => {
    const button = element("button", { type: "button" }, column.title);
    const head = element("th", { scope: "col", class: looks(column) }, button);
    button.addEventListener("click", () => {
      by = { at: column.at, down: !(by?.at === column.at && by.down) };
      fill();
    });
    return head;
  });
  const body = element("tbody");
  const search = element("input", { type: "search", placeholder: "any text" });
  const count = element("span", { role: "status" });
  const button = element("button", { type: "button" }, "Save CSV");
  button.addEventListener("click", () =>
    save(fileName(title, `${table.name}.csv`), "text/csv", csv(table)));
  const tools = element("div", { class: "tools" }, element("label", {}, "Search ", search), count, button);
  const drawn = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  place.replaceChildren(tools, element("div", { class: "wide" }, drawn));
  search.addEventListener("input", fill);

  const rows = table.rows.map((row) => {
    const cells = sight.map((column, nth) => {
      const text = cellText(row[column.at], column);
      const cell = element("td", { class: looks(column) });
      if (nth === 0 && opens) {
        cell.append(element("button", { type: "button", class: "open", "aria-expanded": "false",
          "aria-label": `more of call ${text}` }, `${text} ▸`));
      } else {
        // Names of operators may break behind each one.
        cell.append(String(text).replaceAll("+", "+\u200b"));
      }
      return cell;
    });
    const line = element("tr", { class: opens ? "row" : "" }, ...cells);
    const made = { row, line, more: null, text: row.join(" ").toLowerCase() };
    if (opens) line.addEventListener("click", () => toggle(made));
    return made;
  });

  function toggle(made, wanted = !made.more) {
    if (wanted === Boolean(made.more)) return;
    made.line.querySelector(".open").setAttribute("aria-expanded", String(wanted));
    if (made.more) {
      made.more.remove();
      made.more = null;
      return;
    }
    const narrow = matchMedia("(max-width: 600px)").matches;
    const left = (column) => column.seen === "opened" || (narrow && column.seen === "wide");
    const cell = element("td", { colspan: String(sight.length) }, details(made.row, columns, left));
    made.more = element("tr", { class: "more" }, cell);
    made.line.after(made.more);
    more(made.row, cell);
  }

  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((made) => words.every((word) => made.text.includes(word)));
    if (by) {
      const least = by.down ? -Infinity : Infinity;
      const value = (made) => made.row[by.at] ?? least;
      found.sort((one, other) => {
        const [a, b] = [value(one), value(other)];
        const order = typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : a - b;
        return by.down ? -order : order;
      });
    }
    heads.forEach((head, nth) => {
      if (by?.at === sight[nth].at) head.setAttribute("aria-sort", by.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...found.flatMap((made) => (made.more ? [made.line, made.more] : [made.line])));
    count.textContent = words.length ? `${found.length} of ${rows.length}` : "";
  }

  fill();
  return {
    show(number) {
      search.value = "";
      fill();
      const made = rows[number];
      body.querySelectorAll(".found").forEach((line) => line.classList.remove("found"));
      made.line.classList.add("found");
      toggle(made, false);
      toggle(made, true);
      made.line.scrollIntoView({ block: "center" });
      made.line.querySelector(".open").focus({ preventScroll: true });
    },
  };
}
