// SPDX-License-Identifier: GPL-2.0-only
/** @file What the page shows of a result: numbers and series of each kind of flows, and of the path. */

import { limitedBy, most, opinion } from "./causes.mjs";
import { kinds, numberOf } from "./experiment.mjs";

/**
 * The numbers of a result. Metrics are defined as in the reference: goodput of the application,
 * Jain's index over flows, utilisation of the link, waiting times in its queue.
 * @param {import("./experiment.mjs").Data} data
 * @param {import("./experiment.mjs").Choices} choices
 * @param {any} result
 */
export function summary(data, choices, result) {
  const duration = numberOf(data, choices, "duration");
  const rates = result.flow_delivered_bytes.map((/** @type {number} */ it) => (8 * it) / duration);
  const total = sum(rates);
  const goodputs = choices.beside === "call" ? rates.slice(0, -1) : rates; // of byte streams
  /** Of the path, in the direction of the data. @param {string} name */
  const path = (name) => result[name]?.[0][0] ?? null;
  const causes = limitedBy(data, choices, result);
  let first = 0;
  const parts = kinds(data, choices).map((kind) => {
    const members = range(first, (first += kind.count));
    const goodput = sum(members.map((it) => goodputs[it]));
    const legs = [...new Set(members.map((it) => pathLeg(result, it)))];
    return {
      ...kind,
      goodput,
      share: total > 0 ? goodput / total : 0,
      retransmits: sum(legs.map((it) => result.retransmits[it])),
      rtt: mean(legs.flatMap((it) => result.srtt[it].filter((/** @type {number | null} */ value) => value))),
      limitedBy: most(members.map((it) => causes[it])),
      causes: members.map((it) => causes[it]),
      series: {
        goodput: added(members.map((it) => result.flow_goodput_series[it])),
        cwnd: legs.map((it) => result.cwnd[it]),
        inFlight: legs.map((it) => result.in_flight[it]), // bytes
        srtt: legs.map((it) => result.srtt[it]),
        retransmits: legs.map((it) => result.retransmits_series?.[it] ?? []),
      },
    };
  });
  return {
    parts,
    goodput: total,
    call: choices.beside !== "call" ? null : {
      delayP95: result.flow_delay_p95[first], lost: 1 - result.flow_received[first] / result.flow_expected[first],
      late: result.flow_late[first] / (result.flow_received[first] || 1), mos: opinion(data, result, first),
      series: result.flow_delay_series[first],
    },
    pings: choices.beside !== "pings" ? null : {
      median: result.ping_delay_p50[0], p95: result.ping_delay_p95[0],
      lost: 1 - result.ping_received[0] / result.ping_expected[0], series: result.ping_delay_series[0],
    },
    jain: total > 0 ? sum(goodputs) ** 2 / (goodputs.length * sum(goodputs.map((/** @type {number} */ it) => it ** 2))) : null,
    utilisation: path("link_utilisation"),
    queueDelayMean: path("link_queue_delay_mean"),
    queueDelayP95: path("link_queue_delay_p95"),
    drops: path("link_queue_drops"),
    randomLosses: path("link_random_losses"),
    marks: path("link_marks"),
    time: result.time,
    queue: path("link_queue_bytes"),
    queueDrops: path("link_queue_drops_series"),
    events: result.events,
  };
}

/**
 * The numbers in which two runs differ, by name: of A and of B, with units.
 * @param {ReturnType<typeof summary>} a
 * @param {ReturnType<typeof summary>} b
 * @returns {{name: string, a: string, b: string, change: string}[]}
 */
export function differences(a, b) {
  /** @type {[string, (it: ReturnType<typeof summary>) => number | null | undefined, (value: number) => string][]} */
  const rows = [
    ["Goodput of all", (it) => it.goodput, mbit],
    ["Goodput of the flows", (it) => it.parts[0].goodput, mbit],
    ["Goodput of the others", (it) => it.parts[1]?.goodput, mbit],
    ["Mean RTT of the flows", (it) => it.parts[0].rtt, ms],
    ["Mean RTT of the others", (it) => it.parts[1]?.rtt, ms],
    ["Queueing delay, 95th percentile", (it) => it.queueDelayP95, ms],
    ["Median RTT of pings", (it) => it.pings?.median, ms],
    ["Delay of the call, 95th percentile", (it) => it.call?.delayP95, ms],
    ["MOS of the call", (it) => it.call?.mos, (value) => value.toFixed(2)],
    ["Jain's index", (it) => it.jain, (value) => value.toFixed(3)],
    ["Retransmits", (it) => sum(it.parts.map((part) => part.retransmits)), String],
    ["Packets lost by the queue", (it) => it.drops, String],
  ];
  return rows.flatMap(([name, of, write]) => {
    const [one, other] = [of(a), of(b)];
    if (one === undefined || one === null || other === undefined || other === null) return [];
    const change = one > 0 ? ratio(other / one) : "";
    return [{ name, a: write(one), b: write(other), change }];
  });
}

/** Three digits. @param {number} value */
export const rounded = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
/** @param {number} value bit/s */
const mbit = (value) => `${rounded(value / 1e6)} Mbit/s`;
/** @param {number} value s */
const ms = (value) => `${rounded(1e3 * value)} ms`;

/** @param {number} of B to A */
function ratio(of) {
  if (of > 2) return `× ${of.toPrecision(2)}`;
  const percent = Math.round(100 * (of - 1));
  return percent === 0 ? "same" : `${percent > 0 ? "+" : "−"} ${Math.abs(percent)} %`;
}

/**
 * The number of the connection of a flow that crosses the path: its carrier, or its only one.
 * @param {any} result
 * @param {number} flow
 */
function pathLeg(result, flow) {
  const legs = result.flow_legs[flow];
  return legs.find((/** @type {number} */ it) => result.leg_name[it] === "carrier") ?? legs[0];
}

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((total, it) => total + it, 0);
/** @param {number[]} numbers */
const mean = (numbers) => (numbers.length > 0 ? sum(numbers) / numbers.length : null);
/** @param {number[][]} series */
const added = (series) => series[0].map((_, i) => sum(series.map((it) => it[i])));
/** @param {number} from @param {number} to */
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
