// SPDX-License-Identifier: GPL-2.0-only
/** @file The page's figures, drawn with uPlot. */

/** Probes that goodput and shares are means of: a second. */
const MEAN_OF = 10;
/** Samples that a figure draws at most for each line. */
const MOST_POINTS = 600;
/** Of the run that is pinned, lines are so opaque. */
const GHOST = 0.4;

/** Colours and dashes of the two kinds of flows, from the page's style. */
const KINDS = [
  { colour: "--first", dash: [] },
  { colour: "--other", dash: [8, 4] },
];

/**
 * @typedef {{line: (number | null)[], colour: string, dash: number[], name: string, ghost?: boolean}} Line
 * @typedef {{value: number, name: string, colour: string}} Level what a quantity is compared with
 * @typedef {{time: number, colour: string}} Mark of lost packets
 * @typedef {{time: number[], lines: Line[], least: number, levels: Level[], marks: Mark[], unit: string}} Figure
 * @typedef {{
 *   shown: ReturnType<import("./summary.mjs").summary>, isFirst: boolean[], rate: number, rtt: number, bdp: number,
 * }} Run `isFirst`: of each part, whether it is the first kind of flows; `bdp`: segments
 */

/**
 * Draw the five figures of a run, and behind it the lines of the one that is pinned.
 * @param {Run} run
 * @param {Run | null} ghost
 */
export function drawFigures(run, ghost) {
  const made = figuresOf(run);
  const behind = ghost ? figuresOf(ghost) : {};
  for (const [name, figure] of Object.entries(made)) {
    const other = behind[name];
    if (other) {
      const lines = other.lines.map((it) => ({ ...it, ghost: true, name: `A ${it.name}` }));
      const time = figure.time.length >= other.time.length ? figure.time : other.time;
      draw(name, { ...figure, time, least: Math.max(figure.least, other.least), lines: [...lines, ...figure.lines] });
    } else {
      draw(name, figure);
    }
  }
}

/** @param {Run} run @returns {Record<string, Figure>} */
function figuresOf({ shown, isFirst, rate, rtt, bdp }) {
  const step = Math.max(1, Math.ceil(shown.time.length / MOST_POINTS));
  const thin = (/** @type {(number | null)[]} */ line) => line.filter((_, i) => i % step === 0);
  const time = /** @type {number[]} */ (thin(shown.time));
  const styles = isFirst.map((it, i) => ({ ...KINDS[it ? 0 : 1], name: shown.parts[i].cc }));
  const means = shown.parts.map((it) => runningMean(it.series.goodput));
  const totals = means[0].map((_, i) => means.reduce((total, line) => total + line[i], 0));
  const flows = shown.parts.reduce((total, it) => total + it.count, 0);
  const fair = shown.parts.map((it) => it.count / flows);
  const levels = (/** @type {number} */ whole) =>
    shown.parts.length < 2 ? [] : styles.map((it, i) => ({ value: whole * fair[i], name: "fair share", colour: it.colour }));
  const own = (/** @type {number} */ i, /** @type {number[][]} */ lines) => lines.map((line) => ({ line: thin(line), ...styles[i] }));
  const delays = [
    ...shown.parts.flatMap((it, i) => own(i, it.series.srtt.map((line) => line.map((/** @type {number} */ one) => (one ? 1e3 * one : null))))),
    ...(shown.pings ? [{ line: thin(inMs(shown.pings.series)), colour: "--text", dash: [2, 3], name: "pings" }] : []),
    ...(shown.call ? [{ line: thin(inMs(shown.call.series)), colour: "--text", dash: [2, 3], name: "call, one way" }] : []),
  ];
  const dropped = increases(shown.time, shown.queueDrops).map((at) => ({ time: at, colour: "--warned" }));
  const resent = shown.parts.flatMap((it, i) =>
    it.series.retransmits.flatMap((line) => increases(shown.time, line).map((at) => ({ time: at, colour: styles[i].colour }))));
  const none = { time, levels: [], marks: [], least: 0 };
  return {
    goodput: {
      ...none, lines: means.map((line, i) => ({ line: thin(line.map((it) => it / 1e6)), ...styles[i] })),
      least: rate / 1e6, levels: levels(rate / 1e6), unit: "Mbit/s",
    },
    share: {
      ...none, least: 100, levels: levels(100), unit: "%",
      lines: means.map((line, i) => ({ line: thin(line.map((it, j) => (totals[j] > 0 ? (100 * it) / totals[j] : null))), ...styles[i] })),
    },
    rtts: { ...none, lines: delays, levels: [{ value: 1e3 * rtt, name: "without queue", colour: "--quiet" }], unit: "ms" },
    queueing: {
      ...none, lines: [{ line: thin(shown.queue.map((/** @type {number} */ it) => (8e3 * it) / rate)), colour: "--text", dash: [], name: "queue" }],
      marks: dropped, unit: "ms",
    },
    cwnd: {
      ...none, lines: shown.parts.flatMap((it, i) => own(i, it.series.cwnd)), marks: resent, unit: "segments",
      levels: [{ value: bdp, name: "BDP", colour: "--quiet" }],
    },
  };
}

/** @param {(number | null)[]} line s */
const inMs = (line) => line.map((it) => (it === null ? null : 1e3 * it));

/** When a count that only grows has grown. @param {number[]} time @param {number[]} counts @returns {number[]} */
function increases(time, counts) {
  return time.filter((_, i) => counts[i] > (i > 0 ? counts[i - 1] : 0));
}

/** Draw the figures again, in the size and the colours that they have now. */
export function redrawFigures() {
  for (const [name, it] of drawn) draw(name, it.figure);
}

/** @type {Map<string, {plot: any, figure: Figure}>} */
const drawn = new Map();

/**
 * @param {string} name of the element
 * @param {Figure} figure
 */
function draw(name, figure) {
  const { time, lines, least, levels, marks, unit } = figure;
  const place = /** @type {HTMLElement} */ (document.getElementById(name));
  const value = /** @type {HTMLElement} */ (document.getElementById(`${name}-value`));
  drawn.get(name)?.plot.destroy();
  value.textContent = "";
  const style = getComputedStyle(document.documentElement);
  /** @type {Record<string, string>} */ const known = {};
  const colour = (/** @type {string} */ it) => (known[it] ??= style.getPropertyValue(it).trim());
  const axis = {
    stroke: colour("--text"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { show: false },
    font: "14px system-ui, sans-serif",
  };
  const { uPlot } = /** @type {any} */ (globalThis);
  const highest = Math.max(least, ...levels.map((it) => it.value));
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: Math.max(170, Math.min(240, place.clientWidth / 2)),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: "laboratory" } },
      scales: { x: { time: false }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, 1.05 * Math.max(most || 0, highest) || 1] } },
      axes: [
        { ...axis, space: 60, size: 30 },
        { ...axis, size: 56, space: 30 },
      ],
      series: [
        {},
        ...lines.map((it) => ({
          stroke: colour(it.colour), dash: it.dash, width: it.ghost ? 4 : 2, alpha: it.ghost ? GHOST : 1, points: { show: false },
          spanGaps: it.dash[0] === 2,
        })),
      ],
      hooks: {
        draw: [(/** @type {any} */ it) => drawBeside(it, levels, marks, colour)],
        setCursor: [(/** @type {any} */ it) => (value.textContent = valuesAt(figure, it.cursor.idx, unit))],
      },
    },
    [time, ...lines.map((it) => [...it.line, ...Array(Math.max(0, time.length - it.line.length)).fill(null)])],
    place,
  );
  drawn.set(name, { plot, figure });
}

/** Lines that a quantity is compared with, and marks of losses, below the axis. @param {any} plot @param {Level[]} levels @param {Mark[]} marks @param {(name: string) => string} colour */
function drawBeside(plot, levels, marks, colour) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.lineWidth = scale;
  ctx.font = `${12 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  let before = NaN;
  for (const it of levels) {
    const y = plot.valToPos(it.value, "y", true);
    ctx.strokeStyle = ctx.fillStyle = colour(it.colour);
    ctx.setLineDash([2 * scale, 4 * scale]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    if (Math.abs(y - before) < 14 * scale) continue; // the same name is there already
    ctx.fillText(it.name, bbox.left + bbox.width - 4 * scale, y - 2 * scale);
    before = y;
  }
  ctx.setLineDash([]);
  ctx.lineWidth = 1.5 * scale;
  for (const it of marks) {
    const x = plot.valToPos(it.time, "x", true);
    ctx.strokeStyle = colour(it.colour);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x, bbox.top + bbox.height - 7 * scale);
    ctx.stroke();
  }
  ctx.restore();
}

/** What a figure shows at a time, as text. @param {Figure} figure @param {number | null | undefined} index @param {string} unit */
function valuesAt({ time, lines }, index, unit) {
  if (index === null || index === undefined) return "";
  const seen = new Set();
  const shown = lines.flatMap((it) => {
    const value = it.line[index];
    if (value === null || value === undefined || seen.has(it.name)) return [];
    seen.add(it.name);
    return [`${it.name} ${value >= 100 ? value.toFixed(0) : value.toPrecision(3)}`];
  });
  return `${time[index].toFixed(1)} s: ${shown.slice(0, 4).join(", ")} ${unit}`;
}

/** @param {number[]} line */
function runningMean(line) {
  let total = 0;
  return line.map((value, i) => {
    total += value - (i >= MEAN_OF ? line[i - MEAN_OF] : 0);
    return Math.max(0, total / Math.min(i + 1, MEAN_OF));
  });
}
