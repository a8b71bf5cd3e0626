"use strict";
const element = (id) => document.getElementById(id);
const made = (tag, text, kind) => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`;
const named = (row) => (row.id === null || row.id === "" ? `Row ${row.number + 1}` : `${row.id} (row ${row.number + 1})`);
const COMMANDS = { s: "skip", u: "undo", n: "new" };
let state = null;
let busy = false;

// Each class has a digit (the first nine) and its first letter, unless another class or a command has that letter.
const keysOf = (classes) => {
  const letters = classes.map((name) => name.slice(0, 1).toLowerCase());
  return classes.map((_, place) => {
    const letter = letters[place];
    const single = letters.filter((other) => other === letter).length === 1;
    const keys = place < 9 ? [String(place + 1)] : [];
    return single && /\p{L}/u.test(letter) && !(letter in COMMANDS) ? [...keys, letter] : keys;
  });
};

const fill = (parent, nodes) => parent.replaceChildren(...nodes);

const showRow = (row) => {
  const over = row === null;
  element("name").textContent = over ? "No row is left to label" : named(row);
  for (const id of ["choices", "columns", "prediction"]) element(id).hidden = over;
  for (const id of ["skip", "new"]) element(id).disabled = over;
  element("picture").hidden = over || !row.image;
  element("text").hidden = over || row.text === null;
  element("neighbours").hidden = over || row.neighbours.length === 0;
  if (over) return;
  const picture = element("picture").firstElementChild;
  if (row.image && picture.dataset.row !== String(row.number)) {
    picture.dataset.row = row.number;
    picture.src = `image/${row.number}`;
    picture.alt = `Image of ${named(row)}`;
  }
  element("text").textContent = row.text ?? "";
  const keys = keysOf(state.classes);
  const likely = Object.fromEntries((row.prediction ?? []).map((one) => [one.class, one.probability]));
  fill(element("choices"), state.classes.map((name, place) => {
    const button = made("button", "", row.prediction?.[0].class === name ? "likely" : "");
    button.type = "button";
    button.append(...keys[place].map((key) => made("kbd", key)), name);
    if (name in likely) button.append(made("small", percent(likely[name])));
    button.addEventListener("click", () => send("answer", { row: row.number, class: name }));
    return button;
  }));
  element("prediction").textContent = row.prediction === null
    ? state.classes.length ? "No prediction yet." : "Press n to name the first class."
    : `Predicted: ${row.prediction[0].class}, probability ${percent(row.prediction[0].probability)}.`;
  fill(element("neighbours").querySelector("ul"), row.neighbours.map((other) => {
    const item = made("li", "");
    if (other.image) {
      const image = made("img", "");
      image.src = `image/${other.number}`;
      image.alt = "";
      item.append(image);
    }
    item.append(made("b", other.class), ` ${named(other)}`);
    return item;
  }));
  fill(element("columns").tBodies[0], row.columns.map(([name, value]) => {
    const line = document.createElement("tr");
    const heading = made("th", name);
    heading.scope = "row";
    line.append(heading, made("td", value));
    return line;
  }));
};

const showPanel = (panel) => {
  const facts = [["labelled", `${panel.labelled.toLocaleString("en")} of ${panel.rows.toLocaleString("en")}`]];
  if (panel.skipped) facts.push(["skipped", panel.skipped]);
  if (panel.accuracy) {
    const { value, half_width: half, rows } = panel.accuracy;
    facts.push(["accuracy", `${(100 * value).toFixed(0)} ± ${(100 * half).toFixed(0)} %`, `on ${rows} hidden labels`]);
  }
  if (panel.uncertain !== null) facts.push(["uncertain rows", panel.uncertain.toLocaleString("en"), "probability below 80 %"]);
  fill(element("panel"), facts.flatMap(([name, value, note]) => {
    const definition = made("dd", value);
    if (note) definition.append(made("small", note));
    return [made("dt", name), definition];
  }));
  element("bar").firstElementChild.style.width = `${(100 * panel.labelled) / panel.rows}%`;
  fill(element("counts").tBodies[0], Object.entries(panel.counts).map(([name, count]) => {
    const line = document.createElement("tr");
    line.append(made("td", name), made("td", count));
    return line;
  }));
  element("counts").hidden = Object.keys(panel.counts).length === 0;
  element("advice").textContent = panel.advice;
  element("file").textContent = `Every answer is saved in ${panel.file}.`;
};

const show = (next) => {
  state = next;
  const trouble = next.error ?? next.problem;
  element("problem").textContent = trouble ?? "";
  element("problem").hidden = !trouble;
  element("status").textContent = next.training ? "Training on the new labels …" : "Ready.";
  element("undo").disabled = !next.can_undo;
  showRow(next.row);
  showPanel(next.panel);
};

const request = async (path, body) => {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options ?? {});
  if (!(answer.headers.get("Content-Type") ?? "").startsWith("application/json")) throw new Error(await answer.text());
  return answer.json();
};

const send = async (path, body) => {
  if (busy) return;
  busy = true;
  try {
    show(await request(path, body));
  } catch (error) {
    element("problem").textContent = `Not saved: s2gnn label does not answer (${error.message}). Start it again.`;
    element("problem").hidden = false;
  } finally {
    busy = false;
  }
};

const adding = (open) => {
  element("adding").hidden = !open;
  element("new-class").value = "";
  if (open) element("new-class").focus();
};

element("skip").addEventListener("click", () => state?.row && send("skip", { row: state.row.number }));
element("undo").addEventListener("click", () => send("undo", {}));
element("new").addEventListener("click", () => adding(true));
element("cancel").addEventListener("click", () => adding(false));
element("adding").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = element("new-class").value;
  adding(false);
  send("class", { class: name });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") adding(false);
  if (event.target.id === "new-class" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !state) return;
  const key = event.key.toLowerCase();
  if (key in COMMANDS) {
    event.preventDefault();
    element(COMMANDS[key]).click();
    return;
  }
  const place = keysOf(state.classes).findIndex((keys) => keys.includes(key));
  if (place >= 0 && state.row) send("answer", { row: state.row.number, class: state.classes[place] });
});
// The panel follows the training; the row that is being looked at stays.
setInterval(async () => {
  if (busy || !state?.training) return;
  try {
    const next = await request(state.row ? `state/${state.row.number}` : "state");
    if (busy) return;
    show({ ...next, error: state.error });
  } catch {
    element("status").textContent = "s2gnn label does not answer. Labels so far are saved.";
  }
}, 700);
request("state").then(show);
