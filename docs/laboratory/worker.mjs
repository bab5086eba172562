// SPDX-License-Identifier: GPL-2.0-only
/** @file The worker: it is sent the module once, then specifications; see Engine in page.mjs. */

import { makeEngine } from "./engine.mjs";
import { readCapture } from "./trace.mjs";

/** @type {ReturnType<typeof makeEngine>} */ let engine;
onmessage = ({ data }) => {
  if (data.module) {
    engine = makeEngine(data.module, (seconds) => postMessage({ progress: seconds }));
    return;
  }
  const begin = performance.now();
  try {
    if (data.capture) {
      const { file, early } = engine.trace(data.specification, data.capture, data.from);
      postMessage({ packets: readCapture(file, early) });
      return;
    }
    const result = JSON.parse(engine.run(data.specification));
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
