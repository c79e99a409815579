// Discrete Gaussians, drawn exactly from the operating system's randomness: P(k) ~ exp(-k^2 / 2s^2) on the whole numbers.
// The algorithm, step for step, of tacit/noise/discrete.py; why it is exact: tacit/noise/exact.md.
const ERROR = 2 ** -46, FAR = 44, PARTS = 64, GUARD = 64n;

// Whole numbers on both sides of 2^bits * exp(-p/q).
const times = ([a, b], [c, d], work) => [(a * c) >> work, -((-b * d) >> work)];
function series(p, q, work) { // for p <= q: terms alternate and shrink
  let [term, total, count] = [1n << work, 0n, 0n];
  for (; term; term = (term * p) / (q * count)) total += count++ % 2n ? -term : term;
  const [low, high] = [total - 2n * count - 1n, total + 2n * count + 1n];
  return [low > 0n ? low : 0n, high < 1n << work ? high : 1n << work];
}
function expBounds(p, q, bits) {
  const whole = p / q, work = bits + GUARD;
  if (whole > 2n * bits) return [0n, 1n];
  let [found, base] = [series(p % q, q, work), series(1n, 1n, work)];
  for (let n = whole; n; n >>= 1n, base = times(base, base, work)) if (n & 1n) found = times(found, base, work);
  return [found[0] >> GUARD, -(-found[1] >> GUARD)];
}

// In doubles: within 2^-49 of exp(-x).
const table = (count, per) => Array.from({ length: count }, (_, k) => Number(expBounds(BigInt(k), BigInt(per), 200n)[0]) / 2 ** 200);
const WHOLES = table(FAR, 1), FRACTIONS = table(PARTS, PARTS);
function expMinus(x) {
  if (!(x < FAR)) return 0;
  const whole = Math.floor(x), rest = x - whole, part = Math.floor(rest * PARTS), r = rest - part / PARTS;
  const tail = 1 - r * (1 - (r / 2) * (1 - (r / 3) * (1 - (r / 4) * (1 - (r / 5) * (1 - r / 6)))));
  return WHOLES[whole] * FRACTIONS[part] * tail;
}

const leading = ([high, low]) => high * 2 ** 21 + (low >>> 11); // 53 bits of a word of two halves
const falls = (word, chance) => {
  const number = leading(word) * 2 ** -53;
  return number < chance - ERROR ? 1 : number > chance + ERROR ? 0 : -1;
};
const halves = (n) => Array.from({ length: n }, () => [...crypto.getRandomValues(new Uint32Array(2))]);
const asWhole = ([high, low]) => (BigInt(high) << 32n) | BigInt(low);
class Uniform { // more bits are drawn when they are needed
  constructor(word, words) { [this.head, this.bits, this.words] = [asWhole(word), 64n, words]; }
  belowExp(p, q) {
    while (p > 0n) {
      const [low, high] = expBounds(p, q, this.bits + 16n);
      if ((this.head + 1n) << 16n <= low) return true;
      if (this.head << 16n >= high) return false;
      [this.head, this.bits] = [(this.head << 64n) | asWhole(this.words(1)[0]), this.bits + 64n];
    }
    return true;
  }
}

function squared(s) { // the square of a double, as a fraction of whole numbers
  let [scaled, q] = [s, 1n];
  for (; !Number.isInteger(scaled); q *= 2n) scaled *= 2;
  return [BigInt(scaled) ** 2n, q ** 2n];
}
function exactly(s, top, [first, second, third, fourth], words) {
  const t = BigInt(top), u = BigInt(leading(first) % top), leads = new Uniform(third, words);
  if (!new Uniform(second, words).belowExp(u, t)) return null;
  let v = 0n;
  while (leads.belowExp(v + 1n, 1n)) v += 1n;
  const size = u + t * v, [a, b] = squared(s);
  if ((first[1] & 1 && !size) || !new Uniform(fourth, words).belowExp((size * b * t - a) ** 2n, 2n * a * b * t * t)) return null;
  return first[1] & 1 ? -Number(size) : Number(size);
}

// What a proposal of four words comes to: a number, or null if it is rejected.
export function proposed(s, four, words = halves) {
  const top = Math.floor(s) + 1, number = leading(four[0]);
  if (number >= Math.floor(2 ** 53 / top) * top) return null;
  const u = number % top, kept = falls(four[1], expMinus(u / top)), start = leading(four[2]) * 2 ** -53;
  const open = WHOLES.some((chance, k) => k > 0 && Math.abs(start - chance) <= ERROR);
  const size = u + top * WHOLES.filter((chance, k) => k > 0 && start < chance).length;
  const [a, b] = squared(s), centre = Number((a << 200n) / (b * BigInt(top))) / 2 ** 200;
  const z = (size - centre) / s, taken = falls(four[3], expMinus(0.5 * z * z)), negative = four[0][1] & 1;
  if (kept === 0 || (!open && (taken === 0 || (negative && size === 0)))) return null;
  if (open || kept < 0 || taken < 0) return exactly(s, top, four, words);
  return negative ? -size : size;
}

export function discreteGaussian(s) {
  if (!(s > 0 && s <= 2 ** 44)) throw new Error("Expected a scale above 0 and at most 2**44 steps.");
  for (;;) {
    const found = proposed(s, halves(4));
    if (found !== null) return found;
  }
}
