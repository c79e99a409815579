// Asks the service how it is, every two seconds, and writes it down. Text is only ever set as text, never parsed as
// markup.

const EVERY = 2000; // milliseconds between questions
const HIDDEN = 30000; // while nobody looks
const LONGEST = 30000; // while nobody answers
const PATIENCE = 10000; // for one answer
const KEPT = "tacit-key";
const FEW_ARMS = 12;

const the = (id) => document.getElementById(id);

function element(tag, parent, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shape(tag, parent, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

// What has not changed is not written again: a selection or a screen reader's place in it stays.
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// ── words for numbers

const known = (value) => typeof value === "number" && Number.isFinite(value);

function count(value) {
  return known(value) ? Math.round(value).toLocaleString("en-GB") : "–";
}

function read(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2).replace("e+", "e");
  return value.toLocaleString("en-GB", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });
}

// An epsilon is an upper bound: its last digit is rounded up.
function bound(value) {
  if (!known(value)) return "–";
  if (value <= 0) return "0";
  const digits = 3 - Math.floor(Math.log10(value));
  if (digits > 7 || digits < -3) return value.toExponential(3).replace("e+", "e");
  const scale = 10 ** digits;
  const up = Math.ceil(value * scale * (1 - 1e-12)) / scale;
  // 0.99999 becomes 1.000, which has as many digits as 1 has.
  return up.toFixed(Math.max(3 - Math.floor(Math.log10(up * (1 + 1e-12))), 0));
}

function share(part, whole) {
  if (!known(part) || !known(whole) || whole <= 0) return "";
  const percent = (100 * part) / whole;
  return `${percent.toLocaleString("en-GB", { maximumSignificantDigits: percent < 1 ? 1 : 3 })} %`;
}

function lasting(seconds) {
  if (!known(seconds)) return "–";
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  const place = units.findIndex(([size]) => seconds >= size);
  if (place < 0) return `${Math.max(Math.floor(seconds), 0)} s`;
  const [size, name] = units[place];
  const whole = Math.floor(seconds / size);
  const [rest, under] = units[place + 1] ?? [];
  const left = rest && whole < 10 ? Math.floor((seconds - whole * size) / rest) : 0;
  return left ? `${count(whole)} ${name} ${left} ${under}` : `${count(whole)} ${name}`;
}

const many = (value, one, more) => `${count(value)} ${value === 1 ? one : more}`;
const sharing = ({ actions, arms, dim }) => `${many(actions, "action", "actions")} on ${many(dim, "feature", "features")}`
  + (arms > actions ? `, room for ${count(arms - actions)} more` : "");
const clock = (date) => date.toLocaleTimeString("en-GB");

// ── asking

class Refused extends Error {}

function keptKey() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

function keep(key) {
  try {
    if (key) sessionStorage.setItem(KEPT, key);
    else sessionStorage.removeItem(KEPT);
  } catch {
    // Without a place to keep it, the key lives as long as the page.
  }
}

async function fetched(path) {
  const headers = { Accept: "application/json" };
  if (at.key) headers.Authorization = `Bearer ${at.key}`;
  let answer;
  let told;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    answer = await fetch(path, { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
    told = await answer.text();
  } catch {
    throw new Error("The service cannot be reached.");
  }
  if (answer.status === 401 || answer.status === 403) throw new Refused(String(answer.status));
  if (!answer.ok) throw new Error(`The service answered ${answer.status}.`);
  try {
    return JSON.parse(told);
  } catch {
    throw new Error("The service gave an answer that is not JSON.");
  }
}

const at = { key: keptKey(), turn: 0, misses: 0, timer: 0, shown: null, paused: false, asking: false, away: false, wasAway: false };

async function poll() {
  clearTimeout(at.timer);
  if (at.paused || at.asking) return;
  at.turn += 1;
  const turn = at.turn;
  let status;
  let trouble = null;
  try {
    status = await fetched("/v1/status");
    // An answer to a question that was since given up says nothing any more.
    if (turn !== at.turn) return;
    show(status);
  } catch (raised) {
    if (turn !== at.turn) return;
    trouble = raised;
    if (!(raised instanceof Refused) && status !== undefined) {
      console.error(raised);
      trouble = new Error("The service gave an answer that this page cannot read.");
    }
  }
  if (trouble instanceof Refused) refused(trouble.message);
  else if (trouble) missed(trouble.message);
  else answered();
}

function later(wait) {
  clearTimeout(at.timer);
  at.timer = setTimeout(poll, document.hidden ? Math.max(wait, HIDDEN) : wait);
}

function answered() {
  if (at.misses) say("The service answers again.");
  else if (!at.shown) say(`Live: ${many(deployments.size, "deployment", "deployments")}.`);
  at.misses = 0;
  at.shown = new Date();
  the("down").hidden = true;
  if (the("ask").contains(document.activeElement)) the("connection").focus();
  the("ask").hidden = true;
  the("forget").hidden = !at.key;
  the("numbers").hidden = false;
  the("numbers").classList.remove("stale");
  connection("live", "good");
  write(the("asof"), `numbers of ${clock(at.shown)}`);
  later(EVERY);
}

function missed(why) {
  at.misses += 1;
  const wait = Math.min(EVERY * 2 ** at.misses, LONGEST);
  const last = at.shown ? ` These are the last numbers, of ${clock(at.shown)}.` : "";
  write(the("trouble"), `${why}${last} Next try in ${wait / 1000} s.`);
  the("down").hidden = false;
  the("numbers").classList.add("stale");
  connection("no answer", "bad");
  if (at.misses === 1) say(`${why}${last}`);
  later(wait);
}

function refused(status) {
  const had = at.key;
  at.asking = true;
  at.misses = 0;
  the("down").hidden = true;
  the("numbers").classList.add("stale");
  connection("needs a key", "alarm");
  wrong(had ? (status === "403" ? "This key may not read the status." : "This key was not accepted.") : "");
  the("forget").hidden = !had;
  the("ask").hidden = false;
  say(had ? "The key was refused. Enter another one." : "This service asks for a key.");
  // Whoever is reading further down is not carried away.
  const focused = document.activeElement;
  const idle = !focused || focused === document.body || focused === the("connection");
  if (idle || the("ask").contains(focused)) the("key").focus();
}

function wrong(text) {
  write(the("key-wrong"), text);
  the("key-wrong").hidden = !text;
  the("key").toggleAttribute("aria-invalid", Boolean(text));
}

function useKey(event) {
  event.preventDefault();
  const key = the("key").value.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    wrong(key ? "A key has no spaces and no letters beyond ASCII." : "Enter a key.");
    the("key").focus();
    return;
  }
  at.key = key;
  keep(key);
  the("key").value = "";
  wrong("");
  again();
}

function forgetKey() {
  at.key = "";
  keep("");
  // What the key opened goes with it.
  at.shown = null;
  the("numbers").hidden = true;
  the("forget").hidden = true;
  for (const each of deployments.values()) each.remove();
  deployments.clear();
  write(the("about"), "Decisions over HTTP");
  write(the("asof"), "no numbers yet");
  say("The key is forgotten.");
  the("connection").focus();
  again();
}

function connection(text, kind) {
  const chip = the("connection");
  write(chip, text);
  chip.className = `chip ${kind}`;
  document.title = text === "live" ? "tacit" : `${text} · tacit`;
}

// Read aloud: what has changed, never what only ticks.
let unsaid = [];
function say(text) {
  unsaid.push(text);
  if (unsaid.length > 1) return;
  queueMicrotask(() => {
    the("spoken").textContent = unsaid.join(" ");
    unsaid = [];
  });
}

// ── showing

function show(status) {
  const { service, requests } = status;
  const facts = [
    location.host,
    `version ${service.version}`,
    `store ${service.store}${service.encrypted ? ", sealed" : ", not sealed"}`,
    service.keys ? "" : "open: no keys are asked for",
    `replica ${service.replica}`,
    `up ${lasting(service.now - service.started)}`,
  ];
  write(the("about"), facts.filter(Boolean).join(" · "));
  at.away = service.available === false;
  traffic(requests);
  write(the("pending"), count(status.deployments.reduce((sum, each) => sum + (each.pending ?? 0), 0)));
  listed(status.deployments);
}

function traffic(requests) {
  const rates = requests.per_second;
  const last = rates.slice(-10);
  const rate = last.length ? last.reduce((sum, value) => sum + value, 0) / last.length : 0;
  const most = Math.max(...rates, 0);
  write(the("rate"), read(rate));
  write(the("most"), `at most ${read(most)}`);
  spark(rates, most, `Requests per second in the last minute: ${read(rate)} now, at most ${read(most)}`);
  write(the("total"), count(requests.total));
  write(the("errors"), count(requests.errors));
  write(the("error-share"), requests.errors ? `${share(requests.errors, requests.total)} of all` : "");
  for (const name of ["p50", "p95", "p99"]) {
    const value = requests.latency_ms?.[name];
    write(the(name), known(value) ? `${read(value)} ms` : "–");
  }
}

function spark(rates, most, says) {
  const svg = the("spark");
  svg.setAttribute("aria-label", says);
  svg.replaceChildren();
  const [width, height] = [240, 44];
  shape("line", svg, { class: "floor", x1: 0, x2: width, y1: height, y2: height });
  if (rates.length < 2) return;
  const x = (i) => ((width * i) / (rates.length - 1)).toFixed(1);
  const y = (value) => (height - 1 - ((height - 3) * value) / (most || 1)).toFixed(1);
  const points = rates.map((value, i) => `${x(i)},${y(value)}`).join(" ");
  shape("polygon", svg, { class: "area", points: `0,${height} ${points} ${width},${height}` });
  shape("polyline", svg, { class: "line", points });
}

// Everything that is wrong with a deployment, worst first, in words.
function troubles(data) {
  const found = [];
  if (above(data)) {
    const copies = data.copies > 1
      ? ` ${count(data.copies)} copies of it have gone on from the same state, and what they release adds up.` : "";
    const accounted = `ε ≤ ${bound(data.epsilon)} is accounted, ε = ${bound(data.promised_epsilon)} was promised.`;
    found.push({ kind: "bad", short: "above the promise", says: `Above the promise: ${accounted}${copies}` });
  }
  if (data.seeded) {
    const says = "Seeded: whoever knows the seed can take the noise away. This is for tests, not for people.";
    found.push({ kind: "bad", short: "seeded, for tests only", says });
  }
  if (data.state === "failed") {
    found.push({ kind: "bad", short: "failed", says: data.why_not || "It failed: the log of the service says where." });
  } else if (!data.learning) {
    found.push({ kind: "alarm", short: "not learning", says: data.why_not || "Not learning." });
  } else if (data.why_not) {
    found.push({ kind: "alarm", short: "has something to say", says: data.why_not });
  }
  if (data.trust === "none") {
    const says = "Not private: what it learns, and shows, is exact. It is for comparison, not for people's data.";
    found.push({ kind: "alarm", short: "not private", says });
  }
  if (data.state !== "serving" && data.state !== "failed") {
    found.push({ kind: "alarm", short: String(data.state), says: "" });
  }
  return found;
}

function noises(data) {
  if (data.sampler !== "none") return `${data.sampler} noise`;
  return data.takes === "decisions" ? "no noise" : "noise on devices";
}

function above({ epsilon, promised_epsilon: promised }) {
  return known(epsilon) && known(promised) && epsilon > promised * (1 + 1e-9);
}

class Deployment {
  static made = 0;

  constructor(name, parent) {
    Deployment.made += 1;
    this.id = `deployment-${Deployment.made}`;
    this.name = name;
    this.before = null;
    this.asked = 0;
    const named = { "aria-labelledby": `${this.id}-name` };
    this.node = element("article", parent, { class: "deployment", id: this.id, tabindex: "-1", ...named });
    const head = element("header", this.node);
    const titles = element("div", head);
    element("h3", titles, { id: `${this.id}-name` }, name);
    this.facts = element("p", titles, { class: "quiet" });
    const chips = element("div", head, { class: "chips" });
    this.state = element("span", chips, { class: "chip" });
    this.learning = element("span", chips, { class: "chip" });
    this.says = element("div", this.node);
    const clocks = element("div", this.node, { class: "clocks" });
    this.budget = new Clock(clocks, "Privacy budget");
    this.rounds = new Clock(clocks, "Rounds");
    this.releases = new Clock(clocks, "Releases");
    this.promise = element("p", this.node, { class: "promise" });
    this.released();
    this.card();
    const foot = element("p", this.node, { class: "foot" });
    this.pending = element("span", foot);
    foot.append(" ");
    element("span", foot, { class: "tag" }, "not covered by the guarantee: for operators");
  }

  card() {
    this.folded = element("details", this.node);
    element("summary", this.folded, {}, "Privacy card");
    this.text = element("pre", this.folded, { class: "card" });
    this.folded.addEventListener("toggle", () => this.folded.open && this.fetchCard());
  }

  async fetchCard() {
    this.asked += 1;
    const asked = this.asked;
    if (!this.text.textContent) this.text.textContent = "Asking for the card …";
    let told;
    try {
      const answer = await fetched(`/v1/deployments/${encodeURIComponent(this.name)}/card`);
      told = typeof answer.text === "string" ? answer.text : "The card has no text.";
    } catch (trouble) {
      const refusal = "The key may not read this card.";
      told = `${trouble instanceof Refused ? refusal : trouble.message} Close and open it to ask again.`;
    }
    if (asked === this.asked) write(this.text, told);
  }

  released() {
    this.numbers = element("details", this.node, { hidden: "" });
    this.numbersTitle = element("summary", this.numbers);
    this.arms = element("dl", this.numbers, { class: "arms" });
  }

  update(data) {
    const wrongs = troubles(data);
    const size = known(data.arms) ? sharing(data)
      : known(data.actions) ? many(data.actions, "action", "actions")
      : known(data.dim) ? many(data.dim, "dimension", "dimensions") : "";
    const trust = data.trust === "none" ? "not private" : `${data.trust} trust`;
    const facts = [data.policy, trust, `takes ${data.takes}`, size, noises(data)];
    write(this.facts, facts.filter(Boolean).join(" · "));
    write(this.state, String(data.state));
    this.state.className = `chip ${data.state === "serving" ? "good" : "alarm"}`;
    const learns = data.learning && data.state === "serving";
    write(this.learning, learns ? "learning" : "not learning");
    this.learning.className = `chip ${learns ? "good" : "alarm"}`;
    this.node.classList.toggle("bad", wrongs.some(({ kind }) => kind === "bad"));
    this.warn(wrongs.filter(({ says }) => says));
    this.showBudget(data);
    this.showRounds(data);
    this.showReleases(data);
    write(this.promise, data.guarantee ?? "");
    this.showReleased(data.released);
    write(this.pending, `${count(data.pending)} pending`);
    const price = JSON.stringify([data.epsilon, data.promised_epsilon, data.copies, data.seeded]);
    if (this.price !== undefined && this.price !== price && this.folded.open) this.fetchCard();
    this.price = price;
    this.tell(data, wrongs);
    return wrongs;
  }

  warn(wrongs) {
    const now = JSON.stringify(wrongs);
    if (now === this.warned) return;
    this.warned = now;
    this.says.replaceChildren();
    for (const { kind, says } of wrongs) element("p", this.says, { class: `says ${kind}` }, says);
  }

  showBudget(data) {
    const { epsilon, promised_epsilon: promised, delta } = data;
    const over = above(data);
    const copies = data.copies > 1 ? `, ${count(data.copies)} copies` : "";
    const priced = known(data.charged_share) && known(epsilon);
    const charged = priced ? `${share(data.charged_share, 1)} charged${copies}` : "";
    const where = known(delta) && delta > 0 ? ` at δ = ${delta < 0.001 ? delta.toExponential() : delta}` : "";
    const value = known(epsilon) ? `ε ≤ ${bound(epsilon)}${where}` : "no ε is accounted";
    const against = known(promised) ? `${over ? "above the" : "of"} ${bound(promised)} promised` : "none is promised";
    this.budget.set({
      value,
      under: [against, charged].filter(Boolean).join(" · "),
      part: epsilon, whole: promised, kind: over ? "bad" : "",
      says: `${value}, ${against}`,
    });
  }

  showRounds(data) {
    // Batches are counted by the batch, and what is left of them by the report.
    const unit = data.takes === "batches" ? " reports" : "";
    const done = `${count(data.decisions)} ${data.takes ?? "rounds"}`;
    const { rounds_left: left, limit: whole } = data;
    const ends = known(left) && known(whole);
    const rest = ends ? `${left > 0 ? count(left) : "none"} left of ${count(whole)}${unit}` : "no horizon";
    const kind = ends && left <= 0 ? "alarm" : "";
    const part = ends ? whole - left : null;
    this.rounds.set({ value: done, under: rest, part, whole, kind, says: `${done}, ${rest}` });
  }

  showReleases(data) {
    const plan = data.releases_planned;
    const value = known(plan) ? `${count(data.releases)} of ${count(plan)}` : count(data.releases);
    const under = `view ${count(data.view)}, ${lasting(data.view_age_seconds)} old`;
    this.releases.set({ value, under, part: data.releases, whole: plan, kind: "", says: `${value} releases` });
  }

  showReleased(released) {
    const rows = released?.mean_rewards;
    const now = JSON.stringify(released ?? null);
    if (now === this.rows) return;
    const first = this.numbers.hidden;
    this.rows = now;
    this.numbers.hidden = !Array.isArray(rows) || !rows.length;
    this.arms.replaceChildren();
    if (this.numbers.hidden) return;
    if (first) this.numbers.open = rows.length <= FEW_ARMS;
    const all = released.arms ?? rows.length;
    const first_few = all > rows.length ? `, the first ${count(rows.length)}` : "";
    write(this.numbersTitle, `Mean rewards of ${many(all, "arm", "arms")}${first_few}, from ${released.from}`);
    for (const { arm, value } of rows) {
      const row = element("div", this.arms);
      element("dt", row, {}, String(arm));
      element("dd", row, {}, read(value));
    }
  }

  tell(data, wrongs) {
    const now = { state: data.state, learning: data.learning, wrongs: wrongs.map(({ short }) => short).join() };
    const { before } = this;
    this.before = now;
    if (before === null) return;
    if (before.state !== now.state) say(`${this.name}: ${now.state}.`);
    if (!before.learning && now.learning) say(`${this.name}: learning again.`);
    else if (before.learning && !now.learning) say(`${this.name}: not learning. ${data.why_not ?? ""}`);
    for (const { short, kind } of wrongs) {
      if (kind === "bad" && !before.wrongs.split(",").includes(short)) say(`${this.name}: ${short}.`);
    }
  }

  remove() {
    // A focus that goes with it comes back to the heading of the list, not to the top of the page.
    if (this.node.contains(document.activeElement)) the("deployments").focus();
    this.node.remove();
  }
}

// A number, what stands under it, and a bar that shows how much of the whole it is.
class Clock {
  constructor(parent, label) {
    this.label = label;
    this.node = element("div", parent, { class: "clock" });
    element("span", this.node, { class: "label" }, label);
    this.value = element("span", this.node, { class: "value" });
    this.meter = element("div", this.node, { class: "meter", role: "meter", "aria-valuemin": "0" });
    this.fill = element("div", this.meter, { class: "fill" });
    this.over = element("div", this.meter, { class: "over" });
    this.edge = element("div", this.meter, { class: "edge" });
    this.under = element("span", this.node, { class: "under" });
  }

  set({ value, under, part, whole, kind, says }) {
    this.node.className = `clock ${kind}`;
    write(this.value, value);
    write(this.under, under);
    const bar = known(part) && known(whole) && whole > 0;
    this.meter.classList.toggle("none", !bar);
    if (!bar) return;
    const within = Math.min(part / whole, 1);
    const reach = Math.max(part / whole, 1);
    this.fill.style.width = `${(100 * within) / reach}%`;
    this.over.style.width = `${100 * (1 - 1 / reach)}%`;
    this.edge.hidden = reach <= 1;
    this.edge.style.left = `${100 / reach}%`;
    this.meter.setAttribute("aria-label", this.label);
    this.meter.setAttribute("aria-valuemax", String(Math.max(part, whole)));
    this.meter.setAttribute("aria-valuenow", String(part));
    this.meter.setAttribute("aria-valuetext", says);
  }
}

const deployments = new Map();

function listed(all) {
  const first = at.shown === null;
  const here = new Set(all.map(({ name }) => name));
  for (const [name, each] of deployments) {
    if (here.has(name)) continue;
    each.remove();
    deployments.delete(name);
    say(`${name} is gone.`);
  }
  const attention = [];
  for (const data of all) {
    let each = deployments.get(data.name);
    if (!each) {
      each = new Deployment(String(data.name), the("list"));
      deployments.set(data.name, each);
      if (!first) say(`New: ${data.name}.`);
    }
    for (const { kind, short } of each.update(data)) attention.push({ each, kind, short });
  }
  const order = all.map(({ name }) => deployments.get(name).node);
  if (order.some((node, i) => the("list").children[i] !== node)) the("list").append(...order);
  write(the("how-many"), all.length ? `${count(all.length)}` : "");
  the("empty").hidden = all.length > 0;
  if (at.away) attention.unshift({ each: null, kind: "bad", short: "its store cannot be written; requests are refused" });
  attend(attention);
}

let attended = "";

function attend(wrongs) {
  const now = JSON.stringify(wrongs.map(({ each, kind, short }) => [each?.id, kind, short]));
  if (now === attended) return;
  attended = now;
  if (at.away !== at.wasAway) say(at.away ? "The store cannot be written." : "The store can be written again.");
  at.wasAway = at.away;
  the("attention").hidden = !wrongs.length;
  const held = the("attention-list").contains(document.activeElement);
  the("attention-list").replaceChildren();
  for (const { each, kind, short } of wrongs) {
    const row = element("li", the("attention-list"), { class: kind });
    if (each) element("a", row, { href: `#${each.id}` }, each.name);
    row.append(`${each ? "" : "The service"}: ${short}`);
  }
  if (held) the("deployments").focus();
}

// Asks now, whatever it was waiting for.
function again() {
  at.asking = false;
  at.paused = false;
  write(the("pause"), "Pause updates");
  connection("connecting", "");
  poll();
}

function pause() {
  if (at.paused) {
    again();
    return;
  }
  at.paused = true;
  at.turn += 1;
  clearTimeout(at.timer);
  write(the("pause"), "Resume updates");
  connection("updates paused", "alarm");
}

the("pause").addEventListener("click", pause);
the("forget").addEventListener("click", forgetKey);
the("retry").addEventListener("click", again);
the("ask").addEventListener("submit", useKey);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) later(HIDDEN);
  else poll();
});
poll();
