// Draws every chart of the page from the numbers beside it. Text is only ever set as text, never parsed as markup.

const COLOURS = 7;
// Pixels: a point this close to the cursor's x is read with it. Few points stand far apart, and are asked for together.
const NEAR = 12;
const NEAR_FEW = 44;

function element(tag, parent, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shape(tag, parent, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

function read(value, percent = false) {
  if (value === null || value === undefined) return "–";
  if (percent) return `${(100 * value).toLocaleString("en-GB", { maximumFractionDigits: 1 })} %`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace("e+", "e");
  return value.toLocaleString("en-GB", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
}

function readTick(value, percent) {
  if (percent) return `${Number((100 * value).toPrecision(6))} %`;
  const size = Math.abs(value);
  if (size >= 1e9 || (size !== 0 && size < 1e-4)) return value.toExponential(0).replace("e+", "e");
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(6))}M`;
  if (size >= 1e3) return `${Number((value / 1e3).toPrecision(6))}k`;
  return String(Number(value.toPrecision(6)));
}

function linearTicks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high, most) {
  const from = Math.floor(Math.log10(low));
  const to = Math.ceil(Math.log10(high));
  const inside = (factors, stride = 1) => {
    const ticks = [];
    for (let power = from; power <= to; power += stride) {
      for (const factor of factors) {
        const tick = Number(`${factor}e${power}`);
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
      }
    }
    return ticks;
  };
  for (const factors of [[1, 2, 5], [1, 3]]) {
    const ticks = inside(factors);
    if (ticks.length <= most && ticks.length > 1) return ticks;
  }
  if (inside([1]).length < 2) return linearTicks(low, high, most);
  for (let stride = 1; ; stride += 1) {
    const ticks = inside([1], stride);
    if (ticks.length <= Math.max(most, 2)) return ticks;
  }
}

function scale(low, high, log, from, to) {
  const bend = log ? Math.log10 : (value) => value;
  const start = bend(low);
  const length = bend(high) - start || 1;
  return (value) => from + ((to - from) * (bend(value) - start)) / length;
}

// The stretch of an axis. A band that reaches down to almost nothing must not flatten everything else.
function domain(values, edges, log, fromZero = true) {
  const usable = (value) => value !== null && value !== undefined && (!log || value > 0);
  const core = values.filter(usable);
  if (!core.length) return log ? [0.1, 1] : [0, 1];
  const least = Math.min(...core);
  const all = core.concat(edges.filter((value) => usable(value) && (!log || value >= least / 3)));
  let low = Math.min(...all);
  let high = Math.max(...all);
  if (log) {
    if (low === high) return [low / 2, high * 2];
    const pad = (high / low) ** 0.03;
    return [low / pad, high * pad];
  }
  if (fromZero && low >= 0 && low < 0.6 * high) low = 0;
  if (low === high) return [low - 1, high + 1];
  const pad = 0.05 * (high - low);
  return [low === 0 ? 0 : low - pad, high + pad];
}

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.log = { x: data.x.log, y: data.y.log };
    this.hidden = new Set();
    this.at = null;
    this.spot = 0;
    const bar = element("div", null, { class: "bar" });
    this.legend = element("div", bar, { class: "legend", role: "group", "aria-label": "Lines shown" });
    this.axes = element("div", bar, { class: "axes", role: "group", "aria-label": "Axes" });
    this.canvas = element("div", null, { class: "canvas" });
    figure.prepend(bar, this.canvas);
    this.entries = data.lines.map((line, place) => this.entry(line, place));
    this.legend.hidden = data.lines.length < 2;
    this.switches = ["x", "y"].map((axis) => this.switch(axis));
    this.readout = element("div", this.canvas, { class: "readout", hidden: "" });
    this.spoken = element("div", this.canvas, { class: "spoken", "aria-live": "polite" });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    // A finger leaves as it is lifted: what it pointed at stays readable until the next touch elsewhere.
    this.canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.leave());
    document.addEventListener("pointerdown", (event) => this.canvas.contains(event.target) || this.leave());
    this.draw();
    this.table();
    // Last: where drawing fails, the still picture stays.
    figure.querySelector(".still").remove();
    new ResizeObserver(() => {
      if (Math.abs(this.canvas.clientWidth - this.width) <= 1) return;
      const at = this.at;
      this.draw();
      if (at !== null) this.show(at);
    }).observe(this.canvas);
  }

  entry(line, place) {
    const kind = `c${place % COLOURS}${this.dashed(line, place) ? " dashed" : ""}`;
    const button = element("button", this.legend, { type: "button", class: kind, "aria-pressed": "true" }, line.label);
    button.addEventListener("click", () => this.toggle(place));
    button.addEventListener("pointerenter", () => this.pick(place));
    button.addEventListener("pointerleave", () => this.pick(null));
    return button;
  }

  // Colours repeat after seven lines: the second round of them is dashed.
  dashed(line, place) {
    return line.dashed !== Math.floor(place / COLOURS) % 2 > 0;
  }

  switch(axis) {
    const button = element("button", this.axes, { type: "button" });
    // Nothing to take a logarithm of: no switch.
    const values = this.data.lines.flatMap((line) => (axis === "x" ? line.xs : line.ys));
    button.hidden = axis === "x" ? values.some((value) => value <= 0) : !values.some((value) => value > 0);
    button.addEventListener("click", () => {
      this.log[axis] = !this.log[axis];
      this.draw();
    });
    return button;
  }

  toggle(place) {
    if (this.hidden.has(place)) this.hidden.delete(place);
    else this.hidden.add(place);
    this.entries[place].setAttribute("aria-pressed", String(!this.hidden.has(place)));
    this.draw();
  }

  pick(place) {
    const groups = [...this.canvas.querySelectorAll("g.series")];
    groups.forEach((group) => group.classList.toggle("picked", Number(group.dataset.place) === place));
    this.canvas.classList.toggle("picking", place !== null && !this.hidden.has(place));
  }

  shown() {
    return this.data.lines.map((line, place) => ({ line, place })).filter(({ place }) => !this.hidden.has(place));
  }

  draw() {
    const { data, canvas, log } = this;
    this.leave();
    canvas.querySelector("svg")?.remove();
    canvas.classList.remove("picking");
    this.switches.forEach((button, i) => {
      const axis = "xy"[i];
      button.textContent = `${axis}: ${log[axis] ? "log" : "linear"}`;
      button.setAttribute("aria-label", `${axis} axis: ${log[axis] ? "logarithmic" : "linear"}; switch`);
    });
    const width = Math.max(canvas.clientWidth || 720, 240);
    const height = Math.round(Math.min(Math.max(0.54 * width, 280), 440));
    this.width = width;
    const lines = this.shown();
    const drawn = lines.length ? lines.map(({ line }) => line) : data.lines;
    const marksAt = (axis) => data.marks.map((mark) => mark[axis]);
    const [left, right] = domain(drawn.flatMap((line) => line.xs), marksAt("x"), log.x);
    const [low, high] = domain(
      drawn.flatMap((line) => line.ys).concat(marksAt("y")),
      drawn.flatMap((line) => [...line.low, ...line.high]),
      log.y,
    );
    const box = { top: 34, bottom: height - 44, right: width - 14 };
    const yTicks = (log.y ? logTicks : linearTicks)(low, high, Math.floor((box.bottom - box.top) / 36));
    const yNames = yTicks.map((tick) => readTick(tick, data.y.percent));
    box.left = 16 + 7 * Math.max(...yNames.map((name) => name.length), 2);
    const xTicks = (log.x ? logTicks : linearTicks)(left, right, Math.floor((box.right - box.left) / 64));
    const x = scale(left, right, log.x, box.left, box.right);
    const y = scale(low, high, log.y, box.bottom, box.top);
    this.x = x;
    this.y = y;
    this.box = box;

    const hint = "Arrow keys read the values; the same numbers stand in the table below.";
    const svg = shape("svg", canvas, {
      viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img", "aria-label": `${data.title}. ${hint}`,
    });
    canvas.prepend(svg);
    this.svg = svg;
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("blur", () => this.leave());
    yTicks.forEach((tick, i) => {
      shape("line", svg, { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) });
      shape("text", svg, { x: box.left - 8, y: y(tick) + 4, "text-anchor": "end" }, yNames[i]);
    });
    xTicks.forEach((tick) => {
      shape("line", svg, { class: "frame", x1: x(tick), x2: x(tick), y1: box.bottom, y2: box.bottom + 5 });
      shape("text", svg, { x: x(tick), y: box.bottom + 19, "text-anchor": "middle" }, readTick(tick, false));
    });
    shape("line", svg, { class: "frame", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
    shape("text", svg, { class: "name", x: 2, y: 14 }, data.y.label);
    shape("text", svg, { class: "name", x: box.right, y: height - 6, "text-anchor": "end" }, data.x.label);

    const clip = `clip-${this.figure.id}`;
    const inside = shape("clipPath", shape("defs", svg), { id: clip });
    shape("rect", inside, {
      x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 7,
    });
    const plot = shape("g", svg, { "clip-path": `url(#${clip})` });
    this.marks(plot, false);
    for (const { line, place } of lines) this.series(plot, line, place);
    this.marks(svg, true);
    this.cross = shape("g", svg);
  }

  // A value that the axis cannot show is a gap in the line, not a drop to the floor.
  visible(line, i) {
    return line.ys[i] !== null && (!this.log.y || line.ys[i] > 0) && (!this.log.x || line.xs[i] > 0);
  }

  series(plot, line, place) {
    const { x, y, box } = this;
    const group = shape("g", plot, { class: `series c${place % COLOURS}`, "data-place": place });
    const edge = (value) => (this.log.y && value <= 0 ? box.bottom : y(value)).toFixed(1);
    const runs = [];
    let run = [];
    line.xs.forEach((_, i) => {
      if (this.visible(line, i)) run.push(i);
      else if (run.length) { runs.push(run); run = []; }
    });
    if (run.length) runs.push(run);
    const hasBand = (i) => line.low.length && line.low[i] !== null && line.high[i] !== null;
    for (const points of runs) {
      const banded = points.filter(hasBand);
      if (banded.length > 1) {
        const over = banded.map((i) => `${x(line.xs[i]).toFixed(1)},${edge(line.high[i])}`);
        const under = banded.map((i) => `${x(line.xs[i]).toFixed(1)},${edge(line.low[i])}`).reverse();
        shape("polygon", group, { class: "band", points: [...over, ...under].join(" ") });
      }
      const path = points.map((i) => `${x(line.xs[i]).toFixed(1)},${y(line.ys[i]).toFixed(1)}`).join(" ");
      const kind = this.dashed(line, place) ? "line dashed" : "line";
      if (points.length > 1) shape("polyline", group, { class: kind, points: path });
      for (const i of points) {
        if (!line.points && points.length > 1) break;
        const cx = x(line.xs[i]);
        if (hasBand(i)) {
          shape("line", group, { class: "whisker", x1: cx, x2: cx, y1: edge(line.low[i]), y2: edge(line.high[i]) });
        }
        shape("circle", group, { class: "point", cx, cy: y(line.ys[i]), r: 4 });
      }
    }
  }

  marks(parent, names) {
    const { x, y, box, log } = this;
    const level = (mark) => mark.y !== null && (!log.y || mark.y > 0);
    const across = this.data.marks.filter(level).sort((a, b) => b.y - a.y);
    let above = -Infinity;
    for (const mark of across) {
      const at = y(mark.y);
      if (!names) {
        const [low, high] = [mark.low ?? mark.y, mark.high ?? mark.y];
        const floor = log.y && low <= 0 ? box.bottom : y(low);
        const [width, height] = [box.right - box.left, Math.max(floor - y(high), 0)];
        shape("rect", parent, { class: "mark-band", x: box.left, y: y(high), width, height });
        shape("line", parent, { class: "mark", x1: box.left, x2: box.right, y1: at, y2: at });
        continue;
      }
      // Under its line where the name above would run into the mark over it.
      const under = at - above < 22;
      above = under ? at + 16 : at;
      const late = this.late(mark);
      const place = { class: "mark-name", x: late ? box.right - 6 : box.left + 6, y: under ? at + 15 : at - 6 };
      shape("text", parent, { ...place, "text-anchor": late ? "end" : "start" }, mark.label);
    }
    for (const mark of this.data.marks.filter((each) => each.x !== null && (!log.x || each.x > 0))) {
      const at = x(mark.x);
      if (!names) {
        shape("line", parent, { class: "mark", x1: at, x2: at, y1: box.top, y2: box.bottom });
        continue;
      }
      const late = at > (box.left + box.right) / 2;
      const place = { class: "mark-name", x: late ? at - 6 : at + 6, y: box.bottom - 8 };
      shape("text", parent, { ...place, "text-anchor": late ? "end" : "start" }, mark.label);
    }
  }

  // A mark is named at the end where the lines are further away from it.
  late(mark) {
    const far = (pick) => {
      const ends = this.shown().map(({ line }) => pick(line.ys.filter((_, i) => this.visible(line, i))));
      const there = ends.filter((value) => value !== undefined);
      const gaps = there.map((value) => Math.abs(this.y(value) - this.y(mark.y)));
      return Math.min(...gaps, Infinity);
    };
    return far((ys) => ys[ys.length - 1]) > far((ys) => ys[0]);
  }

  stops() {
    const lines = this.shown().map(({ line }) => line);
    const xs = lines.flatMap((line) => line.xs.filter((_, i) => this.visible(line, i)));
    return [...new Set(xs)].sort((a, b) => a - b);
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    const pixel = ((event.clientX - frame.left) * this.width) / frame.width;
    const stops = this.stops();
    if (!stops.length) return;
    const far = (value) => Math.abs(this.x(value) - pixel);
    const nearest = stops.reduce((best, value) => (far(value) < far(best) ? value : best));
    if (nearest !== this.at) this.show(nearest);
  }

  key(event) {
    const stops = this.stops();
    const now = this.at === null ? -1 : stops.indexOf(this.at);
    const last = stops.length - 1;
    const goes = { ArrowRight: now + 1, ArrowLeft: now < 0 ? last : now - 1, Home: 0, End: last };
    if (event.key === "Escape") this.leave();
    if (!(event.key in goes) || !stops.length) return;
    event.preventDefault();
    this.spoken.textContent = this.show(stops[Math.min(Math.max(goes[event.key], 0), last)]);
  }

  // Reads every visible line at (or very near) one x; returns what it read as a sentence.
  show(at) {
    const { data, readout, cross, box, x, y } = this;
    this.at = at;
    cross.replaceChildren();
    readout.replaceChildren();
    shape("line", cross, { class: "cross", x1: x(at), x2: x(at), y1: box.top, y2: box.bottom });
    const found = [];
    for (const { line, place } of this.shown()) {
      const far = (i) => Math.abs(x(line.xs[i]) - x(at));
      const seen = [...line.xs.keys()].filter((i) => this.visible(line, i));
      if (!seen.length) continue;
      const i = seen.reduce((best, each) => (far(each) < far(best) ? each : best));
      if (far(i) <= (line.points ? NEAR_FEW : NEAR)) found.push({ line, place, i });
    }
    found.sort((a, b) => b.line.ys[b.i] - a.line.ys[a.i]);
    element("div", readout, { class: "at" }, `${data.x.label}: ${read(at)}`);
    const said = [`${data.x.label} ${read(at)}`];
    for (const { line, place, i } of found) {
      shape("circle", cross, { class: `dot c${place % COLOURS}`, cx: x(line.xs[i]), cy: y(line.ys[i]), r: 4.5 });
      const row = element("div", readout, { class: `row c${place % COLOURS}` });
      const own = line.xs[i] === at ? "" : ` (at ${read(line.xs[i])})`;
      element("span", row, { class: "label" }, line.label + own);
      const value = element("span", row, { class: "value" }, read(line.ys[i], data.y.percent));
      if (line.low.length && line.low[i] !== null) {
        const spread = `${read(line.low[i], data.y.percent)} to ${read(line.high[i], data.y.percent)}`;
        element("div", value, { class: "spread" }, spread);
      }
      said.push(`${line.label}${own}: ${read(line.ys[i], data.y.percent)}`);
    }
    readout.hidden = false;
    const place = this.room(x(at), readout.offsetWidth, readout.offsetHeight);
    readout.style.transform = `translate(${place.left}px, ${place.top}px)`;
    return said.join("; ");
  }

  // Of the places beside the cursor, the one that hides the fewest points.
  room(at, wide, tall) {
    const { box, x, y } = this;
    const points = this.shown().flatMap(({ line }) => {
      return [...line.xs.keys()].filter((i) => this.visible(line, i)).map((i) => [x(line.xs[i]), y(line.ys[i])]);
    });
    const lefts = [at + 14, at - 14 - wide].filter((left) => left >= 0 && left + wide <= this.width);
    const tops = [box.top, (box.top + box.bottom - tall) / 2, box.bottom - tall - 6];
    // On a narrow screen there may be no room on either side.
    if (!lefts.length) lefts.push(Math.min(Math.max(at - wide / 2, 0), Math.max(this.width - wide, 0)));
    const places = lefts.flatMap((left) => tops.map((top) => ({ left, top })));
    const within = (value, from, length) => value > from - 6 && value < from + length + 6;
    const hides = ({ left, top }) => {
      return points.filter(([px, py]) => within(px, left, wide) && within(py, top, tall)).length;
    };
    return places.reduce((best, place) => (hides(place) < hides(best) ? place : best));
  }

  leave() {
    this.at = null;
    this.readout.hidden = true;
    this.cross?.replaceChildren();
  }

  // The text alternative: built when it is opened, because most readers never do.
  table() {
    const folded = element("details", this.figure);
    element("summary", folded, {}, "These numbers as a table");
    folded.addEventListener("toggle", () => {
      if (folded.querySelector("table")) return;
      const scroll = element("div", folded, { class: "scroll", "data-name": this.figure.id });
      const grid = element("table", scroll);
      const { names, words } = this.columns();
      const side = (i) => (i < words ? {} : { class: "right" });
      const head = element("tr", element("thead", grid));
      names.forEach((name, i) => element("th", head, side(i), name));
      const body = element("tbody", grid);
      for (const cells of this.cells()) {
        const row = element("tr", body);
        cells.forEach((cell, i) => element("td", row, side(i), cell));
      }
      arm(scroll);
    });
  }

  columns() {
    const { data } = this;
    const banded = data.lines.some((line) => line.low.length);
    return { names: ["line", data.x.label, data.y.label, ...(banded ? ["low", "high"] : [])], words: 1 };
  }

  cells() {
    const { data } = this;
    const banded = data.lines.some((line) => line.low.length);
    return data.lines.flatMap((line) => line.xs.map((at, i) => {
      const values = [line.ys[i], ...(banded ? [line.low[i], line.high[i]] : [])];
      return [line.label, read(at), ...values.map((value) => read(value, data.y.percent))];
    }));
  }
}

function charts() {
  const drawn = [];
  for (const figure of document.querySelectorAll("figure.chart")) {
    try {
      const data = JSON.parse(figure.querySelector("script").textContent);
      drawn.push(data.kind === "dots" ? new Dots(figure, data) : new Chart(figure, data));
    } catch (error) {
      figure.querySelectorAll(".bar, .canvas").forEach((part) => part.remove());
      document.documentElement.dataset.error = String(error);
      console.error(error);
    }
  }
  return drawn;
}
