// SPDX-License-Identifier: GPL-2.0-only
/** @file The laboratory's page: choices, runs and what they show. */

import { drawFigures, redrawFigures } from "./figures.mjs";
import {
  SEGMENT, commandLine, differing, hasCarrier, kinds, numberOf, problemsOf, readAddress, specification, stateOf, toml, values, writeAddress,
} from "./experiment.mjs";
import { AXES, METRICS, Pool, cellText, colours, fillMap, linesBelow, parts } from "./maps.mjs";
import { Film, SPEEDS } from "./packets.mjs";
import { livesOf, traceOf } from "./trace.mjs";
import { readScenario } from "./scenario.mjs";
import { differences, rounded, summary } from "./summary.mjs";

/** After so long, a run of what is no longer wanted is ended, ms. */
const PATIENCE = 150;

/** @type {(id: string) => any} */
const element = (id) => document.getElementById(id);
/** @type {(selector: string) => Element} */
const first = (selector) => /** @type {Element} */ (document.querySelector(selector));

/**
 * Runs specifications in a worker, the latest one only. A second worker waits, so that one that is
 * to stop can be ended at once.
 */
class Engine {
  /**
   * @param {WebAssembly.Module} module
   * @param {string} script of the worker
   * @param {(message: any) => void} listener told of progress, results and failures
   */
  constructor(module, script, listener) {
    this.module = module;
    this.listener = listener;
    this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    /** @type {Worker[]} */ this.workers = [this.worker(), this.worker()];
    /** @type {string | null} */ this.waiting = null;
    this.isRunning = false;
    this.begin = 0;
  }

  worker() {
    const worker = new Worker(this.address);
    worker.postMessage({ module: this.module });
    worker.onmessage = ({ data }) => this.answered(data);
    worker.onerror = (event) => this.answered({ failure: event.message || "The worker failed." });
    return worker;
  }

  /** @param {string} specification */
  run(specification) {
    if (this.isRunning) {
      this.waiting = specification;
      const passed = performance.now() - this.begin;
      setTimeout(() => this.waiting && this.isRunning && this.hurry(), Math.max(0, PATIENCE - passed));
      return;
    }
    this.isRunning = true;
    this.begin = performance.now();
    this.workers[0].postMessage({ specification });
  }

  /** End the run for the one that waits. */
  hurry() {
    if (performance.now() - this.begin < PATIENCE) return;
    const next = this.waiting;
    this.stop();
    if (next) this.run(next);
  }

  stop() {
    if (!this.isRunning) return;
    const worker = /** @type {Worker} */ (this.workers.shift());
    worker.onmessage = worker.onerror = null;
    worker.terminate();
    this.workers.push(this.worker());
    this.isRunning = false;
    this.waiting = null;
  }

  /** @param {any} message */
  answered(message) {
    if (message.progress !== undefined) {
      this.listener(message);
      return;
    }
    this.isRunning = false;
    const next = this.waiting;
    this.waiting = null;
    if (next) this.run(next);
    else this.listener(message);
  }
}

/** @type {import("./experiment.mjs").Data} */ let data;
/** @type {import("./experiment.mjs").State} */ let state;
/** @type {Engine} */ let engine;
/** @type {Engine | null} */ let engineOfA = null;
/** @type {WebAssembly.Module} */ let module;
let asked = 0;
/** @typedef {{of: import("./experiment.mjs").Choices, shown: ReturnType<typeof summary>}} Shown */
/** What was shown last. @type {Shown | null} */ let latest = null;
/** The same of A. @type {Shown | null} */ let ofA = null;
/** States before, as addresses. @type {string[]} */ const before = [];
/** Every change of a slider while it is held is one step of undo. */
let held = "";

/** @param {string} packed gzip in base64 */
async function unpacked(packed) {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** @param {string} id */
const embedded = (id) => element(id).textContent;

async function begin() {
  const [known, result] = await Promise.all(["data", "first"].map((it) => unpacked(embedded(it))));
  const parsed = (/** @type {ArrayBuffer} */ it) => JSON.parse(new TextDecoder().decode(it));
  data = parsed(known);
  document.body.classList.toggle("embedded", new URLSearchParams(location.search).has("embed"));
  fillForm();
  readLocation();
  const { choices } = state;
  if (differing(choices, data.defaults).length === 0) {
    latest = { of: choices, shown: summary(data, choices, parsed(result)) };
    showAll();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); // it is painted first
  }
  module = await WebAssembly.compile(await unpacked(embedded("module")));
  engine = new Engine(module, embedded("worker"), show);
  update();
}

function fillForm() {
  for (const key of Object.keys(data.defaults)) {
    const control = element(key);
    if (key in data.stops) {
      control.max = String(data.stops[key].length - 1);
    } else {
      control.append(...values(data, key).map((it) => new Option(shownName(key, it), it)));
    }
    control.addEventListener("input", () => choose(key));
    control.addEventListener("change", () => (held = ""));
  }
  for (const id of ["map-x", "map-y"]) {
    element(id).append(...AXES.map((it) => new Option(labelOf(it), it)));
  }
  element("map-metric").append(...Object.entries(METRICS).map(([name, it]) => new Option(it.name, name)));
  element("map-x").value = "rtt";
  element("map-y").value = "loss";
  fillPackets();
  element("preset").append(...Object.entries(data.stories).map(([name, it]) => new Option(it.title, name)));
  /** @type {Record<string, () => void>} */
  const clicked = {
    stop() {
      engine.stop();
      say("Stopped.");
      setRunning(false);
    },
    reset: () => become(stateOf(data, "")),
    undo,
    pin: () => become({ ...state, pinned: { ...state.choices }, map: "" }),
    unpin: () => become({ ...state, pinned: null, map: "" }),
    "map-fill"() {
      if (element("map-x").value === element("map-y").value) tell(["A map has two different sliders."]);
      else become({ ...state, map: mapAsked() });
    },
    "map-close": () => become({ ...state, map: "" }),
    swap: () => state.pinned && become({ ...state, choices: state.pinned, pinned: state.choices, map: "" }),
    open() {
      const { choices, problems } = readScenario(data, element("file").value);
      if (problems.length > 0) tell(problems);
      else become({ preset: "", choices, pinned: null, map: "" });
    },
  };
  for (const [id, act] of Object.entries(clicked)) element(id).addEventListener("click", act);
  element("preset").addEventListener("input", () => become(stateOf(data, element("preset").value)));
  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.addEventListener("click", () => copy(/** @type {HTMLElement} */ (button)));
  }
  addEventListener("keydown", (event) => {
    const isText = event.target instanceof HTMLTextAreaElement;
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !isText) {
      event.preventDefault();
      undo();
    }
  });
  addEventListener("hashchange", () => {
    if (location.hash.slice(1) !== writeAddress(data, state)) {
      readLocation();
      update();
    }
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redrawFigures();
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawFigures);
}

/** Have another state, which can be undone. @param {import("./experiment.mjs").State} next @param {string} by the control that is held */
function become(next, by = "") {
  if (!by || by !== held) before.push(writeAddress(data, state));
  held = by;
  state = next;
  tell([]);
  showChoices();
  update();
}

function undo() {
  const last = before.pop();
  if (last === undefined) return;
  held = "";
  const { problems, ...old } = readAddress(data, last);
  state = old;
  tell([]);
  showChoices();
  update();
}

/** @param {string} key @param {string} name */
function shownName(key, name) {
  const about = data.names[key][name];
  return key === "queue" && name !== "drop-tail" ? about : about.includes("(not the product)") ? `${name} (not the product)` : name;
}

function readLocation() {
  const { problems, ...read } = readAddress(data, location.hash.slice(1));
  state = read;
  tell(problems);
  showChoices();
}

/** @param {string} key */
function choose(key) {
  const control = element(key);
  const choices = { ...state.choices };
  choices[key] = key in data.stops ? data.stops[key][Number(control.value)].text : control.value;
  if (key === "tunnel" && !hasCarrier(data, choices)) choices.carrier_cc = "default";
  become({ ...state, choices }, key);
}

function showChoices() {
  element("packets-shown").hidden = true; // they are of another run
  if (film?.isPlaying) film.pause();
  element("packets-status").textContent = "";
  const { choices, preset, pinned } = state;
  element("preset").value = preset;
  element("story").hidden = !preset;
  if (preset) {
    const { title, text, question, file, toml: scenario } = data.stories[preset];
    element("story-file").hidden = !file;
    element("story-command").textContent = `tunnelcc run ${file?.split("/").at(-1)}`;
    element("story-toml").textContent = scenario ?? "";
    element("story-title").textContent = title;
    element("story-text").textContent = text;
    element("story-question").textContent = question;
  }
  element("undo").disabled = before.length === 0;
  for (const id of ["swap", "unpin", "ghost-note"]) element(id).hidden = !pinned;
  element("pinned").textContent = pinned ? pinnedWords(choices, pinned) : "";
  for (const key of Object.keys(data.defaults)) {
    const control = element(key);
    if (key in data.stops) {
      const text = shownValue(key, choices[key]);
      control.value = String(data.stops[key].findIndex((it) => it.text === choices[key]));
      control.setAttribute("aria-valuetext", text);
      first(`output[for="${key}"]`).textContent = text;
    } else {
      control.value = choices[key];
    }
  }
  element("carrier_cc").disabled = choices.carrier_cc === "default" && !hasCarrier(data, choices);
  const about = ["tunnel", "cc", "carrier_cc", "other_cc"]
    .map((key) => [key, choices[key]])
    .filter(([, name]) => name !== "none" && name !== "default")
    .map(([key, name]) => `${name}: ${data.names[key][name]}.`);
  element("about").textContent = [...new Set(about)].join(" ");
}

/** A choice as a sentence has it. @param {string} key */
function labelOf(key) {
  const name = first(`label[for="${key}"]`).textContent ?? "";
  return `${key.startsWith("other_") ? "others: " : ""}${name.replace(/^[A-Z](?=[a-z])/, (it) => it.toLowerCase())}`;
}

/** In what A differs. @param {import("./experiment.mjs").Choices} choices @param {import("./experiment.mjs").Choices} pinned */
function pinnedWords(choices, pinned) {
  const labels = differing(choices, pinned).map((key) => {
    return `${labelOf(key)} ${shownValue(key, pinned[key])} in A, ${shownValue(key, choices[key])} in B`;
  });
  return labels.length > 0 ? `${labels.join("; ")}.` : "A is this run. Change something: that is B.";
}

/** @param {string} key @param {string} text */
function shownValue(key, text) {
  return key === "seed" ? text : text.replace(/^([\d.]+)([a-zA-Z%]+)$/, (_, number, unit) =>
    `${number} ${{ Mbps: "Mbit/s", bdp: "BDP" }[/** @type {string} */ (unit)] ?? unit}`);
}

/** Show what repeats the experiment, and run it. */
function update() {
  const { choices, pinned } = state;
  const address = writeAddress(data, state);
  try {
    history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
  } catch {
    location.hash = address;
  }
  element("link").textContent = location.href.replace("?embed", "");
  element("whole-link").href = location.href.replace("?embed", "");
  element("command").textContent = commandLine(data, choices);
  element("toml").textContent = toml(data, choices);
  showMap();
  const memory = /** @type {any} */ (navigator).deviceMemory;
  const part = memory && memory < 4 ? memory / 4 : 1;
  const problems = problemsOf(data, choices, part);
  if (problems.length > 0) {
    engine.stop();
    setRunning(false);
    tell(problems);
    say("Not run.");
    return;
  }
  asked = performance.now();
  setRunning(true);
  engine.run(JSON.stringify(specification(data, choices)));
  if (!pinned) ofA = null;
  else if (latest && differing(latest.of, pinned).length === 0) ofA = latest;
  else if (!ofA || differing(ofA.of, pinned).length > 0) {
    ofA = null;
    if (problemsOf(data, pinned, part).length > 0) return;
    engineOfA ??= new Engine(module, embedded("worker"), showA);
    engineOfA.run(JSON.stringify(specification(data, pinned)));
  }
}

/** @param {any} message of the engine */
function show(message) {
  const { choices } = state;
  if (message.progress !== undefined) {
    say(`${message.progress.toFixed(0)} of ${shownValue("duration", choices.duration)} simulated.`);
    return;
  }
  setRunning(false);
  if (message.failure) {
    tell([message.failure]);
    say("Not run.");
    return;
  }
  latest = { of: choices, shown: summary(data, choices, message.result) };
  showAll();
  const passed = performance.now() - asked;
  document.body.dataset.milliseconds = passed.toFixed(0);
  document.body.dataset.runs = String(Number(document.body.dataset.runs ?? 0) + 1);
  say(`${shownValue("duration", choices.duration)} simulated in ${(message.milliseconds / 1000).toFixed(2)} s: ` +
    `${latest.shown.events.toLocaleString("en")} events.`);
}

/** @param {any} message of the engine of A */
function showA(message) {
  if (!message.result || !state.pinned) return;
  ofA = { of: state.pinned, shown: summary(data, state.pinned, message.result) };
  if (latest) showAll();
}

function showAll() {
  if (!latest) return;
  drawFigures(asDrawn(latest), ofA && asDrawn(ofA));
  showNumbers(latest.shown);
  showDifferences();
  document.body.dataset.first ??= performance.now().toFixed(0);
}

/** What figures ask of a run. @param {{of: import("./experiment.mjs").Choices, shown: ReturnType<typeof summary>}} run */
function asDrawn({ of, shown }) {
  const [rate, rtt] = ["rate", "rtt"].map((key) => numberOf(data, of, key));
  return { shown, rate, rtt, isFirst: kinds(data, of).map((_, i) => i === 0), bdp: (rate * rtt) / 8 / data.packet };
}

function showDifferences() {
  element("differences").hidden = !ofA;
  document.body.dataset.compared = String(Boolean(ofA));
  if (!ofA || !latest) return;
  const rows = differences(ofA.shown, latest.shown).map((it) => {
    const row = document.createElement("tr");
    row.append(
      Object.assign(document.createElement("th"), { textContent: it.name, scope: "row" }),
      ...[it.a, it.b, it.change].map((text) => Object.assign(document.createElement("td"), { textContent: text })),
    );
    return row;
  });
  first("#differences tbody").replaceChildren(...rows);
}

/** As the command says it. @param {ReturnType<typeof summary>["parts"][0]["limitedBy"]} cause */
function limitedWords(cause) {
  if (!cause) return "–";
  const share = `${Number((100 * cause.share).toPrecision(3))} % of the time`;
  return `${cause.text}, ${share}${cause.keys ? `; ${cause.keys} changes it` : ""}`;
}

/** A trace has at most so many bytes, and this many packets of 1500 bytes could pass the link in its time. */
const TRACE = { bytes: 8e6, packets: 3000 };
/** A trace lasts this many RTTs, if the packets allow it. */
const TRACE_RTTS = 25;
/** @type {Film} */ let film;
/** @type {Worker | null} */ let tracer = null;

function fillPackets() {
  film = new Film(
    element("film"),
    (words) => (element("packets-status").textContent = words),
    (isPlaying) => (element("packets-play").textContent = isPlaying ? "Pause" : "Play"),
  );
  element("packets-speed").append(...SPEEDS.map((it) => new Option(`${it} s`, String(it), it === 4, it === 4)));
  const from = () => Math.round(Number(element("packets-from").value) * numberOf(data, state.choices, "duration") * 0.95) / 100;
  const showFrom = () => {
    element("packets-from-value").textContent = `${from()} s`;
    element("packets-from").setAttribute("aria-valuetext", `${from()} s`);
  };
  element("packets-from").addEventListener("input", showFrom);
  element("packets-speed").addEventListener("input", () => (film.speed = Number(element("packets-speed").value)));
  /** @type {Record<string, () => void>} */
  const clicked = {
    show: () => trace(from()),
    play: () => (film.isPlaying ? film.pause() : film.play()),
    back: () => film.stepPacket(-1),
    next: () => film.stepPacket(1),
    "rtt-back": () => film.stepRtt(-1),
    rtt: () => film.stepRtt(1),
    save: saveFilm,
  };
  for (const [name, act] of Object.entries(clicked)) {
    element(`packets-${name}`).addEventListener("click", act);
  }
}

/** Ask for the packets from a time on. @param {number} from s */
function trace(from) {
  const { choices } = state;
  if (problemsOf(data, choices).length > 0) return;
  const number = (/** @type {string} */ key) => numberOf(data, choices, key);
  const rtt = Math.max(number("rtt"), number("other_rtt"));
  const most = (8 * 1500 * TRACE.packets) / Math.max(number("rate"), number("later_rate"));
  const until = Math.min(number("duration"), from + Math.min(TRACE_RTTS * rtt, Math.max(most, 2 * rtt)));
  const { specification: spec, capture, of } = traceOf(data, choices);
  // A little longer: what is under way at the beginning and at the end has been sent and arrives.
  const margin = rtt + bufferTime(spec);
  element("packets-status").textContent = "The run is repeated, and its packets are traced.";
  if (!tracer) {
    tracer = new Worker(engine.address);
    tracer.postMessage({ module });
  }
  tracer.onmessage = ({ data: message }) => {
    if (message.progress !== undefined) return;
    if (message.failure) {
      element("packets-status").textContent = message.failure;
      return;
    }
    const made = livesOf(message.packets, of);
    element("packets-shown").hidden = false;
    film.show(made, { begin: from, end: until, rtt: number("rtt"), hasTunnel: of.hasTunnel, loops: loops() });
    document.body.dataset.packets = String(made.lives.length);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) film.play();
  };
  const asked = { ...spec, duration: Math.round(Math.min(number("duration"), until + margin) * 1e9) };
  tracer.postMessage({
    specification: JSON.stringify(asked), capture: JSON.stringify({ ...capture, limit: TRACE.bytes }), from: Math.max(0, from - margin),
  });
}

/** Windows of the run's senders, and what they have in flight. */
function loops() {
  if (!latest) return [];
  const { shown, of } = latest;
  const added = (/** @type {number[][]} */ lines) => lines[0].map((_, i) => lines.reduce((total, it) => total + it[i], 0));
  return kinds(data, of).map((kind, i) => {
    const { cwnd, inFlight } = shown.parts[i].series;
    const segments = added(inFlight).map((it) => it / SEGMENT);
    return { kind: i === 0 ? "first" : "other", time: shown.time, window: added(cwnd), inFlight: segments };
  });
}

/** For how long a packet may wait in a full queue, s. @param {any} spec */
const bufferTime = (spec) => (8 * spec.links[0].forward.buffer_bytes) / spec.links[0].forward.rate;

/** Record the film from here on, as long as it plays, 20 s at most. */
function saveFilm() {
  if (typeof MediaRecorder === "undefined") {
    element("packets-status").textContent = "This browser cannot record a film.";
    return;
  }
  const recorder = new MediaRecorder(element("film").captureStream(30), { mimeType: "video/webm" });
  /** @type {Blob[]} */ const parts = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  recorder.onstop = () => {
    const film = new Blob(parts, { type: "video/webm" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(film), download: "packets.webm" });
    document.body.dataset.film = String(film.size);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  recorder.start();
  film.play();
  const begin = performance.now();
  const watch = setInterval(() => {
    if (film.isPlaying && performance.now() - begin < 20_000) return;
    clearInterval(watch);
    recorder.stop();
  }, 200);
}

/** @type {Pool | null} */ let pool = null;
/** What the map shows: it is filled again if that changes. */
let filled = "";

/** The map that is chosen. */
function mapAsked() {
  const [x, y, metric] = ["map-x", "map-y", "map-metric"].map((id) => element(id).value);
  return `${x},${y},${metric}${element("map-ab").checked && state.pinned ? ",ab" : ""}`;
}

function showMap() {
  const { choices, pinned, map } = state;
  for (const id of ["map-note", "map-close"]) element(id).hidden = !map;
  element("map").parentElement.hidden = !map;
  element("map-ab").disabled = !pinned;
  if (!map) {
    if (filled) pool?.stop();
    filled = "";
    element("map-status").textContent = "";
    return;
  }
  const [x, y, metric, isDifference] = parts(map);
  Object.entries({ x, y, metric }).forEach(([id, value]) => (element(`map-${id}`).value = value));
  element("map-ab").checked = isDifference;
  const others = (/** @type {any} */ it) => it && JSON.stringify({ ...it, [x]: "", [y]: "" });
  const wanted = [map, others(choices), isDifference ? others(pinned) : ""].join();
  const buttons = () => element("map").querySelectorAll("button");
  const mark = () => {
    for (const it of buttons()) it.classList.toggle("here", it.dataset.x === choices[x] && it.dataset.y === choices[y]);
  };
  if (wanted === filled) return mark();
  filled = wanted;
  const { name, unit } = METRICS[metric];
  const rows = data.stops[y].map((vertical) => {
    const row = document.createElement("tr");
    row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: shownValue(y, vertical.text) }));
    for (const horizontal of data.stops[x]) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "…" });
      button.dataset.x = horizontal.text;
      button.dataset.y = vertical.text;
      button.addEventListener("click", () =>
        become({ ...state, choices: { ...state.choices, [x]: horizontal.text, [y]: vertical.text } }));
      const cell = document.createElement("td");
      cell.append(button);
      row.append(cell);
    }
    return row;
  });
  const foot = document.createElement("tr");
  foot.append(document.createElement("td"), ...data.stops[x].map((it) =>
    Object.assign(document.createElement("th"), { scope: "col", textContent: shownValue(x, it.text) })));
  const caption = Object.assign(document.createElement("caption"), {
    textContent: `${isDifference ? "B beside A: " : ""}${name}${unit && !isDifference ? `, ${unit}` : ""}, over ${labelOf(x)} (across) and ${labelOf(y)} (up)`,
  });
  element("map").replaceChildren(caption, ...rows.reverse(), foot);
  const all = [...buttons()];
  const width = data.stops[x].length;
  const buttonAt = (/** @type {number} */ j, /** @type {number} */ i) => all[(data.stops[y].length - 1 - i) * width + j];
  element("map-status").textContent = "Filling the map.";
  element("map-lines").textContent = isDifference ? "where B has 1 % less or more than A" : "quarters from the least to the most";
  mark();
  pool ??= new Pool(() => {
    const worker = new Worker(engine.address);
    worker.postMessage({ module });
    return worker;
  }, navigator.hardwareConcurrency || 2);
  /** @type {Map<string, number>} */ let values = new Map();
  const paint = () => {
    for (const [key, value] of values) {
      const [j, i] = key.split(",").map(Number);
      const { background, text } = colours(value, values, isDifference);
      Object.assign(buttonAt(j, i).style, { background, color: text });
      const isLine = (/** @type {number} */ across, /** @type {number} */ up) => {
        const other = values.get(`${j + across},${i + up}`);
        return other !== undefined && linesBelow(other, values, isDifference) !== linesBelow(value, values, isDifference);
      };
      const { classList } = /** @type {HTMLElement} */ (buttonAt(j, i).parentElement);
      classList.toggle("line-right", isLine(1, 0));
      classList.toggle("line-above", isLine(0, 1));
    }
  };
  fillMap(data, state, pool, {
    cell(j, i, value) {
      const button = buttonAt(j, i);
      button.textContent = value === null ? "–" : cellText(value, isDifference);
      button.title = value === null ? "too large for a browser, or nothing was measured" : "";
    },
    values(now) {
      const isFirst = values.size === 0;
      values = now;
      if (isFirst) requestAnimationFrame(function again() {
        paint();
        if (filled === wanted && document.body.dataset.map !== wanted) requestAnimationFrame(again);
      });
    },
    done(milliseconds, count) {
      paint();
      document.body.dataset.map = wanted;
      element("map-status").textContent = `${count} runs in ${(milliseconds / 1000).toFixed(1)} s, on ${pool?.workers.length} workers.`;
    },
  });
}

/** @param {ReturnType<typeof summary>} shown */
function showNumbers(shown) {
  const headings = document.querySelectorAll("#flow-numbers th");
  const rows = shown.parts.map((it, i) => {
    const row = document.createElement("tr");
    const key = document.createElement("span");
    key.className = i === 0 ? "key first" : "key other";
    const cells = [
      `${it.count} × ${it.cc}${it.tunnel === "none" ? "" : ` in ${it.tunnel}`}`,
      `${rounded(it.goodput / 1e6)} Mbit/s`,
      `${(100 * it.share).toFixed(1)} %`,
      it.rtt === null ? "–" : `${rounded(1e3 * it.rtt)} ms`,
      String(it.retransmits),
      limitedWords(it.limitedBy),
    ].map((text) => Object.assign(document.createElement("td"), { textContent: text }));
    cells.forEach((cell, column) => (cell.dataset.label = headings[column].textContent ?? ""));
    cells[0].prepend(key, " ");
    row.append(...cells);
    return row;
  });
  first("#flow-numbers tbody").replaceChildren(...rows);
  const numbers = {
    "Goodput of all": `${rounded(shown.goodput / 1e6)} Mbit/s`,
    "Jain's index": shown.jain === null ? "–" : shown.jain.toFixed(3),
    "Utilisation of the path": `${(100 * shown.utilisation).toFixed(1)} %`,
    "Queueing delay, mean": `${rounded(1e3 * shown.queueDelayMean)} ms`,
    "Queueing delay, 95th percentile": `${rounded(1e3 * shown.queueDelayP95)} ms`,
    "Packets lost": `${shown.drops} by the queue, ${shown.randomLosses} at random`,
    ...(shown.pings === null ? {} : { "RTT of pings, median and 95 %": `${rounded(1e3 * shown.pings.median)} and ${rounded(1e3 * shown.pings.p95)} ms` }),
    ...(shown.call === null ? {} : {
      "Delay of the call, 95th percentile": `${rounded(1e3 * shown.call.delayP95)} ms`,
      "Call: lost, too late": `${(100 * shown.call.lost).toFixed(1)} %, ${(100 * shown.call.late).toFixed(1)} %`,
      "MOS of the call": shown.call.mos === null ? "–" : shown.call.mos.toFixed(2),
    }),
    ...(shown.marks === null ? {} : { "Packets marked": String(shown.marks) }),
  };
  element("path-numbers").replaceChildren(
    ...Object.entries(numbers).map(([name, text]) => {
      const group = document.createElement("div");
      group.append(
        Object.assign(document.createElement("dt"), { textContent: name }),
        Object.assign(document.createElement("dd"), { textContent: text }),
      );
      return group;
    }),
  );
}

/** @param {string} text */
function say(text) {
  element("status").textContent = text;
}

/** @param {string[]} problems */
function tell(problems) {
  element("problems").replaceChildren(
    ...problems.map((it) => Object.assign(document.createElement("p"), { textContent: it })),
  );
}

/** @param {boolean} isRunning */
function setRunning(isRunning) {
  element("stop").disabled = !isRunning;
  element("figures").classList.toggle("old", !isRunning && element("problems").hasChildNodes());
}

/** @param {HTMLElement} button */
async function copy(button) {
  const source = element(/** @type {string} */ (button.dataset.copies));
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    getSelection()?.selectAllChildren(source); // the browser keeps the clipboard to itself
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 1500);
}

if (typeof WebAssembly === "undefined" || typeof DecompressionStream === "undefined") {
  say("This browser is too old for the laboratory: it needs WebAssembly and DecompressionStream.");
} else {
  begin().catch((error) => {
    tell([`The laboratory could not start: ${error.message}`]);
    say("Not run.");
  });
}
