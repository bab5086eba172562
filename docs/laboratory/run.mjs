// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file Runs what the page runs, in node. `node run.mjs DATA [MODULE]` reads addresses of the page,
 * one a line (and ` trace` behind it for its packets), and prints a line of JSON for each: what it says, problems, TOML, command line; if there are
 * no problems, its specification, and with a module, the result and its summary.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { makeEngine } from "./engine.mjs";
import { commandLine, problemsOf, readAddress, specification, toml, writeAddress } from "./experiment.mjs";
import { readScenario } from "./scenario.mjs";
import { livesOf, readCapture, traceOf } from "./trace.mjs";
import { summary } from "./summary.mjs";

const [dataFile, moduleFile] = process.argv.slice(2);
const engine = moduleFile && makeEngine(new WebAssembly.Module(readFileSync(moduleFile)));
const data = JSON.parse(readFileSync(dataFile, "utf-8"));
for await (const asked of createInterface({ input: process.stdin })) {
  const [address, wants] = asked.split(" ");
  const { problems, ...state } = readAddress(data, address);
  const { choices, preset, pinned, map } = state;
  problems.push(...problemsOf(data, choices));
  /** @type {any} */ const line = {
    choices, preset, pinned, map, problems, toml: toml(data, choices), command: commandLine(data, choices),
    address: writeAddress(data, state), reread: readScenario(data, toml(data, choices)),
  };
  if (problems.length === 0) {
    line.spec = specification(data, choices);
    if (engine) {
      line.result = engine.run(JSON.stringify(line.spec));
      line.summary = summary(data, choices, JSON.parse(line.result));
    }
    if (engine && wants === "trace") {
      const { specification: spec, capture, of } = traceOf(data, choices);
      line.traces = [0, 1].map((from) => {
        const { file, early } = engine.trace(JSON.stringify(spec), JSON.stringify({ ...capture, limit: 1e8 }), from);
        return livesOf(readCapture(file, early), of);
      });
    }
  }
  console.log(JSON.stringify(line));
}
