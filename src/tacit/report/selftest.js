// Opened with #selftest, the page uses itself and writes what it saw on its root element, for a test to read.

function selftest(drawn) {
  const seen = document.documentElement.dataset;
  seen.charts = drawn.length;
  seen.lines = drawn.map((chart) => chart.canvas.querySelectorAll("g.series").length).join(" ");
  for (const chart of drawn.slice(0, 1)) {
    const { box, svg } = chart;
    const frame = svg.getBoundingClientRect();
    const clientX = frame.left + box.right;
    chart.canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY: frame.top + box.top }));
    seen.readout = chart.readout.hidden ? "" : chart.readout.innerText;
    chart.canvas.dispatchEvent(new PointerEvent("pointerleave"));
    seen.left = chart.readout.hidden;
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
    seen.spoken = chart.spoken.textContent;
    chart.entries[0].click();
    seen.toggled = chart.canvas.querySelectorAll("g.series").length;
    seen.pressed = chart.entries[0].getAttribute("aria-pressed");
    chart.entries[0].click();
    seen.scale = chart.switches[1].textContent;
    chart.switches[1].click();
    seen.switched = chart.switches[1].textContent;
    chart.switches[1].click();
  }
  const table = document.querySelector(".scroll[data-name] table");
  const heads = table ? [...table.tHead.rows[0].cells] : [];
  const column = (i) => [...table.tBodies[0].rows].map((row) => row.cells[i].textContent).join(" | ");
  const last = heads.length - 1;
  if (table && heads[last].querySelector("button")) {
    seen.unsorted = column(last);
    heads[last].querySelector("button").click();
    seen.ascending = column(last);
    heads[last].querySelector("button").click();
    seen.descending = column(last);
    heads[last].querySelector("button").click();
    seen.restored = column(last);
  }
  if (table) {
    seen.csv = csv(table);
    downloading(table, seen);
  }
  const look = (element, name) => getComputedStyle(element)[name];
  seen.paper = look(document.body, "backgroundColor");
  seen.ink = look(document.body, "color");
  const line = document.querySelector(".canvas .line, .canvas .point");
  if (line) seen.stroke = look(line, "stroke");
  // What sticks out of the window? Folded parts too: they are opened for it.
  document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
  seen.width = document.documentElement.clientWidth;
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.selftest = "done";
  // A test may look at the page through a window of its own: file pages cannot read each other, but they can speak.
  if (parent !== window) parent.postMessage({ ...seen }, "*");
}

// The button is pressed, and what would be saved is caught: under which name, and how many bytes.
function downloading(table, seen) {
  const kept = { make: URL.createObjectURL, click: HTMLAnchorElement.prototype.click };
  URL.createObjectURL = (blob) => {
    seen.bytes = blob.size;
    return "#";
  };
  HTMLAnchorElement.prototype.click = function click() { seen.download = this.download; };
  table.parentElement.nextElementSibling.querySelector("button").click();
  URL.createObjectURL = kept.make;
  HTMLAnchorElement.prototype.click = kept.click;
}
