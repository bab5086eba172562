// SPDX-License-Identifier: GPL-2.0-only
/** @file Packets of a run that move on a canvas: its queue, its link and what comes back. */

/** @typedef {import("./trace.mjs").Life} Life */
/**
 * What the senders of a kind of flows have under way, and may have at most, by probe, in segments.
 * @typedef {{kind: string, time: number[], inFlight: number[], window: number[]}} Loop
 */

/** Seconds of a screen that one RTT takes, at each speed. */
export const SPEEDS = [16, 8, 4, 2, 1];
/** For so much of an RTT one sees a packet fall, or go into a tunnel. */
const FALL = 0.25;
const HEIGHT = 270;

export class Film {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(words: string) => void} tell what there is to see, when it stands still
   * @param {(isPlaying: boolean) => void} tellPlaying that it begins to play, or stops
   */
  constructor(canvas, tell, tellPlaying) {
    this.canvas = canvas;
    this.tell = tell;
    this.tellPlaying = tellPlaying;
    /** @type {Life[]} */ this.lives = [];
    /** @type {import("./trace.mjs").Inner[]} */ this.inner = [];
    /** @type {Loop[]} */ this.loops = [];
    this.time = this.begin = this.end = 0;
    this.rtt = 0.04;
    this.speed = 4;
    this.hasTunnel = false;
    this.plays = false;
    this.frames = 0;
    this.before = 0;
    this.mostWaiting = 1;
    this.step = this.step.bind(this);
  }

  /**
   * @param {{lives: Life[], inner: import("./trace.mjs").Inner[]}} trace
   * @param {{begin: number, end: number, rtt: number, hasTunnel: boolean, loops: Loop[]}} of s
   */
  show(trace, of) {
    Object.assign(this, trace, of);
    this.time = of.begin;
    let waiting = 0;
    const moments = this.lives.flatMap((it) => (it.isForward && Number.isFinite(it.leaves) ? [[it.begin, 1], [it.leaves, -1]] : []));
    moments.sort((a, b) => a[0] - b[0]);
    this.mostWaiting = moments.reduce((most, [, by]) => Math.max(most, (waiting += by)), 1);
    this.draw();
  }

  get isPlaying() {
    return this.plays;
  }

  set isPlaying(plays) {
    if (plays !== this.plays) this.tellPlaying(plays);
    this.plays = plays;
  }

  play() {
    if (this.time >= this.end) this.time = this.begin;
    this.isPlaying = true;
    this.before = performance.now();
    requestAnimationFrame(this.step);
  }

  pause() {
    this.isPlaying = false;
    this.draw();
  }

  /** @param {number} now ms */
  step(now) {
    if (!this.isPlaying) return;
    this.time = Math.min(this.end, this.time + ((now - this.before) / 1000) * (this.rtt / this.speed));
    this.before = now;
    this.frames += 1;
    if (this.time >= this.end) this.isPlaying = false;
    this.draw();
    requestAnimationFrame(this.step);
  }

  /** To where something next happens to a packet, or last did. @param {number} by 1 or -1 */
  stepPacket(by) {
    this.isPlaying = false;
    let next = by > 0 ? this.end : this.begin;
    for (const it of this.lives) {
      for (const at of [it.begin, it.leaves, it.end]) {
        if (by > 0 && at > this.time + 1e-9 && at < next) next = at;
        if (by < 0 && at < this.time - 1e-9 && at > next) next = at;
      }
    }
    this.time = next;
    this.draw();
  }

  /** @param {number} by 1 or -1 */
  stepRtt(by) {
    this.isPlaying = false;
    this.time = Math.min(this.end, Math.max(this.begin, this.time + by * this.rtt));
    this.draw();
  }

  draw() {
    const { canvas, time } = this;
    const ctx = canvas.getContext("2d");
    if (!ctx) return;
    const [width, scale] = [canvas.clientWidth || 600, devicePixelRatio];
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = HEIGHT * scale;
    }
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ it) => style.getPropertyValue(`--${it}`).trim();
    /** @type {Record<string, string>} */
    const colours = { first: colour("first"), other: colour("other"), beside: colour("text") };
    ctx.fillStyle = colour("ground");
    ctx.fillRect(0, 0, width, HEIGHT);

    const side = Math.min(70, 0.14 * width);
    const queue = { left: side + 8, right: side + 8 + 0.34 * (width - 2 * side), top: 62, height: 44 };
    const wire = { left: queue.right + 4, right: width - side - 4 };
    const [lane, back] = [queue.top + queue.height / 2, 176];
    ctx.font = "13px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.strokeStyle = colour("quiet");
    ctx.fillStyle = colour("box");
    for (const [left, name] of /** @type {[number, string][]} */ ([[1, "client"], [width - side - 1, "server"]])) {
      ctx.fillStyle = colour("box");
      ctx.fillRect(left, 46, side, 150);
      ctx.strokeRect(left, 46, side, 150);
      ctx.fillStyle = colour("text");
      ctx.fillText(name, left + side / 2, left === 1 ? 63 : 125);
      if (this.hasTunnel) {
        ctx.strokeStyle = colours.first;
        ctx.strokeRect(left === 1 ? side - 12 : left, lane - 14, 13, 28);
        ctx.strokeStyle = colour("quiet");
      }
    }
    ctx.strokeRect(queue.left, queue.top, queue.right - queue.left, queue.height);
    ctx.setLineDash([2, 4]);
    ctx.beginPath();
    for (const [y, left] of [[lane, wire.left], [back, side + 4]]) {
      ctx.moveTo(left, y);
      ctx.lineTo(wire.right, y);
    }
    ctx.stroke();
    ctx.setLineDash([]);
    // The loop: what arrives is acknowledged, and what is acknowledged lets the next packet go.
    ctx.fillStyle = colour("quiet");
    for (const [x, y, by] of [[queue.left, lane, 6], [wire.right + 3, lane, 6], [side + 2, back, -6]]) {
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x - by, y - 4);
      ctx.lineTo(x - by, y + 4);
      ctx.fill();
    }
    const held = this.loops.map(({ kind, time: times, inFlight, window }) => {
      const after = times.findIndex((it) => it > time);
      const probe = after < 0 ? times.length - 1 : Math.max(0, after - 1);
      return { kind, inFlight: Math.round(inFlight[probe]), window: Math.round(window[probe]) };
    });
    const gauge = { bottom: 190, height: 80, wide: (side - 8) / Math.max(1, held.length) };
    held.forEach(({ kind, inFlight, window }, i) => {
      const part = Math.min(1, inFlight / Math.max(1, window)) * gauge.height;
      const left = 5 + i * gauge.wide;
      ctx.strokeStyle = ctx.fillStyle = colours[kind];
      ctx.strokeRect(left, gauge.bottom - gauge.height, gauge.wide - 3, gauge.height);
      ctx.fillRect(left, gauge.bottom - part, gauge.wide - 3, part);
      ctx.textAlign = "left";
      ctx.fillText(`${inFlight} of ${window} in flight`, 2, 214 + 16 * i);
    });

    const fall = FALL * this.rtt;
    /** @type {Life[]} */ const waiting = [];
    const seen = { wire: 0, back: 0, fallen: 0 };
    for (const it of this.lives) {
      if (it.begin > time) break;
      if (it.isForward && it.leaves > time && !it.fate.startsWith("drop")) {
        if (it.leaves !== Infinity || it.end === Infinity) waiting.push(it);
      } else if (/drop|lost/.test(it.fate)) {
        const part = (time - it.end) / fall;
        if (part > 1) continue;
        seen.fallen += 1;
        const x = it.fate.startsWith("lost") ? (it.isForward ? wire.left + 20 : wire.right - 20) : queue.left + 8;
        packet(ctx, it, colours, x, lane + 20 + part * 130, 1 - part, colour("warned"));
      } else if (it.end > time) {
        const part = (time - it.leaves) / (it.end - it.leaves);
        seen[it.isForward ? "wire" : "back"] += 1;
        if (it.isForward) packet(ctx, it, colours, wire.left + part * (wire.right - wire.left), lane, 1, colour("warned"));
        else packet(ctx, it, colours, wire.right - part * (wire.right - side - 4), back, 1, colour("warned"));
      }
    }
    // The queue: what leaves first is at its right end.
    waiting.sort((a, b) => a.leaves - b.leaves || a.begin - b.begin);
    const slot = Math.min(9, (queue.right - queue.left - 4) / this.mostWaiting);
    waiting.forEach((it, i) => {
      ctx.fillStyle = colours[it.kind];
      ctx.fillRect(queue.right - 2 - (i + 1) * slot, queue.top + 5, Math.max(0.6, slot - (slot > 3 ? 1.5 : 0)), queue.height - 10);
    });
    for (const it of this.inner) {
      const part = (time - it.time) / fall;
      if (part < 0 || part > 1) continue;
      const x = it.isIn ? side - 6 - 22 * (1 - part) : width - side + 6 + 22 * part;
      ctx.globalAlpha = it.isIn ? 1 : 1 - part;
      ctx.strokeStyle = colours.first;
      ctx.strokeRect(x - 4, lane - 4, 8, 8);
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = colour("text");
    ctx.textAlign = "left";
    const clock = `${time.toFixed(4)} s`;
    ctx.fillText(clock, 4, 20);
    ctx.textAlign = "center";
    const words = `queue: ${waiting.length} packets`;
    ctx.fillText(words, (queue.left + queue.right) / 2, 54);
    if (width > 500) ctx.fillText(`on the way: ${seen.wire}`, (wire.left + wire.right) / 2, 54);
    ctx.fillText(`coming back: ${seen.back}`, (side + wire.right) / 2, back + 26);
    if (this.isPlaying) return;
    const windows = held.map((it) => `${it.inFlight} of a window of ${it.window} segments in flight`).join("; others: ");
    this.tell(`${clock}: ${words}, ${seen.wire} on the way, ${seen.back} coming back, ${seen.fallen} just lost. ${windows}.`);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Life} it @param {Record<string, string>} colours @param {number} x @param {number} y @param {number} alpha @param {string} warned */
function packet(ctx, it, colours, x, y, alpha, warned) {
  const [wide, high] = it.isData ? [9, 14] : [5, 6];
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colours[it.kind];
  ctx.fillRect(x - wide / 2, y - high / 2, wide, high);
  ctx.lineWidth = 2;
  if (it.isTunnel && it.isData) {
    ctx.strokeStyle = colours[it.kind];
    ctx.lineWidth = 1;
    ctx.strokeRect(x - wide / 2 - 3, y - high / 2 - 3, wide + 6, high + 6);
  }
  ctx.lineWidth = 2;
  ctx.strokeStyle = warned;
  if (it.isResent) ctx.strokeRect(x - wide / 2 - 1, y - high / 2 - 1, wide + 2, high + 2);
  if (it.fate.startsWith("marked")) {
    ctx.beginPath();
    ctx.arc(x, y - high / 2 - 6, 2.5, 0, 7);
    ctx.fillStyle = warned;
    ctx.fill();
  }
  ctx.lineWidth = 1;
  ctx.globalAlpha = 1;
}
