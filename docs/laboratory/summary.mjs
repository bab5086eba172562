// SPDX-License-Identifier: GPL-2.0-only
/** @file What the page shows of a result: numbers and series of each kind of flows, and of the path. */

import { limitedBy, most } from "./causes.mjs";
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
  const goodputs = result.flow_delivered_bytes.map((/** @type {number} */ it) => (8 * it) / duration);
  const total = sum(goodputs);
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
      },
    };
  });
  return {
    parts,
    goodput: total,
    jain: total > 0 ? total ** 2 / (goodputs.length * sum(goodputs.map((/** @type {number} */ it) => it ** 2))) : null,
    utilisation: path("link_utilisation"),
    queueDelayMean: path("link_queue_delay_mean"),
    queueDelayP95: path("link_queue_delay_p95"),
    drops: path("link_queue_drops"),
    randomLosses: path("link_random_losses"),
    marks: path("link_marks"),
    time: result.time,
    queue: path("link_queue_bytes"),
    events: result.events,
  };
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
