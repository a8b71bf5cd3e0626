"use strict";
(() => {
  const graph = document.querySelector("svg.graph");
  const shown = document.getElementById("row-shown");
  if (!graph || !shown) return;
  const points = [...graph.querySelectorAll("use")];
  const halo = document.createElementNS(graph.namespaceURI, "circle");
  halo.setAttribute("class", "halo");
  halo.setAttribute("r", "0");
  graph.append(halo);

  for (const point of points) {
    const title = point.querySelector("title");
    point.lines = title.textContent.split("\n");
    title.remove(); // the text is shown below the graph at once, not again as a tooltip
    point.setAttribute("aria-label", point.lines.join(", "));
    point.setAttribute("tabindex", "-1");
    point.at = { x: point.x.baseVal.value, y: point.y.baseVal.value };
  }

  const show = (point) => {
    halo.setAttribute("cx", point.at.x);
    halo.setAttribute("cy", point.at.y);
    halo.setAttribute("r", "9");
    const [head, ...rest] = point.lines;
    const list = document.createElement("ul");
    for (const line of rest) list.append(Object.assign(document.createElement("li"), { textContent: line }));
    shown.replaceChildren(Object.assign(document.createElement("b"), { textContent: head }), list);
  };

  const enter = (point) => {
    for (const other of points) if (other.tabIndex === 0) other.tabIndex = -1;
    point.tabIndex = 0;
    point.focus({ preventScroll: true });
    show(point);
  };

  const nearest = (x, y, within, fits = () => true) => {
    let best = null;
    let least = within * within;
    for (const point of points) {
      const dx = point.at.x - x;
      const dy = point.at.y - y;
      const distance = dx * dx + dy * dy;
      if (distance < least && fits(dx, dy)) {
        best = point;
        least = distance;
      }
    }
    return best;
  };

  const under = (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(graph.getScreenCTM().inverse());
    return nearest(place.x, place.y, 24);
  };

  graph.addEventListener("pointermove", (event) => {
    const point = under(event);
    if (point) show(point);
  });
  graph.addEventListener("click", (event) => {
    const point = under(event);
    if (point) enter(point);
  });
  graph.addEventListener("focusin", (event) => {
    if (event.target.lines) show(event.target);
  });
  const ahead = {
    ArrowLeft: (dx, dy) => -dx > Math.abs(dy),
    ArrowRight: (dx, dy) => dx > Math.abs(dy),
    ArrowUp: (dx, dy) => -dy > Math.abs(dx),
    ArrowDown: (dx, dy) => dy > Math.abs(dx),
  };
  graph.addEventListener("keydown", (event) => {
    const from = event.target;
    if (!from.at) return;
    let next = null;
    if (ahead[event.key]) next = nearest(from.at.x, from.at.y, Infinity, ahead[event.key]);
    else if (event.key === "Home") next = points[0];
    else if (event.key === "End") next = points[points.length - 1];
    else return;
    event.preventDefault();
    if (next) enter(next);
  });
  if (points.length) points[0].tabIndex = 0;

  const follow = () => {
    const point = points.find((one) => `#${one.id}` === location.hash);
    if (point) {
      enter(point);
      graph.scrollIntoView({ block: "center" });
    }
  };
  addEventListener("hashchange", follow);
  follow();
})();
