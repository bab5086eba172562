// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file What the laboratory's page lets one choose, as text of an address, as specification of the
 * models, as TOML and as command line. The choices, the specifications and all their numbers are
 * made by the Python package when the site is built (__init__.py); here a few numbers of them are
 * exchanged. Runs in the page and, for tests, in node.
 */

/**
 * @typedef {Object} Stop A value that a slider may have.
 * @property {string} text as the keys of an experiment take it: `100Mbps`
 * @property {number} value in SI units; of a buffer: BDP
 *
 * @typedef {Object} Template Specification of an experiment with one flow of each kind.
 * @property {any} spec
 * @property {string[][]} controls members of `spec` that are the congestion control of the first
 *   kind of flows, and of the second
 * @property {{places: string[], values: Record<string, any>}} carrierControls members of `spec` that
 *   are the congestion control of the tunnel's own connections, and what they can be, by its name
 * @property {Record<string, any[]>} counts members of `spec` that depend on the number of flows of
 *   the first kind, from one on
 * @property {number[]} carriers of the first kind's flows
 * @property {number} room bytes that the buffer must have at least
 * @property {any} capture of its packets: CaptureSpec of models/spec/capture-spec.h
 * @property {any} world what the table of causes asks of it (causes.py)
 * @property {number} legs connections of a flow, at most
 *
 * @typedef {Object} Data
 * @property {Record<string, Stop[]>} stops of each slider
 * @property {Record<string, Record<string, string>>} names of each list, with what they are
 * @property {Record<string, string>} defaults of all choices
 * @property {Record<string, Template>} templates by tunnel
 * @property {Record<string, Record<string, any>>} queues by name and rate
 * @property {number[][][]} starts of each seed, kind and flow: part of the start jitter
 * @property {number} startJitter s
 * @property {{path: number, flows: number[]}[]} phases of each seed: part of the most by which the RTT
 *   of the path, and that of each flow with one of its own, is longer
 * @property {number} mostPhase of an RTT
 * @property {number[]} pingStarts of each seed: part of the start jitter
 * @property {any} beside flows of a call and of pings, and the delay of the call's codec, s
 * @property {number} burst bytes of a policer
 * @property {number} packet bytes of a full one
 * @property {any} facts what the table of causes asks of everything
 *
 * @property {{axes: string[], metrics: string[]}} maps
 * @property {Record<string, {
 *   title: string, text: string, question: string, choices: Choices, beside: Choices, file?: string, toml?: string,
 * }>} stories `file`: in the repository, and its `toml`, of what the form cannot have
 *
 * @typedef {Record<string, string>} Choices as in an address
 *
 * @typedef {Object} State What an address has.
 * @property {string} preset a story; "": none
 * @property {Choices} choices
 * @property {Choices | null} pinned the experiment that is shown beside, A
 * @property {string} map two sliders and a metric, with commas, and `ab` for the difference to A; "": none
 */

/** Bytes of data in a full packet. */
export const SEGMENT = 1448;

/** Largest experiment: packets that cross the path, and bytes that windows and queues take. */
export const LIMITS = { packets: 6e6, memory: 300e6 };

/**
 * Read what an address says. What is not in it has its default, or that of the story it names.
 * @param {Data} data
 * @param {string} address what follows `#`
 * @returns {State & {problems: string[]}} `problems`: what is wrong, in sentences
 */
export function readAddress(data, address) {
  /** @type {string[]} */ const problems = [];
  const pairs = address.split("&").filter(Boolean).map((part) =>
    [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)].map(decoded));
  const asked = pairs.find(([key]) => key === "preset")?.[1] ?? "";
  const preset = Object.hasOwn(data.stories, asked) ? asked : "";
  if (asked !== preset) {
    problems.push(`There is no preset “${short(asked)}”; presets are ${Object.keys(data.stories).join(", ")}.`);
  }
  const { choices, pinned: ofStory } = stateOf(data, preset);
  let [given, map] = [/** @type {string | null} */ (null), ""];
  for (const [key, value] of pairs) {
    if (key === "a") given = value;
    else if (key === "map") {
      const [x, y, metric, difference = "ab", ...more] = value.split(",");
      const isKnown = [x, y].every((it) => data.maps.axes.includes(it)) && data.maps.metrics.includes(metric);
      if (isKnown && x !== y && difference === "ab" && more.length === 0) map = value;
      else {
        problems.push(`A map cannot be “${short(value)}”; it is two of ${data.maps.axes.join(", ")}, and one of ${data.maps.metrics.join(", ")}.`);
      }
    } else if (key !== "preset") chooseValue(data, choices, key, value, problems);
  }
  if (given === null) return { preset, choices, pinned: ofStory, map, problems };
  if (given === "none") return { preset, choices, pinned: null, map, problems };
  const pinned = { ...choices };
  for (const part of given.split(",").filter(Boolean)) {
    chooseValue(data, pinned, part.split(":", 1)[0], part.slice(part.indexOf(":") + 1), problems);
  }
  return { preset, choices, pinned, map, problems };
}

/** @param {Data} data @param {Choices} choices @param {string} key @param {string} value @param {string[]} problems */
function chooseValue(data, choices, key, value, problems) {
  if (!Object.hasOwn(choices, key)) {
    problems.push(`“${short(key)}” is not a choice; choices are ${Object.keys(choices).join(", ")}.`);
    return;
  }
  const valid = values(data, key);
  if (valid.includes(value)) choices[key] = value;
  else {
    problems.push(`${key} cannot be “${short(value)}”; it is one of ${valid.join(", ")}. It is ${choices[key]} here.`);
  }
}

/**
 * What a story begins with; "": the defaults.
 * @param {Data} data
 * @param {string} preset
 * @returns {State}
 */
export function stateOf(data, preset) {
  if (!preset) return { preset, choices: { ...data.defaults }, pinned: null, map: "" };
  const choices = { ...data.defaults, ...data.stories[preset].choices };
  return { preset, choices, pinned: { ...choices, ...data.stories[preset].beside }, map: "" };
}

/**
 * Write a state as an address. What is the default, or that of the story, is left out.
 * @param {Data} data
 * @param {State} state
 */
export function writeAddress(data, { preset, choices, pinned, map }) {
  const base = stateOf(data, preset);
  const parts = preset ? [`preset=${preset}`] : [];
  parts.push(...differing(choices, base.choices).map((key) => `${key}=${encodeURIComponent(choices[key])}`));
  if (!pinned && base.pinned) parts.push("a=none");
  if (pinned && !(base.pinned && differing(pinned, base.pinned).length === 0)) {
    const own = differing(pinned, choices).map((key) => `${key}:${encodeURIComponent(pinned[key])}`);
    parts.push(`a=${own.join(",")}`);
  }
  if (map) parts.push(`map=${map}`);
  return parts.join("&");
}

/** The keys in which two experiments differ. @param {Choices} one @param {Choices} other */
export const differing = (one, other) => Object.keys(one).filter((key) => one[key] !== other[key]);

/**
 * All values of a choice.
 * @param {Data} data
 * @param {string} key
 */
export function values(data, key) {
  return key in data.stops ? data.stops[key].map((it) => it.text) : Object.keys(data.names[key]);
}

/**
 * The number that a slider stands at.
 * @param {Data} data
 * @param {Choices} choices
 * @param {string} key
 */
export function numberOf(data, choices, key) {
  const stop = data.stops[key].find((it) => it.text === choices[key]);
  if (!stop) throw new RangeError(`${key} cannot be ${choices[key]}`);
  return stop.value;
}

/**
 * Why an experiment cannot run: sentences; none: it can.
 * @param {Data} data
 * @param {Choices} choices
 * @param {number} part of LIMITS that this device may use
 * @returns {string[]}
 */
export function problemsOf(data, choices, part = 1) {
  const number = (/** @type {string} */ key) => numberOf(data, choices, key);
  const template = data.templates[choices.tunnel];
  const room = bufferBytes(data, choices);
  const problems = [];
  if (room < template.room) {
    problems.push(
      `The buffer has ${room} bytes, and needs room for ${template.room}: choose a larger buffer, ` +
        "rate or RTT.",
    );
  }
  if (choices.carrier_cc !== "default" && !(choices.carrier_cc in template.carrierControls.values)) {
    problems.push(
      hasCarrier(data, choices)
        ? `Connections of ${choices.tunnel} cannot have ${choices.carrier_cc} as their congestion control: choose another.`
        : `${choices.tunnel === "none" ? "Without a tunnel there is" : `The tunnel ${choices.tunnel} has`} ` +
            "no carrier whose congestion control can be chosen: choose default.",
    );
  }
  if (number("other_flows") > 0 && number("other_start") >= number("duration")) {
    problems.push(
      `Other flows begin at ${choices.other_start}, and the run ends at ${choices.duration}: choose a ` +
        "longer duration or an earlier start.",
    );
  }
  const packets = (Math.max(number("rate"), number("later_rate")) * number("duration")) / 8 / 1500;
  if (packets > part * LIMITS.packets) {
    problems.push(
      `${millions(packets)} million packets would cross the path, and ${millions(part * LIMITS.packets)} ` +
        "million are the most here: choose a lower rate or a shorter duration. " +
        "The command below runs it without this limit.",
    );
  }
  // As tunnelcc/running/memory.py estimates it.
  const longest = Math.max(number("rtt"), number("other_rtt"));
  const held = 4 * ((number("rate") * longest) / 8 + room);
  const memory = (held / SEGMENT) * 128 * template.legs;
  if (memory > part * LIMITS.memory) {
    problems.push(
      `Packets in flight would take ${Math.round(memory / 1e6)} MB of memory, and ` +
        `${Math.round((part * LIMITS.memory) / 1e6)} MB are the most here: choose a lower rate, RTT or ` +
        "buffer. The command below runs it without this limit.",
    );
  }
  return problems;
}

/**
 * The specification of an experiment, as the Python package would write it.
 * @param {Data} data
 * @param {Choices} choices
 */
export function specification(data, choices) {
  const number = (/** @type {string} */ key) => numberOf(data, choices, key);
  const template = data.templates[choices.tunnel];
  const spec = structuredClone(template.spec);
  const rtt = Math.round(number("rtt") * 1e9);
  const { forward, reverse } = spec.links[0];
  forward.rate = number("rate");
  forward.buffer_bytes = bufferBytes(data, choices);
  forward.loss = number("loss");
  forward.queue = data.queues[choices.queue][choices.rate];
  forward.rate_steps = laterRates(data, choices).map(([time, rate]) => ({ time: Math.round(time * 1e9), rate }));
  if (number("policer") > 0) forward.policer = { rate: number("policer"), burst: data.burst, position: "before" };
  const hasOther = choices.other_rtt !== "same" && number("other_flows") > 0;
  const phases = data.phases[number("seed") - 1];
  // As tunnelcc/network/draws.py draws it.
  const phase = (/** @type {number} */ part, /** @type {number} */ seconds) =>
    Math.floor(part * Math.min((8e9 * data.packet) / forward.rate, data.mostPhase * 1e9 * seconds));
  const least = hasOther ? Math.min(number("rtt"), number("other_rtt")) : number("rtt");
  const longer = rtt + phase(phases.path, least);
  forward.delay = Math.floor(longer / 2);
  reverse.delay = longer - forward.delay;
  spec.duration = number("duration") * 1e9;
  spec.seed = number("seed");
  [choices.cc, choices.other_cc].forEach((name, kind) => {
    template.controls[kind].forEach((path) => put(spec, path, name));
  });
  if (choices.carrier_cc !== "default") {
    const { places, values } = template.carrierControls;
    for (const path of places) put(spec, path, values[choices.carrier_cc]);
  }
  const counts = [number("flows"), number("other_flows")];
  for (const [path, byCount] of Object.entries(template.counts)) put(spec, path, byCount[counts[0] - 1]);
  const starts = data.starts[spec.seed - 1];
  const alike = spec.flows;
  spec.flows = [];
  counts.forEach((count, kind) => {
    for (let member = 0; member < count; ++member) {
      const begin = kind === 1 ? number("other_start") : 0;
      const start = Math.round((begin + data.startJitter * starts[kind][member]) * 1e9);
      const carrier = kind === 0 ? template.carriers[member] : spec.flows.length;
      const flow = { ...alike[kind], start, data_start: start, carrier };
      if (kind === 1 && hasOther) {
        const part = choices.rtt === choices.other_rtt ? 0 : phases.flows[spec.flows.length];
        const own = phase(part, number("other_rtt"));
        const other = Math.round(number("other_rtt") * 1e9) + own;
        const [half, there] = [Math.floor(other / 2), Math.floor(rtt / 2)];
        flow.extra_delay = { client: half - there, server: other - half - (rtt - there) };
      }
      spec.flows.push(flow);
    }
  });
  if (choices.beside !== "nothing") {
    const part = choices.beside === "call" ? starts[counts[1] > 0 ? 2 : 1][0] : data.pingStarts[spec.seed - 1];
    const start = Math.round(data.startJitter * part * 1e9);
    spec.flows.push({ ...data.beside[choices.beside], tcp: alike[1].tcp, start, data_start: start, carrier: spec.flows.length });
  }
  // Settings of a kind of flows that there is none of come last.
  const used = spec.flows.flatMap((/** @type {any} */ it) => [it.tcp, it.app_tcp ?? 0, it.target_tcp ?? 0]);
  spec.tcp.length = Math.max(...used) + 1;
  return spec;
}

/**
 * The experiment as a scenario file.
 * @param {Data} data
 * @param {Choices} choices
 */
export function toml(data, choices) {
  const carrier = choices.carrier_cc === "default" ? "" : `cc = "${choices.carrier_cc}"\n`;
  const tunnel = choices.tunnel === "none" ? "" : `\n[tunnel]\nname = "${choices.tunnel}"\n${carrier}`;
  const flows = kinds(data, choices).map(
    (it) =>
      `\n[[flows]]\ncc = "${it.cc}"\ncount = ${it.count}\n` +
      (it.rtt === "same" ? "" : `rtt = "${it.rtt}"\n`) +
      (it.start === "0s" ? "" : `start = "${it.start}"\n`) +
      (it.tunnel === choices.tunnel ? "" : 'tunnel = "none"\n'),
  );
  const changes =
    (choices.later_rate === "same" ? "" : `rate_steps = ${later(choices)}\n`) +
    (choices.policer === "none" ? "" : `policer = ${policer(choices)}\n`);
  return (
    `duration = "${choices.duration}"\nseed = ${choices.seed}\n\n[path]\nrate = "${choices.rate}"\n` +
    `rtt = "${choices.rtt}"\nbuffer = "${choices.buffer}"\nloss = "${choices.loss}"\n` +
    `queue = "${choices.queue}"\n${changes}${tunnel}${flows.join("")}${BESIDE[choices.beside].toml}`
  );
}

/**
 * The experiment as arguments of a command.
 * @param {Data} data
 * @param {Choices} choices
 */
export function commandLine(data, choices) {
  const options = ["rate", "rtt", "buffer", "loss", "duration", "seed"].map((it) => `--${it} ${choices[it]}`);
  options.push(`--set path.queue=${choices.queue}`);
  if (choices.tunnel !== "none") options.push(`--tunnel ${choices.tunnel}`);
  if (choices.carrier_cc !== "default") options.push(`--carrier-cc ${choices.carrier_cc}`);
  const flows = kinds(data, choices).map(
    (it) =>
      `--flow cc=${it.cc},count=${it.count}` +
      (it.rtt === "same" ? "" : `,rtt=${it.rtt}`) +
      (it.start === "0s" ? "" : `,start=${it.start}`) +
      (it.tunnel === choices.tunnel ? "" : ",tunnel=none"),
  );
  if (choices.later_rate !== "same") options.push(`--set 'path.rate_steps=${later(choices)}'`);
  if (choices.policer !== "none") options.push(`--set 'path.policer=${policer(choices)}'`);
  return `tunnelcc run ${[...options, ...flows].join(" ")}${BESIDE[choices.beside].options}`;
}

/** @type {Record<string, {toml: string, options: string}>} */
const BESIDE = {
  nothing: { toml: "", options: "" },
  call: {
    toml: '\n[[flows]]\ntransport = "udp"\ntraffic = "call"\ntunnel = "none"\n',
    options: " --flow transport=udp,traffic=call,tunnel=none",
  },
  pings: { toml: '\n[[pings]]\ntunnel = "none"\n', options: " --set 'pings=[{tunnel=\"none\"}]'" },
};

/** @param {Choices} choices */
const policer = (choices) => `{rate="${choices.policer}"}`;

/** When the rate changes. @param {Choices} choices */
const later = (choices) => `[["${halfTime(choices)}s","${choices.later_rate}"]]`;
/** @param {Choices} choices */
const halfTime = (choices) => Number.parseFloat(choices.duration) / 2;

/**
 * Later rates of the path: s and bit/s.
 * @param {Data} data
 * @param {Choices} choices
 */
export function laterRates(data, choices) {
  return choices.later_rate === "same" ? [] : [[halfTime(choices), numberOf(data, choices, "later_rate")]];
}

/**
 * The two kinds of flows; the second may have none.
 * @param {Data} data
 * @param {Choices} choices
 */
export function kinds(data, choices) {
  return [
    { cc: choices.cc, count: numberOf(data, choices, "flows"), tunnel: choices.tunnel, rtt: "same", start: "0s" },
    {
      cc: choices.other_cc, count: numberOf(data, choices, "other_flows"), tunnel: "none", rtt: choices.other_rtt,
      start: choices.other_start,
    },
  ].filter((it) => it.count > 0);
}

/**
 * Whether the tunnel has connections of its own whose congestion control can be chosen.
 * @param {Data} data
 * @param {Choices} choices
 */
export function hasCarrier(data, choices) {
  return data.templates[choices.tunnel].carrierControls.places.length > 0;
}

/**
 * @param {Data} data
 * @param {Choices} choices
 */
function bufferBytes(data, choices) {
  const [buffer, rate, rtt] = ["buffer", "rate", "rtt"].map((it) => numberOf(data, choices, it));
  return roundHalfEven((buffer * rate * rtt) / 8);
}

/** As Python's round(). @param {number} value */
function roundHalfEven(value) {
  const below = Math.floor(value);
  return value - below === 0.5 ? below + (below % 2) : Math.round(value);
}

/**
 * @param {any} spec
 * @param {string} path members with dots between
 * @param {any} value
 */
function put(spec, path, value) {
  const members = path.split(".");
  const last = /** @type {string} */ (members.pop());
  members.reduce((it, member) => it[member], spec)[last] = value;
}

/** @param {string} text of an address */
function decoded(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** @param {string} text */
const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
/** @param {number} count */
const millions = (count) => (count / 1e6).toFixed(1).replace(".0", "");
