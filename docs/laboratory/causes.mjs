// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file What limited each flow, as `tunnelcc run` says it: the package's own table of causes
 * (table.mjs), with a template and a result as what it takes for a run.
 */

import { laterRates, numberOf } from "./experiment.mjs";
import { causesTable } from "./table.mjs";

/** @type {Record<string, [string, number][]>} */
const UNITS = { "bit/s": [["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3], ["bps", 1]], byte: [["MiB", 2 ** 20], ["KiB", 1024], ["B", 1]] };

/** As the package writes a rate in a scenario. @param {number} rate bit/s */
function formatRate(rate) {
  const [unit, scale] = UNITS["bit/s"].find(([, it]) => rate >= it) ?? ["bps", 1];
  return `${Number((rate / scale).toPrecision(15))}${unit}`;
}

/** @param {number} bytes */
function formatSize(bytes) {
  const [unit, scale] = /** @type {[string, number]} */ (UNITS.byte.find(([, it]) => bytes % it === 0));
  return `${bytes / scale}${unit}`;
}

/** @type {Record<string, (amount: number) => string>} */
const WRITERS = {
  "bit/s": formatRate,
  byte: (amount) => formatSize(Math.round(amount)),
  packet: (amount) => `${amount} packets`,
  segment: (amount) => `${amount} segments`,
  speed: (amount) => `speed ${amount}`,
};

/** @param {any} value Quantity, text or nothing */
function asGiven(value) {
  if (value === null || typeof value !== "object") return value ?? "";
  const write = WRITERS[value.unit];
  const ends = [value.amount, value.most].filter((it) => it !== null);
  return ends.map((it) => write(ends.length > 1 ? Number(it.toPrecision(3)) : it)).join(" to ");
}

/** @param {number[]} values */
const meanOf = (values) => values.reduce((total, it) => total + it, 0) / values.length;
/** @param {number[]} values */
function medianOf(values) {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const FORWARD = { link: "path", is_reverse: false };
const REVERSE = { link: "path", is_reverse: true };
/** What JSON has no number for. @param {(number | null)[]} series @returns {number[]} */
const numbers = (series) => series.map((it) => it ?? NaN);

/** The measurements of a part, by their names without `prefix`. @param {any} result @param {string} prefix @param {number[]} place */
function part(result, prefix, place) {
  /** @type {any} */ const made = {};
  for (const [name, values] of Object.entries(result)) {
    if (!name.startsWith(prefix) || !Array.isArray(values)) continue;
    Object.defineProperty(made, name.slice(prefix.length), {
      get() {
        const value = place.reduce((it, at) => it?.[at], values) ?? null;
        return Array.isArray(value) ? numbers(value) : value;
      },
    });
  }
  return made;
}

/** @type {any} */ let tableMade = null;
/** @param {import("./experiment.mjs").Data} data */
function table(data) {
  tableMade ??= causesTable({
    kernels: () => data.facts.kernels,
    UNSCALED_WINDOW: data.facts.unscaledWindow,
    Cake: { kind: "cake" },
    mean: meanOf,
    median: medianOf,
    format_rate: formatRate,
    format_time: String,
    say: (/** @type {string} */ template, /** @type {any} */ parts) =>
      template.replace(/\{(\w+)\}/g, (_, name) => parts[name]),
    as_given: asGiven,
    transport: () => null,
    math: Math,
  });
  return tableMade;
}

/**
 * How a call sounds, from 1 to 4.5: as `flow_mos` of the command.
 * @param {import("./experiment.mjs").Data} data
 * @param {any} result
 * @param {number} flow
 */
export function opinion(data, result, flow) {
  const [received, expected] = [result.flow_received[flow], result.flow_expected[flow]];
  const [lost, late] = [1 - received / expected, received > 0 ? result.flow_late[flow] / received : 0];
  const unplayed = lost + (1 - lost) * late;
  if (unplayed === 1) return 1;
  const delay = result.flow_play_delay[flow];
  return delay === null ? null : table(data).mean_opinion_score(delay + data.beside.codecDelay, unplayed);
}

/**
 * What limited each flow.
 * @param {import("./experiment.mjs").Data} data
 * @param {import("./experiment.mjs").Choices} choices
 * @param {any} result
 * @returns {({limit: string, text: string, keys: string, share: number} | null)[]} null: the flow was never active
 */
export function limitedBy(data, choices, result) {
  const { of_flows, text, keys } = table(data);
  return of_flows(asRun(data, choices, result)).map((/** @type {any} */ it) =>
    it && { limit: it.limit, text: text(it), keys: keys(it), share: it.evidence.share });
}

/**
 * What limited most flows of some, and its mean share of their time; null: none was active.
 * @param {ReturnType<typeof limitedBy>} causes
 */
export function most(causes) {
  const active = /** @type {{limit: string, text: string, keys: string, share: number}[]} */ (causes.filter(Boolean));
  const alike = (/** @type {any} */ it) => active.filter((other) => ["limit", "text", "keys"].every((key) => other[/** @type {"text"} */ (key)] === it[key]));
  const best = active.reduce((/** @type {any[]} */ found, it) => (alike(it).length > found.length ? alike(it) : found), []);
  return best.length ? { ...best[0], share: meanOf(best.map((it) => it.share)) } : null;
}

/**
 * A run, as `tunnelcc.results.parts.Parts` has it.
 * @param {import("./experiment.mjs").Data} data
 * @param {import("./experiment.mjs").Choices} choices
 * @param {any} result
 */
function asRun(data, choices, result) {
  const { world } = data.templates[choices.tunnel];
  const number = (/** @type {string} */ key) => numberOf(data, choices, key);
  const own = { chain: null, uplinks: null, kcp: null, ...world.keys, entry: world.entry };
  const isTunnel = world.keys !== null;
  const way = {
    rate: number("rate"),
    loss: number("loss"),
    policer: number("policer") > 0 ? { rate: number("policer"), burst: data.burst, position: "before" } : null,
    jitter_reorders: false,
    queue: { name: choices.queue, kind: choices.queue, bandwidth: null },
    buffer: { toString: () => choices.buffer, times: () => "" },
    trace: null,
    rate_steps: laterRates(data, choices),
    over_time: () => [[0, number("rate")], ...laterRates(data, choices)],
    varies: (/** @type {string} */ key) => key === "rate" && choices.later_rate !== "same",
  };
  const back = { ...way, loss: 0, policer: null };
  const traffic = (/** @type {boolean} */ isInside, /** @type {number} */ count) => ({
    tunnel_keys: isInside ? own : null,
    tunnel: null,
    sender: "client",
    below: { hops: [{ sent_by: () => [FORWARD] }] },
    packet_tunnel: isInside && world.packetTunnel && {
      socket_queue: world.packetTunnel.socket_queue,
      cost: (/** @type {any} */ _, /** @type {any} */ { encapsulates }) => world.packetTunnel.cost[Number(encapsulates)],
    },
    contents: { streams: count, payload: "" },
    loads: [FORWARD],
    gateways: null,
    transport: { tcp: { window_scaling: world.scaling } },
  });
  const flow = { rate: null, window: null, windows: null, transport: "tcp", cc: { parameters: {} } };
  const counts = [number("flows"), number("other_flows")];
  const placed = counts.flatMap((count, group) => {
    const isInside = group === 0 && isTunnel;
    const same = { flow, bytes: null, client: "client", server: "server", direction: "up", group, tunnel: isInside ? 0 : null, traffic: traffic(isInside, count) };
    return Array.from({ length: count }, () => same);
  });
  // Of a call, the table has no cause.
  if (choices.beside === "call") placed.push({ ...placed[0], flow: { ...flow, transport: "udp" } });
  const link = [0, 1].map((direction) => part(result, "link_", [0, direction]));
  const hosts = Object.keys(world.hosts);
  const connections = result.leg_name.map((/** @type {string} */ name, /** @type {number} */ place) => ({
    place,
    name,
    cc: result.leg_cc[place],
    in_flight: numbers(result.in_flight[place]),
    retransmits_series: result.retransmits_series && numbers(result.retransmits_series[place]),
  }));
  return {
    experiment: {
      warmup: 0, probe_interval: world.probeInterval, network: null,
      hosts: { client: {}, server: {} },
    },
    measured: result,
    measured_time: number("duration"),
    network: {
      flows: placed,
      hosts: world.hosts,
      tunnels: world.tunnels.map((/** @type {any} */ it) => ({ hosts: it.hosts, layer: { sender: it.sender } })),
      bottleneck: FORWARD,
      narrowest: () => FORWARD,
      direction: (/** @type {any} */ step) => (step === REVERSE ? back : way),
      tunnel_key: () => "tunnel",
    },
    legs: result.flow_legs.map((/** @type {number[]} */ legs) => legs.map((it) => connections[it])),
    way: (/** @type {any} */ step) => link[Number(step.is_reverse)],
    flows: placed.map((_, i) => part(result, "flow_", [i])),
    tunnels: world.tunnels.map((/** @type {any} */ _, /** @type {number} */ i) => {
      const at = result.packet_tunnels.indexOf(i);
      if (at < 0) return null;
      const [forward, reverse] = [0, 1].map((it) => part(result, "tunnel_", [at, it]));
      return { forward, reverse };
    }),
    hosts: hosts.map((_, i) => part(result, "host_", [i])),
    host_names: hosts,
    time: result.time,
    flow_start: counts.flatMap((count, kind) => data.starts[number("seed") - 1][kind].slice(0, count).map((it) => (kind === 1 ? number("other_start") : 0) + data.startJitter * it)),
    flow_completed_at: numbers(result.flow_completed_at),
    flow_goodput_series: result.flow_goodput_series,
  };
}
