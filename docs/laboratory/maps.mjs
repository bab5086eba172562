// SPDX-License-Identifier: GPL-2.0-only
/** @file Maps: a number of the run over all values of two sliders, filled by workers on all cores. */

import { problemsOf, specification } from "./experiment.mjs";
import { rounded, summary } from "./summary.mjs";

/**
 * What a map can show. `better`: which end is drawn light.
 * @typedef {ReturnType<typeof summary>} Summary
 * @type {Record<string, {name: string, unit: string, of: (it: Summary) => number | null | undefined}>}
 */
export const METRICS = {
  goodput: { name: "goodput of the flows", unit: "Mbit/s", of: (it) => it.parts[0].goodput / 1e6 },
  share: { name: "share of the flows", unit: "%", of: (it) => 100 * it.parts[0].share },
  utilisation: { name: "utilisation of the path", unit: "%", of: (it) => 100 * it.utilisation },
  rtt: { name: "mean RTT of the flows", unit: "ms", of: (it) => it.parts[0].rtt && 1e3 * it.parts[0].rtt },
  queue: { name: "queueing delay, 95th percentile", unit: "ms", of: (it) => 1e3 * it.queueDelayP95 },
  jain: { name: "Jain's index", unit: "", of: (it) => it.jain },
  retransmits: { name: "packets sent again by the flows", unit: "", of: (it) => it.parts[0].retransmits },
};
/** Sliders that can be an axis. */
export const AXES = ["rate", "rtt", "buffer", "loss", "policer", "later_rate", "flows", "other_flows", "other_rtt", "seed"];

// Cividis at five places (Nuñez, Anderton and Renslow 2018): the order is the same for colour-blind readers.
const CIVIDIS = [[0, 32, 77], [66, 78, 108], [124, 123, 120], [187, 173, 108], [255, 234, 70]];
// PuOr of ColorBrewer: pale where neither has more.
const DIVERGING = [[179, 88, 6], [241, 163, 64], [247, 247, 247], [153, 142, 195], [84, 39, 136]];

/** Workers that run many specifications, each of them once. */
export class Pool {
  /**
   * @param {() => Worker} make a worker that was sent the models
   * @param {number} count
   */
  constructor(make, count) {
    this.make = make;
    this.workers = Array.from({ length: count }, make);
    /** @type {Set<Worker>} */ this.isBusy = new Set();
  }

  /**
   * Run specifications; the latest call ends those before.
   * @param {string[]} specifications
   * @param {(place: number, message: any) => void} listener told of each result, with its place
   */
  run(specifications, listener) {
    this.stop();
    let next = 0;
    const give = (/** @type {Worker} */ worker) => {
      if (next >= specifications.length) return;
      const place = next++;
      worker.onmessage = ({ data }) => {
        if (data.progress !== undefined) return;
        give(worker);
        listener(place, data);
      };
      worker.postMessage({ specification: specifications[place] });
      this.isBusy.add(worker);
    };
    this.workers.forEach(give);
  }

  /** End all runs. */
  stop() {
    for (const worker of this.isBusy) {
      worker.onmessage = null;
      worker.terminate();
    }
    this.workers = this.workers.map((it) => (this.isBusy.has(it) ? this.make() : it));
    this.isBusy = new Set();
  }
}

/**
 * Fill a map.
 * @param {import("./experiment.mjs").Data} data
 * @param {import("./experiment.mjs").State} state with a map
 * @param {Pool} pool
 * @param {{
 *   cell: (x: number, y: number, value: number | null) => void, done: (milliseconds: number, count: number) => void,
 *   values: (values: Map<string, number>) => void,
 * }} told of each cell, of all values so far by `x,y`, and of the end
 */
export function fillMap(data, { choices, pinned, map }, pool, told) {
  const [x, y, metric, isDifference] = parts(map);
  const begin = performance.now();
  /** @type {{x: number, y: number, of: import("./experiment.mjs").Choices}[]} */ const cells = [];
  data.stops[y].forEach((vertical, i) =>
    data.stops[x].forEach((horizontal, j) => {
      const at = { [x]: horizontal.text, [y]: vertical.text };
      const both = isDifference && pinned ? [pinned, choices] : [choices];
      const wanted = both.map((it) => ({ x: j, y: i, of: { ...it, ...at } }));
      if (wanted.some((it) => problemsOf(data, it.of).length > 0)) told.cell(j, i, null);
      else cells.push(...wanted);
    }));
  /** @type {Map<string, number[]>} */ const found = new Map();
  /** @type {Map<string, number>} */ const values = new Map();
  let left = cells.length;
  const step = isDifference && pinned ? 2 : 1;
  pool.run(cells.map((it) => JSON.stringify(specification(data, it.of))), (place, message) => {
    const { x: j, y: i, of } = cells[place];
    const key = `${j},${i}`;
    const value = message.result ? METRICS[metric].of(summary(data, of, message.result)) : null;
    const known = found.get(key) ?? [];
    known[place % step] = value ?? NaN;
    found.set(key, known);
    if (known.filter((it) => it !== undefined).length === step) {
      const shown = step === 1 ? known[0] : Math.log2(known[1] / known[0]);
      if (Number.isFinite(shown)) values.set(key, shown);
      told.cell(j, i, Number.isFinite(shown) ? shown : null);
      told.values(values);
    }
    if (--left === 0) told.done(performance.now() - begin, cells.length);
  });
}

/** The axes and the metric of a map's text. @param {string} map @returns {[string, string, string, boolean]} */
export function parts(map) {
  const [x, y, metric, difference] = map.split(",");
  return [x, y, metric, difference === "ab"];
}

/**
 * The colour of a value, and that of the text on it.
 * @param {number} value
 * @param {Map<string, number>} values of all cells
 * @param {boolean} isDifference log2 of B / A
 */
export function colours(value, values, isDifference) {
  const all = [...values.values()];
  const most = isDifference ? Math.max(0.1, ...all.map(Math.abs)) : Math.max(...all);
  const least = isDifference ? -most : Math.min(...all);
  const place = (most > least ? (value - least) / (most - least) : 0.5) * 4;
  const [below, part] = [Math.min(3, Math.floor(place)), place - Math.min(3, Math.floor(place))];
  const table = isDifference ? DIVERGING : CIVIDIS;
  const rgb = table[below].map((it, i) => Math.round(it + part * (table[below + 1][i] - it)));
  // Relative luminance (WCAG 2.2): above 0.179, black has the higher contrast.
  const [red, green, blue] = rgb.map((it) => (it <= 10 ? it / 3294 : ((it / 255 + 0.055) / 1.055) ** 2.4));
  const isLight = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
  return { background: `rgb(${rgb.join()})`, text: isLight ? "#000" : "#fff" };
}

/** log2 of a ratio that is as good as one. */
const EQUAL = Math.log2(1.01);

/**
 * How many lines of a map lie below a value: where B has 1 % less and 1 % more than A, or quarters from the least to the
 * most value.
 * @param {number} value
 * @param {Map<string, number>} values of all cells
 * @param {boolean} isDifference log2 of B / A
 */
export function linesBelow(value, values, isDifference) {
  if (isDifference) return Number(value > -EQUAL) + Number(value > EQUAL);
  const all = [...values.values()];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return most > least ? Math.min(3, Math.floor((4 * (value - least)) / (most - least))) : 0;
}

/** A cell's value as text. @param {number} value @param {boolean} isDifference */
export function cellText(value, isDifference) {
  if (!isDifference) return value >= 1000 ? value.toFixed(0) : rounded(value);
  const ratio = 2 ** value;
  return ratio >= 2 || ratio <= 0.5 ? `× ${ratio.toPrecision(2)}` : `${ratio >= 1 ? "+" : "−"}${Math.abs(100 * (ratio - 1)).toFixed(0)} %`;
}
