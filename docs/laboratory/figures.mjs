// SPDX-License-Identifier: GPL-2.0-only
/** @file The page's figures, drawn with uPlot. */

/** Probes that goodput and shares are means of: a second. */
const MEAN_OF = 10;
/** Samples that a figure draws at most for each line. */
const MOST_POINTS = 600;

/** Colours and dashes of the two kinds of flows, from the page's style. */
const KINDS = [
  { colour: "--first", dash: [] },
  { colour: "--other", dash: [8, 4] },
];

/**
 * Draw the four figures of a result.
 * @param {ReturnType<import("./summary.mjs").summary>} shown
 * @param {boolean[]} isFirst of each part, whether it is the first kind of flows
 * @param {number} rate bit/s
 */
export function drawFigures(shown, isFirst, rate) {
  const step = Math.max(1, Math.ceil(shown.time.length / MOST_POINTS));
  const thin = (/** @type {(number | null)[]} */ line) => line.filter((_, i) => i % step === 0);
  const styles = isFirst.map((it) => KINDS[it ? 0 : 1]);
  const time = thin(shown.time);
  const means = shown.parts.map((it) => runningMean(it.series.goodput));

  draw("goodput", time, means.map((line, i) => ({ line: thin(line.map((it) => it / 1e6)), ...styles[i] })), rate / 1e6);
  const totals = means[0].map((_, i) => means.reduce((total, line) => total + line[i], 0));
  draw(
    "share",
    time,
    means.map((line, i) => ({
      line: thin(line.map((it, j) => (totals[j] > 0 ? (100 * it) / totals[j] : null))),
      ...styles[i],
    })),
    100,
  );
  draw(
    "cwnd",
    time,
    shown.parts.flatMap((it, i) => it.series.cwnd.map((line) => ({ line: thin(line), ...styles[i] }))),
    0,
  );
  const queue = thin(shown.queue.map((/** @type {number} */ it) => (8e3 * it) / rate));
  draw("queueing", time, [{ line: queue, colour: "--text", dash: [] }], 0);
}

/** Draw the figures again, in the size and the colours that they have now. */
export function redrawFigures() {
  for (const [name, figure] of drawn) draw(name, ...figure.given);
}

/**
 * @typedef {{line: (number | null)[], colour: string, dash: number[]}} Line
 * @type {Map<string, {plot: any, given: [(number | null)[], Line[], number]}>}
 */
const drawn = new Map();

/**
 * @param {string} name of the element
 * @param {(number | null)[]} time s
 * @param {Line[]} lines
 * @param {number} least what the axis reaches to, at least
 */
function draw(name, time, lines, least) {
  const place = /** @type {HTMLElement} */ (document.getElementById(name));
  drawn.get(name)?.plot.destroy();
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ it) => style.getPropertyValue(it).trim();
  const axis = {
    stroke: colour("--text"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { show: false },
    font: "14px system-ui, sans-serif",
  };
  const { uPlot } = /** @type {any} */ (globalThis);
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: Math.max(170, Math.min(240, place.clientWidth / 2)),
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, 1.05 * Math.max(most || 0, least) || 1] } },
      axes: [
        { ...axis, space: 60, size: 30 },
        { ...axis, size: 56, space: 30 },
      ],
      series: [
        {},
        ...lines.map((it) => ({ stroke: colour(it.colour), dash: it.dash, width: 2, points: { show: false } })),
      ],
    },
    [time, ...lines.map((it) => it.line)],
    place,
  );
  drawn.set(name, { plot, given: [time, lines, least] });
}

/** @param {number[]} line */
function runningMean(line) {
  let total = 0;
  return line.map((value, i) => {
    total += value - (i >= MEAN_OF ? line[i - MEAN_OF] : 0);
    return Math.max(0, total / Math.min(i + 1, MEAN_OF));
  });
}
