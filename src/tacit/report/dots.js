// Rows with a name, and in each the dots of the groups with their whiskers: a chart whose other axis is a list.

// A name that is wider than its room ends in dots; the readout has all of it.
function cut(text, name, room) {
  const wide = text.getComputedTextLength();
  if (wide <= room) return;
  text.textContent = `${name.slice(0, Math.max(Math.floor((name.length * room) / wide) - 2, 1)).trimEnd()}…`;
}

class Dots extends Chart {
  // Only values have an axis; a list of names has none.
  switch(axis) {
    const button = super.switch(axis);
    const values = this.data.lines.flatMap((line) => line.xs).filter((value) => value !== null);
    button.hidden = axis === "y" || values.some((value) => value <= 0);
    return button;
  }

  visible(line, i) {
    return line.xs[i] !== null && (!this.log.x || line.xs[i] > 0);
  }

  draw() {
    const { data, canvas, log } = this;
    this.leave();
    canvas.querySelector("svg")?.remove();
    canvas.classList.remove("picking");
    const button = this.switches[0];
    button.textContent = `x: ${log.x ? "log" : "linear"}`;
    button.setAttribute("aria-label", `x axis: ${log.x ? "logarithmic" : "linear"}; switch`);
    const width = Math.max(canvas.clientWidth || 720, 240);
    this.width = width;
    const lines = this.shown();
    // The name of a row stands over its dots: beside them it would leave no room on a phone.
    this.step = 16;
    this.band = 30 + this.step * Math.max(lines.length, 1);
    const top = 10 + 16 * data.marks.length;
    const bottom = top + this.band * data.rows.length;
    const box = { top, bottom, left: 10, right: width - 16 };
    const drawn = lines.length ? lines.map(({ line }) => line) : data.lines;
    const [low, high] = this.stretch(
      drawn.flatMap((line) => line.xs).concat(data.marks.map((mark) => mark.x)),
      drawn.flatMap((line) => [...line.low, ...line.high, ...line.trials.flat()]),
    );
    const x = scale(low, high, log.x, box.left, box.right);
    this.x = x;
    this.box = box;
    const hint = "Arrow keys read the rows; the same numbers stand in the table below.";
    const svg = shape("svg", canvas, {
      viewBox: `0 0 ${width} ${bottom + 44}`, tabindex: 0, role: "img", "aria-label": `${data.title}. ${hint}`,
    });
    canvas.prepend(svg);
    this.svg = svg;
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("blur", () => this.leave());
    this.shade = shape("g", svg);
    for (const tick of (log.x ? logTicks : linearTicks)(low, high, Math.floor((box.right - box.left) / 64))) {
      shape("line", svg, { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom });
      const name = readTick(tick, data.x.percent);
      shape("text", svg, { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, name);
    }
    data.rows.forEach((name, row) => {
      const at = top + this.band * row;
      if (row) shape("line", svg, { class: "grid", x1: 0, x2: width, y1: at, y2: at });
      cut(shape("text", svg, { class: "row-name", x: 2, y: at + 17 }, name), name, width - 4);
    });
    shape("line", svg, { class: "frame", x1: 0, x2: width, y1: bottom, y2: bottom });
    shape("text", svg, { class: "name", x: box.right, y: bottom + 38, "text-anchor": "end" }, data.x.label);
    data.marks.forEach((mark, place) => this.upright(svg, mark, place));
    lines.forEach(({ line, place }, order) => this.group(svg, line, place, order));
    this.cross = shape("g", svg);
  }

  // A dot is read by its place and not by its length, so zero is only shown where it means something.
  stretch(values, edges) {
    const { log, data } = this;
    const [low, high] = domain(values, edges, log.x, false);
    return data.x.zero && !log.x && Math.min(...values.filter((value) => value !== null)) >= 0 ? [0, high] : [low, high];
  }

  upright(svg, mark, place) {
    const { x, box, log } = this;
    if (log.x && mark.x <= 0) return;
    const at = x(mark.x);
    const y = 12 + 16 * place;
    shape("line", svg, { class: "mark", x1: at, x2: at, y1: y - 8, y2: box.bottom });
    const late = at > (box.left + box.right) / 2;
    const where = { class: "mark-name", x: late ? at - 6 : at + 6, y };
    shape("text", svg, { ...where, "text-anchor": late ? "end" : "start" }, mark.label);
  }

  group(svg, line, place, order) {
    const { x, box, log } = this;
    const made = shape("g", svg, { class: `series c${place % COLOURS}`, "data-place": place });
    const edge = (value) => (log.x && value <= 0 ? box.left : Math.max(x(value), box.left - 8));
    this.data.rows.forEach((_, row) => {
      if (!this.visible(line, row)) return;
      const cy = this.level(row, order);
      for (const value of line.trials[row]) {
        if (value !== null && (!log.x || value > 0)) shape("circle", made, { class: "trial", cx: edge(value), cy, r: 2.5 });
      }
      if (line.low[row] !== null) {
        const ends = { x1: edge(line.low[row]), x2: edge(line.high[row]), y1: cy, y2: cy };
        shape("line", made, { class: "whisker wide", ...ends });
      }
      shape("circle", made, { class: "point full", cx: x(line.xs[row]), cy, r: 5 });
    });
  }

  level(row, order) {
    return this.box.top + this.band * row + 30 + this.step * order;
  }

  stops() {
    return this.data.rows.map((_, row) => row);
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    const pixel = ((event.clientY - frame.top) * this.width) / frame.width;
    const row = Math.floor((pixel - this.box.top) / this.band);
    const nearest = Math.min(Math.max(row, 0), this.data.rows.length - 1);
    if (nearest !== this.at) this.show(nearest);
  }

  key(event) {
    const same = { ArrowDown: "ArrowRight", ArrowUp: "ArrowLeft" }[event.key];
    if (same) event.preventDefault();
    super.key(same ? { key: same, preventDefault() {} } : event);
  }

  // Reads every group in one row; returns what it read as a sentence.
  show(row) {
    const { data, readout, box } = this;
    const percent = data.x.percent;
    this.at = row;
    readout.replaceChildren();
    const band = { x: 0, y: box.top + this.band * row, width: this.width, height: this.band };
    this.shade.replaceChildren();
    shape("rect", this.shade, { class: "shade", ...band });
    element("div", readout, { class: "at" }, data.rows[row]);
    const said = [data.rows[row]];
    for (const { line, place } of this.shown()) {
      const entry = element("div", readout, { class: `row c${place % COLOURS}` });
      element("span", entry, { class: "label" }, line.label);
      const value = element("span", entry, { class: "value" }, read(line.xs[row], percent));
      if (line.low[row] !== null) {
        const spread = `${read(line.low[row], percent)} to ${read(line.high[row], percent)}`;
        element("div", value, { class: "spread" }, spread);
      }
      said.push(`${line.label}: ${read(line.xs[row], percent)}`);
    }
    readout.hidden = false;
    // Under the row, or over it where the chart ends: a row that is read must stay visible.
    const under = band.y + band.height + 4;
    const top = under + readout.offsetHeight <= box.bottom + 44 ? under : Math.max(band.y - readout.offsetHeight - 4, 0);
    readout.style.transform = `translate(${Math.max((this.width - readout.offsetWidth) / 2, 0)}px, ${top}px)`;
    return said.join("; ");
  }

  leave() {
    super.leave();
    this.shade?.replaceChildren();
  }

  columns() {
    return { names: ["row", "group", this.data.x.label, "low", "high"], words: 2 };
  }

  cells() {
    const { data } = this;
    const value = (number) => read(number, data.x.percent);
    return data.rows.flatMap((name, row) => {
      const there = data.lines.filter((line) => line.xs[row] !== null);
      return there.map((line) => [name, line.label, value(line.xs[row]), value(line.low[row]), value(line.high[row])]);
    });
  }
}
