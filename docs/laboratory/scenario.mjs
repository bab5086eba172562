// SPDX-License-Identifier: GPL-2.0-only
/** @file Reads a scenario file (TOML), as far as the page can show it. */

import { toml, values } from "./experiment.mjs";

/** What a key of a scenario is in the page. @type {Record<string, string>} */
const KEYS = {
  duration: "duration", seed: "seed", "path.rate": "rate", "path.rtt": "rtt", "path.buffer": "buffer", "path.loss": "loss",
  "path.queue": "queue", "tunnel.name": "tunnel", "tunnel.cc": "carrier_cc", tunnel: "tunnel",
};
/** Of the first flows, and of the others. @type {Record<string, string>[]} */
const FLOWS = [
  { cc: "cc", count: "flows" },
  { cc: "other_cc", count: "other_flows", rtt: "other_rtt", start: "other_start", tunnel: "" },
];

/**
 * Read a scenario. What it does not have is as the package's defaults are.
 * @param {import("./experiment.mjs").Data} data
 * @param {string} text
 * @returns {{choices: import("./experiment.mjs").Choices, problems: string[]}} what is wrong, in sentences
 */
export function readScenario(data, text) {
  /** @type {import("./experiment.mjs").Choices} */
  const choices = { ...data.defaults, other_flows: "0" };
  /** @type {string[]} */ const problems = [];
  const put = (/** @type {string} */ key, /** @type {string} */ value, /** @type {string} */ name) => {
    if (values(data, key).includes(value)) choices[key] = value;
    else problems.push(`${name} = ${value.slice(0, 40)}: the page has ${values(data, key).join(", ")}.`);
  };
  let table = "";
  let flows = -1;
  for (const [number, whole] of text.split("\n").entries()) {
    const line = whole.replace(/\s+#[^"']*$|^\s*#.*$/, "").trim();
    if (!line) continue;
    const heading = /^\[\[?([\w.]+)\]?\]$/.exec(line);
    if (heading) {
      table = heading[1];
      if (table === "flows" && ++flows === 1) choices.other_flows = "1";
      if (table === "pings") choices.beside = "pings";
      continue;
    }
    const pair = /^([\w.]+)\s*=\s*(.+)$/.exec(line);
    if (!pair) {
      problems.push(`Line ${number + 1} is not a key and a value: ${line.slice(0, 40)}.`);
      continue;
    }
    const value = pair[2].replace(/^(["'])(.*)\1$/, "$2");
    const name = table ? `${table}.${pair[1]}` : pair[1];
    if (table === "flows") {
      if (name === "flows.traffic" && value === "call") {
        choices.beside = "call";
        if (flows === 1) choices.other_flows = "0";
      } else if (name === "flows.transport" || (name === "flows.tunnel" && value === "none" && flows > 0)) continue;
      else if (FLOWS[flows]?.[pair[1]]) put(FLOWS[flows][pair[1]], value, name);
      else problems.push(`Flows ${flows + 1} have ${pair[1]}, which this page has not there.`);
    } else if (name === "path.rate_steps") {
      const rate = /^\[\s*\[\s*"([^"]+)"\s*,\s*"([^"]+)"\s*\]\s*\]$/.exec(value);
      if (rate) put("later_rate", rate[2], name);
      else problems.push(`${name} needs one step, after half of the time.`);
    } else if (name === "path.policer") put("policer", /rate\s*=\s*"([^"]+)"/.exec(value)?.[1] ?? value, name);
    else if (name === "pings.tunnel") continue;
    else if (KEYS[name]) put(KEYS[name], value, name);
    else problems.push(`${name} is a key that this page has not; the command line has it.`);
  }
  if (problems.length === 0 && /rate_steps/.test(text) && !toml(data, choices).includes(/rate_steps.*/.exec(text)?.[0].replace(/\s/g, "").replace("=", " = ") ?? "")) {
    problems.push("path.rate_steps: in this page, the rate changes after half of the time.");
  }
  return { choices, problems };
}
