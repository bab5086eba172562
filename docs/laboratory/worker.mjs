// SPDX-License-Identifier: GPL-2.0-only
/** @file The worker: it is sent the module once, then specifications; see Engine in page.mjs. */

import { makeEngine } from "./engine.mjs";

/** @type {(specification: string) => string} */ let run;
onmessage = ({ data }) => {
  if (data.module) {
    run = makeEngine(data.module, (seconds) => postMessage({ progress: seconds }));
    return;
  }
  const begin = performance.now();
  try {
    const result = JSON.parse(run(data.specification));
    postMessage({ result, milliseconds: performance.now() - begin });
  } catch (error) {
    const isMemory = error instanceof RangeError || error instanceof WebAssembly.RuntimeError;
    postMessage({
      failure: isMemory
        ? "This device has not enough memory for the experiment."
        : /** @type {Error} */ (error).message,
    });
  }
};
