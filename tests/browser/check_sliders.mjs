// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file Move the sliders of lessons in Jupyter Lab, in Chromium: `make check-sliders`.
 *
 * `node check_sliders.mjs PACKAGES PYTHON FOLDER` opens each notebook of FOLDER as a student would, and runs its cells. It
 * ends with 1 if there are no sliders, if sliders and figure do not fit on a laptop together, or if a slider that the mouse
 * or the keyboard moves does not draw the figure again. PACKAGES is the folder where puppeteer-core was installed, PYTHON has
 * Jupyter Lab. Screenshots are written to FOLDER.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [packages, python, folder] = process.argv.slice(2);
const require = createRequire(resolve(packages, "package.json"));
const puppeteer = require("puppeteer-core");
const LAPTOP = { width: 1366, height: 650 }; // what a browser leaves of 768
const TOKEN = "sliders";
// On a busy machine, cells of a lesson and a figure may take so long, ms.
const LESSON = 600_000;
const FIGURE = 120_000;

/** A port that nobody listens at. */
const port = await new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

// Jupyter Lab leaves out of the page what is not on the screen, which has no sliders then.
const settings = resolve(folder, ".settings");
mkdirSync(`${settings}/@jupyterlab/notebook-extension`, { recursive: true });
writeFileSync(`${settings}/@jupyterlab/notebook-extension/tracker.jupyterlab-settings`, '{"windowingMode": "none"}');
const server = spawn(
  python,
  ["-m", "jupyterlab", "--no-browser", "--allow-root", `--ServerApp.port=${port}`, `--IdentityProvider.token=${TOKEN}`,
    "--ServerApp.port_retries=0", "--LabApp.expose_app_in_browser=True", `--ServerApp.root_dir=${resolve(folder)}`],
  { stdio: "ignore", env: { ...process.env, JUPYTERLAB_SETTINGS_DIR: settings, JUPYTERLAB_WORKSPACES_DIR: `${settings}/workspaces` } },
);
const address = `http://127.0.0.1:${port}`;
for (let begin = Date.now(); !(await fetch(`${address}/api?token=${TOKEN}`).then((it) => it.ok, () => false));) {
  if (Date.now() > begin + 120_000) throw new Error("Jupyter Lab does not answer");
  await new Promise((done) => setTimeout(done, 200));
}

let failures = 0;
/** @param {boolean} holds @param {string} what */
function check(holds, what) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  failures += holds ? 0 : 1;
}

/** What sliders and the figure beside them show. */
const shown = (tab) => tab.evaluate(() => ({
  figure: document.querySelector(".widget-image")?.src ?? "",
  values: [...document.querySelectorAll(".widget-readout")].map((it) => it.textContent),
  told: document.querySelector(".widget-html-content")?.textContent,
  drawn: window.drawn,
}));

/** Count how often it is told that a figure is drawn, and then nothing. */
const count = (tab) => tab.evaluate(() => {
  window.drawn = 0;
  let isRunning = false;
  new MutationObserver(() => {
    const told = document.querySelector(".widget-html-content")?.textContent;
    if (told === "Running") isRunning = true;
    else if (told === "" && isRunning) {
      isRunning = false;
      window.drawn += 1;
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
});

/** Wait until a slider has drawn a figure, which may be the same, and return it. */
async function drawn(tab, before, name, how) {
  let after = before;
  for (const begin = Date.now(); Date.now() < begin + FIGURE;) {
    after = await shown(tab);
    if (after.drawn > before.drawn) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  const moved = before.values.map((it, i) => (it === after.values[i] ? "" : `${it} to ${after.values[i]}`)).filter(Boolean);
  check(after.drawn > before.drawn && moved.length === 1, `${name}, ${how}: ${moved} ${after.told}`);
  return after.figure;
}

async function tryLesson(tab, name) {
  await tab.goto(`${address}/lab/tree/${name}.ipynb?token=${TOKEN}&reset`);
  await tab.waitForFunction(
    () => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === "idle", { timeout: LESSON });
  tab.evaluate(() => window.jupyterapp.commands.execute("notebook:run-all-cells")).catch(() => {});
  await tab.waitForSelector(".widget-hslider .noUi-handle", { timeout: LESSON });
  await tab.waitForFunction(() => document.querySelector(".widget-image")?.naturalWidth > 0, { timeout: FIGURE });
  const box = await tab.evaluateHandle(() => document.querySelector(".widget-image").parentElement);
  await box.evaluate((it) => it.scrollIntoView({ block: "center" }));
  const [high, room] = await box.evaluate((it) => [it.offsetHeight, document.querySelector(".jp-WindowedPanel-outer, .jp-Notebook").clientHeight]);
  check(high <= room, `${name}: sliders and figure take ${high} of ${room} pixels`);
  await count(tab);
  const figures = new Set();
  const sliders = (await tab.$$(".widget-hslider .noUi-handle")).length;
  for (let i = 0; i < sliders; ++i) {
    const handle = (await tab.$$(".widget-hslider .noUi-handle"))[i];
    const ends = await handle.evaluate((it) => {
      const { left, right } = it.closest(".noUi-target").getBoundingClientRect();
      const { x, y, width, height } = it.getBoundingClientRect();
      return { left, right, x: x + width / 2, y: y + height / 2 };
    });
    let before = await shown(tab);
    await tab.mouse.move(ends.x, ends.y);
    await tab.mouse.down();
    await tab.mouse.move(ends.x > (ends.left + ends.right) / 2 ? ends.left : ends.right, ends.y, { steps: 5 });
    await tab.mouse.up();
    figures.add(await drawn(tab, before, name, `mouse, slider ${i + 1}`));
    before = await shown(tab);
    await handle.focus();
    await tab.keyboard.press(ends.x > (ends.left + ends.right) / 2 ? "End" : "Home");
    figures.add(await drawn(tab, before, name, `keyboard, slider ${i + 1}`));
  }
  // BBR alone, for example, is the same with two queue disciplines.
  check(figures.size > sliders, `${name}: ${figures.size} figures of ${2 * sliders} moves differ`);
  await tab.screenshot({ path: resolve(folder, `${name}.png`) });
  await tab.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown());
}

const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"], protocolTimeout: LESSON });
try {
  const names = readdirSync(folder).filter((it) => it.endsWith(".ipynb")).map((it) => it.replace(".ipynb", "")).sort();
  for (const name of names) {
    const tab = await browser.newPage();
    await tab.setViewport(LAPTOP);
    tab.on("dialog", (it) => it.accept());
    await tryLesson(tab, name).catch((error) => check(false, `${name}: ${error.message}`));
    await tab.close();
  }
  console.log(`${names.length} lessons, ${failures} problems`);
} finally {
  await browser.close();
  server.kill();
}
process.exit(failures > 0 ? 1 : 0);
