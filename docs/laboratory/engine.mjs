// SPDX-License-Identifier: GPL-2.0-only
/** @file Runs the models' WebAssembly module (models/wasm): in a worker, and in node. */

/** A specification that the models refuse. */
export class Refused extends Error {}

/**
 * Make a function that runs specifications.
 * @param {WebAssembly.Module} module
 * @param {(seconds: number) => void} progress told of simulated time a few times a second
 * @returns {{run: (specification: string) => string, trace: (specification: string, capture: string, from: number) => {file: Uint8Array, early: string}}}
 *   `run`: specification to result, both JSON; `trace`: to the packets that the capture asks for, pcapng, from
 *   a time on, s, and to the counts of those before. Both throw Refused.
 */
export function makeEngine(module, progress = () => {}) {
  /** @type {any} */ let exports = null;
  let message = "";
  const view = () => new DataView(exports.memory.buffer);
  const text = (/** @type {number} */ start, /** @type {number} */ size) =>
    new TextDecoder().decode(new Uint8Array(exports.memory.buffer, start, size));

  // Of WASI, the module asks for the time and writes to the standard error. What it could ask for
  // beyond that is refused: EBADF.
  /** @type {Record<string, Function>} */
  const wasi = {
    clock_time_get(/** @type {number} */ _clock, /** @type {bigint} */ _precision, /** @type {number} */ result) {
      view().setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    fd_write(/** @type {number} */ _file, /** @type {number} */ parts, /** @type {number} */ count, /** @type {number} */ result) {
      let written = 0;
      for (let part = parts; part < parts + 8 * count; part += 8) {
        const size = view().getUint32(part + 4, true);
        message += text(view().getUint32(part, true), size);
        written += size;
      }
      view().setUint32(result, written, true);
      return 0;
    },
    proc_exit() {
      throw new Error("the models ended");
    },
  };
  /** @type {Record<string, Record<string, Function>>} */
  const imports = {
    tunnelcc: {
      progress(/** @type {number} */ seconds) {
        progress(seconds);
        return 1;
      },
    },
  };
  for (const { module: name, name: member } of WebAssembly.Module.imports(module)) {
    if (name !== "tunnelcc") (imports[name] ??= {})[member] = wasi[member] ?? (() => 8);
  }

  /** @param {string} input @param {() => number} call @returns {Uint8Array} */
  const answer = (input, call) => {
    if (!exports) {
      exports = new WebAssembly.Instance(module, /** @type {any} */ (imports)).exports;
      exports._initialize();
    }
    const bytes = new TextEncoder().encode(input);
    message = "";
    try {
      const place = exports.input(bytes.length); // may let the memory grow
      new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
      const start = call();
      return new Uint8Array(exports.memory.buffer, start, exports.outputSize());
    } catch (error) {
      exports = null; // what it was doing is not finished
      throw message ? new Refused(message) : error;
    }
  };
  return {
    run: (specification) => new TextDecoder().decode(answer(specification, () => exports.run())),
    trace(specification, capture, from) {
      const file = answer(`${specification}\n${capture}`, () => exports.trace(from)).slice();
      return { file, early: new TextDecoder().decode(answer("", () => exports.early())) };
    },
  };
}
