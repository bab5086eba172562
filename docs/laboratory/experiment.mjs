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
 * @property {number} packet bytes of a full one
 * @property {any} facts what the table of causes asks of everything
 *
 * @typedef {Record<string, string>} Choices as in an address
 */

/** Largest experiment: packets that cross the path, and bytes that windows and queues take. */
export const LIMITS = { packets: 6e6, memory: 300e6 };

/**
 * Read the choices of an address. What is not in it has its default.
 * @param {Data} data
 * @param {string} address what follows `#`
 * @returns {{choices: Choices, problems: string[]}} what is wrong, in sentences
 */
export function readAddress(data, address) {
  const choices = { ...data.defaults };
  const problems = [];
  for (const part of address.split("&").filter(Boolean)) {
    const [key, value] = [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)].map(decoded);
    if (!Object.hasOwn(choices, key)) {
      problems.push(`“${short(key)}” is not a choice; choices are ${Object.keys(choices).join(", ")}.`);
      continue;
    }
    const valid = values(data, key);
    if (valid.includes(value)) {
      choices[key] = value;
    } else {
      problems.push(
        `${key} cannot be “${short(value)}”; it is one of ${valid.join(", ")}. ` +
          `It is ${choices[key]} here.`,
      );
    }
  }
  return { choices, problems };
}

/**
 * Write choices as an address. Those that have their default are left out.
 * @param {Data} data
 * @param {Choices} choices
 */
export function writeAddress(data, choices) {
  return Object.keys(data.defaults)
    .filter((key) => choices[key] !== data.defaults[key])
    .map((key) => `${key}=${encodeURIComponent(choices[key])}`)
    .join("&");
}

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
  const packets = (number("rate") * number("duration")) / 8 / 1500;
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
  const memory = (held / 1448) * 128 * template.legs;
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
      const start = Math.round(data.startJitter * starts[kind][member] * 1e9);
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
      (it.tunnel === choices.tunnel ? "" : 'tunnel = "none"\n'),
  );
  return (
    `duration = "${choices.duration}"\nseed = ${choices.seed}\n\n[path]\nrate = "${choices.rate}"\n` +
    `rtt = "${choices.rtt}"\nbuffer = "${choices.buffer}"\nloss = "${choices.loss}"\n` +
    `queue = "${choices.queue}"\n${tunnel}${flows.join("")}`
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
      (it.tunnel === choices.tunnel ? "" : ",tunnel=none"),
  );
  return `tunnelcc run ${options.join(" ")} ${flows.join(" ")}`;
}

/**
 * The two kinds of flows; the second may have none.
 * @param {Data} data
 * @param {Choices} choices
 */
export function kinds(data, choices) {
  return [
    { cc: choices.cc, count: numberOf(data, choices, "flows"), tunnel: choices.tunnel, rtt: "same" },
    { cc: choices.other_cc, count: numberOf(data, choices, "other_flows"), tunnel: "none", rtt: choices.other_rtt },
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
