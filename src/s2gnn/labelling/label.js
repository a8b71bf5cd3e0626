"use strict";
const element = (id) => document.getElementById(id);
const made = (tag, text, kind) => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
// A name or value of the table, whose direction of writing stays its own.
const isolated = (text, tag = "bdi") => {
  const node = made(tag, text);
  node.dir = "auto";
  return node;
};
// The same in at most three lines; pointing at it shows the rest.
const short = (text, tag = "bdi") => {
  const node = isolated(text, tag);
  node.className = "short";
  node.title = text;
  return node;
};
const fill = (parent, nodes) => parent.replaceChildren(...nodes);
const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`;
const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
const named = (row) => row.id || `row ${row.number + 1}`;
const COMMANDS = { s: "skip", u: "undo", n: "new" };
const ACTIVITIES = { suggestions: "Training on the new labels …", accuracy: "Estimating the accuracy …" };
let state = null;
let busy = false;
let drawn = "";

// Each class has a digit, which is its name or else its place, and its first letter, unless another class or a command
// has that letter.
const keysOf = (classes) => {
  const letters = classes.map((name) => name.slice(0, 1).toLowerCase());
  const digits = classes.some((name) => /^\d$/.test(name));
  return classes.map((name, place) => {
    const letter = letters[place];
    const single = letters.filter((other) => other === letter).length === 1;
    const keys = digits ? (/^\d$/.test(name) ? [name] : []) : place < 10 ? [String((place + 1) % 10)] : [];
    return single && /\p{L}/u.test(letter) && !(letter in COMMANDS) ? [...keys, letter] : keys;
  });
};

const showPicture = (row) => {
  const [picture, caption] = element("picture").children;
  element("picture").hidden = !row?.image;
  if (!row?.image || picture.dataset.row === String(row.number)) return;
  picture.dataset.row = row.number;
  picture.alt = `Image of ${named(row)}`;
  picture.hidden = caption.hidden = true;
  picture.onload = () => { picture.hidden = false; };
  picture.onerror = async () => {
    const reason = await (await fetch(`image/${row.number}`)).text();
    caption.textContent = `No image: ${reason}`;
    caption.hidden = false;
  };
  picture.src = `image/${row.number}`;
};

const showChoices = (row) => {
  const keys = keysOf(state.classes);
  const likely = new Map((row.prediction ?? []).map((one) => [one.class, one.probability]));
  const focused = element("choices").contains(document.activeElement) ? document.activeElement.dataset.class : null;
  fill(element("choices"), state.classes.map((name, place) => {
    const button = made("button", "", row.prediction?.[0].class === name ? "likely" : "");
    button.type = "button";
    button.dataset.class = name;
    button.append(...keys[place].map((key) => made("kbd", key)), short(name));
    if (likely.has(name)) {
      button.append(made("small", percent(likely.get(name))));
      button.style.setProperty("--share", likely.get(name));
    }
    button.addEventListener("click", () => answer(name));
    return button;
  }));
  if (focused !== null) [...element("choices").children].find((one) => one.dataset.class === focused)?.focus();
  const best = row.prediction?.[0];
  if (best) fill(element("prediction"), ["Predicted: ", short(best.class, "b"), `, probability ${percent(best.probability)}`]);
  else element("prediction").textContent = state.classes.length ? "No prediction yet" : "Press n to name the first class";
  element("new").className = state.classes.length ? "" : "likely";
};

const showColumns = (row) => {
  const heading = document.createElement("tr");
  const corner = made("th", "column");
  const headings = [corner, made("th", "this row"), ...row.neighbours.map((other) => {
    const cell = made("th", "");
    if (other.image) {
      const image = made("img", "");
      image.src = `image/${other.number}`;
      image.alt = "";
      cell.append(image);
    }
    cell.append(short(other.class, "b"), short(named(other), "small"));
    return cell;
  })];
  for (const cell of headings) cell.scope = "col";
  heading.append(...headings);
  fill(element("columns").tHead, [heading]);
  fill(element("columns").tBodies[0], row.columns.map(([name, ...values]) => {
    const line = document.createElement("tr");
    const first = made("th", "");
    first.scope = "row";
    first.append(short(name));
    line.append(first, ...values.map((value) => isolated(value, "td")));
    return line;
  }));
  element("comparison").firstElementChild.textContent =
    row.neighbours.length ? "Columns, with the nearest labelled rows" : "Columns";
  element("comparison").hidden = row.columns.length === 0 && row.neighbours.length === 0;
};

const showRow = (row) => {
  const now = JSON.stringify([row, state.classes]);
  if (now === drawn) return; // nothing that is being read or pointed at is replaced
  drawn = now;
  const over = row === null;
  for (const id of ["choices", "prediction", "comparison", "skip", "new"]) element(id).hidden = over;
  element("done").hidden = !over;
  element("text").hidden = over || row.text === null;
  showPicture(row);
  if (over) return;
  element("number").textContent = row.id ? `Row ${row.number + 1}` : "";
  element("name").textContent = row.id || `Row ${row.number + 1}`;
  element("text").textContent = row.text ?? "";
  showChoices(row);
  showColumns(row);
};

const showDone = (panel) => {
  element("number").textContent = "";
  element("name").textContent = panel.skipped ? "Only skipped rows are left" : "Every row is labelled";
  element("left").textContent = panel.skipped
    ? `${counted(panel.skipped, "row")} skipped. ${counted(panel.labelled, "label")} saved in ${panel.file}.`
    : `${counted(panel.labelled, "label")} saved in ${panel.file}.`;
  element("done").querySelector("pre").textContent = panel.command;
};

const showPanel = (panel) => {
  const most = Math.max(1, ...Object.values(panel.counts));
  fill(element("labelled"), [made("b", panel.labelled.toLocaleString("en")), ` of ${counted(panel.rows, "row")} labelled`]);
  element("bar").firstElementChild.style.width = `${(100 * panel.labelled) / panel.rows}%`;
  fill(element("counts").tBodies[0], state.classes.map((name) => {
    const line = document.createElement("tr");
    line.style.setProperty("--share", panel.counts[name] / most);
    const first = made("td", "");
    first.append(short(name));
    line.append(first, made("td", panel.counts[name].toLocaleString("en")));
    return line;
  }));
  element("counts").hidden = state.classes.length === 0;
  element("skipped").hidden = panel.skipped === 0;
  element("skipped").firstElementChild.textContent = `${counted(panel.skipped, "row")} skipped.`;
  const accuracy = panel.accuracy;
  element("accuracy").hidden = accuracy === null;
  if (accuracy !== null) {
    const [, text, track] = element("accuracy").children;
    text.firstElementChild.textContent = percent(accuracy.value);
    text.lastElementChild.textContent =
      `${Math.round(100 * accuracy.low)} to ${Math.round(100 * accuracy.high)} % (95 % interval), on ${counted(accuracy.rows, "hidden label")}`;
    track.firstElementChild.style.cssText = `left: ${100 * accuracy.low}%; right: ${100 * (1 - accuracy.high)}%`;
    track.lastElementChild.style.left = `${100 * accuracy.value}%`;
  }
  element("uncertain").hidden = panel.uncertain === null;
  element("uncertain").querySelector("b").textContent = panel.uncertain?.toLocaleString("en") ?? "";
  element("advice").textContent = panel.advice;
  element("advice").className = panel.stop ? "stop" : "";
  element("file").textContent = `Every answer is saved in ${panel.file}.`;
};

const show = (next) => {
  state = next;
  const trouble = next.error ?? next.problem;
  element("problem").textContent = trouble ?? "";
  element("problem").hidden = !trouble;
  element("status").textContent = ACTIVITIES[next.training] ?? "Up to date";
  element("status").className = next.training ? "working" : "";
  element("undo").disabled = !next.can_undo;
  showRow(next.row);
  if (next.row === null) showDone(next.panel);
  showPanel(next.panel);
};

const request = async (path, body) => {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, options ?? {});
  if (!(response.headers.get("Content-Type") ?? "").startsWith("application/json")) throw new Error(await response.text());
  return response.json();
};

// Send an action, then say what was done: `done` is text with names of the table in it.
const send = async (path, body, done = "") => {
  if (busy) return;
  busy = true;
  try {
    const next = await request(path, body);
    show(next);
    element("saved").textContent = next.error ? "" : done;
  } catch (error) {
    element("problem").textContent = `Not saved: s2gnn label does not answer (${error.message}). Start it again.`;
    element("problem").hidden = false;
  } finally {
    busy = false;
  }
};
const answer = (name) => {
  if (state?.row) send("answer", { row: state.row.number, class: name }, `Saved: ${named(state.row)} is ${name}`);
};

const adding = (open) => {
  element("adding").hidden = !open;
  element("new-class").value = "";
  if (open) element("new-class").focus();
};

element("skip").addEventListener("click", () => {
  if (state?.row) send("skip", { row: state.row.number }, `Skipped ${named(state.row)}`);
});
element("undo").addEventListener("click", () => send("undo", {}, "Undone"));
element("new").addEventListener("click", () => adding(true));
element("cancel").addEventListener("click", () => adding(false));
element("skipped").lastElementChild.addEventListener("click", () => send("show-skipped", {}));
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
  if (place >= 0) answer(state.classes[place]);
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
