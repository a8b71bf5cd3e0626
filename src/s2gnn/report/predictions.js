(() => {
  const source = document.getElementById("predictions-data");
  if (!source) return;
  const { file, names, kinds, label, hidden, rows, why } = JSON.parse(source.textContent);
  const part = (name) => document.getElementById(`predictions-${name}`);
  const [table, search, filter, place] = ["table", "search", "filter", "place"].map(part);
  const PER_PAGE = 25;
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const texts = rows.map((row) => row.filter((_, n) => kinds[n] === "text").join("\n").toLowerCase());
  const wrong = (row) => row[hidden] !== null && row[hidden] !== row[label];
  const filters = { "all rows": () => true };
  if (label !== null) {
    filters["unlabelled rows"] = (row) => row[label] === null;
    filters["labelled rows"] = (row) => row[label] !== null;
    if (hidden !== null && kinds[label] === "text") filters["wrong while hidden"] = wrong;
  }
  const rowColumn = names.indexOf("row", kinds[0] === "text" ? 1 : 0);
  const explains = Object.keys(why).length > 0;
  let sorted = { column: null, down: false };
  let first = 0;
  let shown = [];

  const element = (name, text, properties = {}) =>
    Object.assign(document.createElement(name), { textContent: text }, properties);
  const written = (value, kind) => {
    if (value === null) return "";
    if (kind === "share") return `${(100 * value).toFixed(1)}\u00a0%`;
    return kind === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : collator.compare(a, b));

  const opener = (line, reasons) => {
    const cell = element("td", "");
    if (!reasons) return cell;
    const button = element("button", "why", { type: "button", ariaExpanded: "false" });
    let opened = null;
    button.addEventListener("click", () => {
      if (opened) {
        opened.remove();
        opened = null;
      } else {
        opened = document.createElement("tr");
        const content = element("td", "", { colSpan: names.length + 1, className: "opened" });
        for (const [heading, items] of reasons) {
          const list = document.createElement("ul");
          list.append(...items.map((item) => element("li", item)));
          const block = document.createElement("div");
          block.append(element("b", heading), list);
          content.append(block);
        }
        opened.append(content);
        line.after(opened);
      }
      button.ariaExpanded = String(opened !== null);
    });
    cell.append(button);
    return cell;
  };

  const draw = () => {
    table.tHead.replaceChildren(document.createElement("tr"));
    names.forEach((name, n) => {
      const direction = sorted.column === n ? (sorted.down ? "descending" : "ascending") : "none";
      const head = element("th", "", { scope: "col", className: `of-${kinds[n]}` });
      head.setAttribute("aria-sort", direction);
      const arrow = { none: "", ascending: " ↑", descending: " ↓" }[direction];
      const button = element("button", name + arrow, { type: "button" });
      button.addEventListener("click", () => {
        sorted = { column: n, down: sorted.column === n && !sorted.down };
        update();
        table.tHead.rows[0].cells[n].firstChild.focus();
      });
      head.append(button);
      table.tHead.rows[0].append(head);
    });
    if (explains) table.tHead.rows[0].append(element("td", ""));
    table.tBodies[0].replaceChildren(
      ...shown.slice(first, first + PER_PAGE).map((row) => {
        const line = document.createElement("tr");
        line.append(...row.map((value, n) => element("td", written(value, kinds[n]), { className: `of-${kinds[n]}` })));
        if (explains) line.append(opener(line, why[row[rowColumn]]));
        return line;
      }),
    );
    const count = (number) => number.toLocaleString("en");
    const last = Math.min(first + PER_PAGE, shown.length);
    place.textContent = shown.length ? `${count(first + 1)} to ${count(last)} of ${count(shown.length)}` : "no row found";
    part("back").disabled = first === 0;
    part("next").disabled = last >= shown.length;
  };

  const update = () => {
    const words = search.value.toLowerCase().trim();
    const number = Number(words.replace(/^row\s+/, ""));
    const fits = filters[filter.value];
    shown = rows.filter(
      (row, n) => fits(row) && (!words || texts[n].includes(words) || row[rowColumn] === number),
    );
    if (sorted.column !== null) {
      const sign = sorted.down ? -1 : 1;
      const at = sorted.column;
      const missing = (row) => row[at] === null || row[at] === "";
      shown.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : sign * compare(a[at], b[at])));
    }
    first = 0;
    draw();
  };

  const quoted = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  part("download").addEventListener("click", () => {
    const lines = [names, ...shown].map((row) => row.map(quoted).join(","));
    const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    element("a", "", { href: url, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  part("back").addEventListener("click", () => { first -= PER_PAGE; draw(); });
  part("next").addEventListener("click", () => { first += PER_PAGE; draw(); });
  search.addEventListener("input", update);
  filter.append(...Object.keys(filters).map((name) => element("option", name)));
  filter.addEventListener("change", update);
  update();
})();
