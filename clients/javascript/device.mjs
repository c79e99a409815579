// One person's device: it reads the contract it was installed with and the server's views, picks an arm, and noises its
// reports before they leave. Browsers, and Node from 19 on. What it must and must not do: README.md.
import { discreteGaussian } from "./exact.mjs";

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const check = (holds, text) => { if (!holds) throw new Error(text); };
const id = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

export class Device {
  constructor(contract, { limit = contract.limit, made = 0 } = {}) {
    const { dim, version, report: { kind, size } } = contract, sizes = { xy: dim + 1, gram: (dim * (dim + 3)) / 2 };
    check(version === 1 && size === sizes[kind], "Expected a contract of version 1, with reports of kind xy or gram.");
    Object.assign(this, { contract, limit, made });
  }

  see(view) {
    check(view.tacit === "view" && view.contract === this.contract.fingerprint, "Expected a view under this contract.");
    this.view = view;
  }

  choose(actions) { // the first of the best by <theta, x> + width * |whiten x|
    const { theta, whiten, width } = this.view.arrays;
    const spread = (x) => Math.sqrt(whiten.reduce((sum, row) => sum + dot(row, x) ** 2, 0));
    const scores = actions.map((x) => dot(theta, x) + width[0] * spread(x));
    return scores.indexOf(Math.max(...scores));
  }

  report(x, reward) {
    const { dim, fingerprint, report: { kind, radius, constants, noise: { scale, step }, ...bounds } } = this.contract;
    const given = [...x, reward]; // NaN and infinities are numbers: no report may be missing for what is in it
    check(x.length === dim && given.every((a) => typeof a === "number") && scale > 0 && step > 0, "Expected numbers.");
    if (!given.every((a) => Math.abs(a) <= 1e100)) [x, reward] = [x.map(() => 0), 0];
    check(this.made < this.limit, "All reports that the guarantee is priced for are made.");
    this.made += 1; // keep it across restarts
    const n = dim - constants.length, shrink = Math.min(1, radius / Math.hypot(...x.slice(0, n)));
    const z = [...x.slice(0, n).map((value) => shrink * value), ...constants]; // clipped; the first n are private
    const y = Math.min(Math.max(reward, bounds.reward_low), bounds.reward_high);
    const draw = () => discreteGaussian(scale / step), nearest = (a) => Math.floor(a / step + 0.5);
    const noisy = (value) => step * (nearest(value) + draw()); // whole steps on whole steps
    const more = this.view.arrays.perturbation?.[0] ?? 0; // a view may add noise, never take any
    const values = kind === "xy"
      ? [...z.map((a, i) => (i < n ? noisy(a) + more * (step / scale) * draw() : a)), noisy(y)]
      : [...z.flatMap((a, i) => z.slice(i).map((b) => (i < n ? noisy(a * b) : a * b))), ...z.map((a) => noisy(a * y))];
    return { tacit: "report", version: 1, contract: fingerprint, id: id(), stage: this.view.stage, values };
  }
}
