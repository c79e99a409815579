// Tables that sort by a click on a head and download as CSV.

const GROUPED = /^[-−+]?\d{1,3}(,\d{3})+(\.\d+)?$/;

function sortKey(text) {
  const plain = text.trim().replace(/^(≤|<=|<|≥|>=|>|~|×|±)\s*/, "").replaceAll(",", "").replace("−", "-");
  if (plain === "" || plain === "–") return null;
  if (plain === "∞" || plain === "inf") return Infinity;
  const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?=$|\s|%|×)/i.exec(plain);
  return number ? Number(number[0]) : text.trim();
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

// What is only there for the eye (thousands commas, a dash for nothing) stays out of the file.
function csvCell(text) {
  const plain = text === "–" ? "" : GROUPED.test(text) ? text.replaceAll(",", "").replace("−", "-") : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function csv(table) {
  const cells = (row) => [...row.cells].map((cell) => csvCell(cell.textContent.trim())).join(",");
  return `${[...table.rows].map(cells).join("\r\n")}\r\n`;
}

function sortBy(table, column, head) {
  const body = table.tBodies[0];
  table.original ??= [...body.rows];
  const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
  for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", next);
  if (next === "none") {
    body.replaceChildren(...table.original);
    return;
  }
  const sign = next === "ascending" ? 1 : -1;
  const keyed = table.original.map((row) => ({ row, key: sortKey(row.cells[column].textContent) }));
  // Cells without a value stand last either way.
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    return sign * compare(a.key, b.key);
  });
  body.replaceChildren(...keyed.map(({ row }) => row));
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  element("a", null, { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function arm(scroll) {
  const table = scroll.querySelector("table");
  const tools = element("div", null, { class: "tools" });
  const name = `${scroll.dataset.name || "table"}.csv`;
  const button = element("button", tools, { type: "button", title: name }, "Download CSV");
  button.addEventListener("click", () => download(name, csv(table)));
  scroll.after(tools);
  if (table.tBodies[0].rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const label = head.textContent;
    head.textContent = "";
    head.classList.add("sorts");
    head.setAttribute("aria-sort", "none");
    const sorter = element("button", head, { type: "button" }, label);
    sorter.addEventListener("click", () => sortBy(table, column, head));
  });
}

function tables() {
  document.querySelectorAll(".scroll[data-name]").forEach(arm);
}
