/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Lets the search work in pages opened as files, where browsers allow no workers: the worker's
 * script runs in a hidden frame. The search's script looks for this class by its name.
 */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      // A document that was written stays; an empty one may be replaced later.
      inside.document.open()
      inside.document.write("<!doctype html><body></body>")
      inside.document.close()
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...urls) => Promise.all(urls.map((it) => this.load(it)))
      this.ready = this.load(url)
    }

    load(url) {
      const script = this.frame.contentDocument.createElement("script")
      script.src = url
      const done = new Promise((resolve, reject) => {
        script.onload = resolve
        script.onerror = reject
      })
      this.frame.contentDocument.body.append(script)
      return done
    }

    postMessage(data) {
      const inside = this.frame.contentWindow
      this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
