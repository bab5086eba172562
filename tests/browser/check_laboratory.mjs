// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file Look at the laboratory in real browsers: `make check-laboratory`.
 *
 * `node check_laboratory.mjs PACKAGES PAGE SCREENSHOTS [BROWSER]` opens the page as a file in Chromium and in
 * Firefox, as wide as a desktop and as a phone. It ends with 1 if the first picture or the answer to
 * a slider takes too long, the keyboard does not reach everything, axe finds a serious problem, a
 * stranger's address does more than tell a sentence, or anything is loaded. PACKAGES is the folder
 * where puppeteer-core and axe-core were installed.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, page, screenshots, only] = process.argv.slice(2);
const require = createRequire(resolve(packages, "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const address = pathToFileURL(resolve(page)).href;

const BROWSERS = {
  chromium: { browser: "chrome", executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] },
  firefox: { browser: "firefox", executablePath: "/usr/bin/firefox-esr" },
};
const SIZES = { desktop: [1280, 900], phone: [390, 844] };
// On a busy machine, LAB_PATIENCE multiplies what a picture and an answer may take, ms.
const PATIENCE = Number(process.env.LAB_PATIENCE ?? 1);
const FIRST = 1000 * PATIENCE;
const ANSWER = 300 * PATIENCE;
const SLOWER = 4;
/** 100 cells of a map at 50 Mbit/s, ms */
const MAP = 5000 * PATIENCE;

let failures = 0;
/** @param {boolean} holds @param {string} what */
function check(holds, what) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  failures += holds ? 0 : 1;
}

const runs = (tab) => tab.evaluate(() => Number(document.body.dataset.runs ?? 0));
const text = (tab, selector) => tab.$eval(selector, (it) => it.textContent);
const settled = (tab, before) =>
  tab.waitForFunction((count) => Number(document.body.dataset.runs ?? 0) > count, { timeout: 60000 }, before);

/** When the first figures were drawn, ms. */
const firstPicture = (tab) => tab.evaluate(() => Number(document.body.dataset.first));

/** Open the page with an address, in a new document. */
async function open(tab, fragment = "") {
  await tab.goto("about:blank");
  await tab.goto(address + fragment);
}

async function looks(tab, name, size) {
  const [width, height] = SIZES[size];
  await tab.setViewport({ width, height });
  await open(tab);
  await settled(tab, 0);
  const first = await firstPicture(tab);
  check(first < FIRST, `${name}: first picture after ${first.toFixed(0)} ms`);

  const answers = [];
  for (const [key, value] of [["rate", 6], ["rtt", 4], ["buffer", 5], ["loss", 4], ["buffer", 2], ["loss", 0]]) {
    const before = await runs(tab);
    await tab.$eval(`#${key}`, (it, to) => { it.value = to; it.dispatchEvent(new Event("input")); }, value);
    await settled(tab, before);
    answers.push(Number(await tab.evaluate(() => document.body.dataset.milliseconds)));
  }
  check(Math.max(...answers) < ANSWER, `${name}: answers to sliders at 100 Mbit/s after ${answers.join(", ")} ms`);

  const excess = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(excess <= 0, `${name}: the page is as wide as the screen`);
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => axe.run());
  const serious = found.violations.filter((it) => ["serious", "critical"].includes(it.impact));
  check(serious.length === 0, `${name}: axe finds nothing serious ${serious.map((it) => `${it.id}: ${it.nodes[0].html}`)}`);
  await tab.screenshot({ path: `${screenshots}/${name}.png` });
  await tab.screenshot({ path: `${screenshots}/${name}-whole.png`, fullPage: true });
}

/** A phone of 2020 has a quarter of this machine's speed. */
async function slowly(tab, name) {
  const [width, height] = SIZES.phone;
  await tab.setViewport({ width, height });
  await tab.emulateCPUThrottling(SLOWER);
  await open(tab);
  await settled(tab, 0);
  const first = await firstPicture(tab);
  check(first < FIRST, `${name}: first picture after ${first.toFixed(0)} ms, ${SLOWER} times slower`);
  const pictures = await picturesASecond(tab);
  check(pictures > 30 / PATIENCE, `${name}: ${pictures.toFixed(0)} pictures a second, ${SLOWER} times slower`);
  await tab.emulateCPUThrottling(1);
}

/** How often moving packets are drawn in two seconds of the default run. */
async function picturesASecond(tab) {
  await tab.$eval("#packets-show", (it) => it.click());
  await tab.waitForFunction(() => document.body.dataset.packets, { timeout: 60000 });
  return tab.evaluate(async () => {
    film.time = film.begin;
    film.play();
    const [frames, begin] = [film.frames, performance.now()];
    await new Promise((done) => setTimeout(done, 2000));
    return (1000 * (film.frames - frames)) / (performance.now() - begin);
  });
}

/** Choose everything by keyboard alone. */
async function keyboard(tab, name) {
  await open(tab);
  await settled(tab, 0);
  const reached = [];
  for (let i = 0; i < 50; ++i) {
    await tab.keyboard.press("Tab");
    const id = await tab.evaluate(() => document.activeElement?.id || document.activeElement?.dataset.copies);
    if (id && reached.includes(id)) break; // once around
    reached.push(id);
    if (id === "rtt") {
      const before = await runs(tab);
      await tab.keyboard.press("ArrowRight");
      await settled(tab, before);
    }
    if (id === "tunnel") {
      const before = await runs(tab);
      await tab.keyboard.press("ArrowDown");
      await settled(tab, before);
    }
  }
  const wanted = ["preset", "rate", "later_rate", "policer", "other_start", "beside", "pin", "undo", "rtt", "buffer", "loss", "queue", "tunnel", "cc", "flows", "other_cc", "other_flows",
    "duration", "seed", "reset", "link", "command", "toml"];
  check(wanted.every((it) => reached.includes(it)), `${name}: the keyboard reaches ${reached.length} places`);
  const link = (await text(tab, "#link")).split("#")[1];
  const second = await tab.$eval("#tunnel", (it) => it.options[1].value);
  check(link === `rtt=60ms&tunnel=${second}`, `${name}: the keyboard moves a slider and a list: ${link}`);
}

/** A story opens with its A, which is exchanged, removed and brought back; a scenario is opened; values are told. */
async function comparisons(tab, name) {
  const compared = (to) => tab.waitForFunction((it) => document.body.dataset.compared === it, { timeout: 60000 }, to);
  await open(tab, "#preset=bufferbloat");
  await compared("true");
  const table = await text(tab, "#differences tbody");
  check(table.includes("Median RTT of pings") && table.includes("×"), `${name}: A and B differ: ${table.slice(0, 60)}`);
  check((await text(tab, "#pinned")).startsWith("buffer 1 BDP in A, 8 BDP in B"), `${name}: ${await text(tab, "#pinned")}`);
  check((await text(tab, "#story-text")).length > 100, `${name}: the story is told`);
  await tab.click("#swap");
  await tab.waitForFunction(() => document.querySelector("#pinned").textContent.startsWith("buffer 8 BDP in A"));
  check((await tab.evaluate(() => location.hash)) === "#preset=bufferbloat&buffer=1bdp&a=buffer:8bdp", `${name}: the address has A`);
  await tab.click("#unpin");
  await compared("false");
  await tab.click("#undo");
  await compared("true");
  await tab.click("#undo");
  check((await tab.evaluate(() => location.hash)) === "#preset=bufferbloat", `${name}: what was done is undone`);
  await open(tab, "#preset=bufferbloat&a=none");
  await settled(tab, 0);
  await tab.hover("#goodput .u-over");
  const value = await text(tab, "#goodput-value");
  check(/^\d+\.\d s: .*cubic [\d.]+ Mbit\/s$/.test(value), `${name}: the value at the pointer: ${value}`);
  check((await text(tab, "#rtts-value")).endsWith("ms"), `${name}: the other figures tell theirs`);

  await open(tab);
  await settled(tab, 0);
  const before = await runs(tab);
  await tab.$eval("#file", (it) => (it.value = '[path]\nrate = "10Mbps"\n\n[[flows]]\ncc = "bbr"\ncount = 2\n'));
  await tab.$eval("#open", (it) => it.click());
  await settled(tab, before);
  check((await text(tab, "#link")).endsWith("#rate=10Mbps&cc=bbr&flows=2&other_flows=0"), `${name}: a scenario is opened`);
  await tab.$eval("#file", (it) => (it.value = "[path]\nmtu = 1400\n"));
  await tab.$eval("#open", (it) => it.click());
  check((await text(tab, "#problems")).includes("path.mtu is a key that this page has not"), `${name}: what it has not is told`);

  await open(tab, "?embed#preset=l4s");
  await compared("true");
  const shown = await tab.evaluate(() => ["choices", "packets", "maps", "goodput", "differences", "whole"].map((it) => document.getElementById(it).checkVisibility()));
  check(JSON.stringify(shown) === "[false,false,false,true,true,true]", `${name}: in a slide, figures alone are shown`);
}

/** A map is filled; a click on a cell opens its run, which has the cell's number. */
async function maps(tab, name) {
  const whole = () => tab.waitForFunction(() => document.body.dataset.map, { timeout: 120000 * PATIENCE });
  await open(tab, "#rate=5Mbps&duration=5s&other_flows=0&map=flows,loss,goodput");
  await whole();
  const status = await text(tab, "#map-status");
  check(status.startsWith("112 runs in"), `${name}: a map: ${status}`);
  const before = await runs(tab);
  const cell = '#map button[data-x="3"][data-y="1%"]';
  await tab.$eval(cell, (it) => it.click());
  await settled(tab, before);
  const number = await text(tab, cell);
  const goodput = await text(tab, "#flow-numbers tbody td:nth-child(2)");
  check(goodput === `${number} Mbit/s`, `${name}: a click opens the run of ${number}: ${goodput}`);
  check((await tab.evaluate(() => location.hash)).includes("loss=1%25&flows=3"), `${name}: the address has the cell`);
  check(await tab.$eval(cell, (it) => it.classList.contains("here")), `${name}: the cell is marked`);
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => axe.run());
  const serious = found.violations.filter((it) => ["serious", "critical"].includes(it.impact));
  check(serious.length === 0, `${name}: axe finds nothing serious in a map ${serious.map((it) => `${it.id}: ${it.nodes[0].html}`)}`);
  const lines = await tab.$$eval("#map .line-right, #map .line-above", (all) => all.length);
  check(lines > 5 && (await text(tab, "#map-lines")).startsWith("quarters"), `${name}: ${lines} pieces of lines in a map`);
  await open(tab, "#map=rtt,loss,goodput");
  await whole();
  const [, count, seconds] = /^(\d+) runs in ([\d.]+) s/.exec(await text(tab, "#map-status"));
  check((1e5 * seconds) / count < MAP, `${name}: ${count} runs of 20 s at 50 Mbit/s in ${seconds} s`);
  await open(tab, "#rate=5Mbps&duration=5s&other_flows=0&a=cc:bbr&map=flows,buffer,goodput,ab");
  await whole();
  const shown = await tab.$$eval("#map button", (all) => all.map((it) => it.textContent));
  check(shown.filter((it) => /^([+−]\d+ %|× [\d.]+|–)$/.test(it)).length === 64, `${name}: differences: ${shown.slice(0, 8)}`);
}

/** Packets move, step by step, and as a film that is saved. */
async function packets(tab, name) {
  await open(tab, "#rate=10Mbps&tunnel=wireguard&flows=2&loss=1%25");
  await settled(tab, 0);
  await tab.$eval("#packets-from", (it) => { it.value = 50; it.dispatchEvent(new Event("input")); });
  await tab.$eval("#packets-show", (it) => it.click());
  await tab.waitForFunction(() => document.body.dataset.packets, { timeout: 60000 });
  check(Number(await tab.evaluate(() => document.body.dataset.packets)) > 500, `${name}: a trace of ${await tab.evaluate(() => document.body.dataset.packets)} packets`);
  check((await text(tab, "#packets-play")) === "Pause", `${name}: they move`);
  await new Promise((done) => setTimeout(done, 1500));
  await tab.$eval("#packets-play", (it) => it.click());
  const clock = async () => Number.parseFloat(await text(tab, "#packets-status"));
  check(/\d+ of a window of \d+ segments in flight/.test(await text(tab, "#packets-status")), `${name}: windows are told`);
  const begin = await clock();
  check(begin > 9.5, `${name}: they stand: ${await text(tab, "#packets-status")}`);
  await tab.$eval("#packets-next", (it) => it.click());
  const next = await clock();
  check(next > begin && next < begin + 0.01, `${name}: a step to the next packet: ${next}`);
  await tab.$eval("#packets-back", (it) => it.click());
  check((await clock()) <= begin + 1e-4, `${name}: and back`);
  await tab.$eval("#packets-rtt", (it) => it.click());
  check(Math.abs((await clock()) - begin - 0.04) < 0.005, `${name}: a step of an RTT`);
  const colours = await tab.$eval("#film", (it) => {
    const { data } = it.getContext("2d").getImageData(0, 0, it.width, it.height);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 3).join());
    return found.size;
  });
  check(colours > 5, `${name}: something is drawn, in ${colours} colours`);
  const each = await tab.evaluate(() => {
    const from = performance.now();
    for (let i = 0; i < 100; ++i) film.draw();
    return (performance.now() - from) / 100;
  });
  check(each < 16 * PATIENCE, `${name}: a picture takes ${each.toFixed(2)} ms`);
  await tab.evaluate(() => { HTMLAnchorElement.prototype.click = () => {}; });
  await tab.$eval("#packets-save", (it) => it.click());
  await new Promise((done) => setTimeout(done, 1500));
  await tab.$eval("#packets-play", (it) => it.click());
  await tab.waitForFunction(() => document.body.dataset.film, { timeout: 20000 });
  check(Number(await tab.evaluate(() => document.body.dataset.film)) > 1000, `${name}: a film of ${await tab.evaluate(() => document.body.dataset.film)} bytes`);
}

/** A run can be stopped; one that is too large is refused. */
async function limits(tab, name) {
  await open(tab, "#rate=500Mbps&duration=60s");
  await tab.waitForFunction(() => document.querySelector("#status").textContent.includes("simulated."), { timeout: 60000 });
  await tab.click("#stop");
  check((await text(tab, "#status")) === "Stopped.", `${name}: a run is stopped`);
  const before = await runs(tab);
  await tab.$eval("#duration", (it) => { it.value = 0; it.dispatchEvent(new Event("input")); });
  await settled(tab, before);
  check((await text(tab, "#status")).startsWith("5 s simulated in"), `${name}: the next run is not hindered`);
  await open(tab, "#rate=1000Mbps&duration=120s");
  await tab.waitForFunction(() => document.querySelector("#problems").textContent !== "");
  check((await text(tab, "#problems")).includes("choose a lower rate or a shorter duration"), `${name}: too large a run is refused`);
}

/** An address from a stranger is told in a sentence, and runs and loads nothing. */
async function strangers(tab, name) {
  await tab.evaluateOnNewDocument(() => { window.alert = () => { window.ran = true; }; });
  for (const fragment of [
    "#rate=<img src=x onerror=alert(1)>", "#tunnel=%3Cscript%3Ealert(1)%3C/script%3E", "#__proto__=x&constructor=y",
    "#cc=javascript:alert(1)", "#rate=7Mbps", `#seed=${"9".repeat(5000)}`, "#%", "#&&==&",
  ]) {
    await open(tab, fragment);
    await settled(tab, 0);
    const told = await text(tab, "#problems");
    const ran = await tab.evaluate(() => window.ran ?? false);
    const isShown = fragment === "#&&==&" || told.length > 10;
    check(isShown && !ran && told.length < 1500, `${name}: ${fragment.slice(0, 50)}: ${told.slice(0, 80)}`);
  }
}

/** The policy refuses what a script of somebody else would do. */
async function policy(tab, name) {
  await open(tab);
  const refused = await tab.evaluate(async () => {
    const blocked = [];
    document.addEventListener("securitypolicyviolation", (it) => blocked.push(it.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    const image = new Image();
    image.src = "https://example.org/x.png";
    document.body.append(image);
    const frame = document.createElement("iframe");
    frame.src = "https://example.org/";
    document.body.append(frame);
    const fetched = await fetch("https://example.org/").then(() => true, () => false);
    await new Promise((done) => setTimeout(done, 300));
    return { blocked, fetched, ran: window.ran ?? false };
  });
  const wanted = ["script-src-elem", "img-src", "frame-src", "connect-src"];
  check(!refused.fetched && !refused.ran && wanted.every((it) => refused.blocked.includes(it)),
    `${name}: the policy refuses ${refused.blocked}`);
}

mkdirSync(screenshots, { recursive: true });
for (const [name, options] of Object.entries(BROWSERS)) {
  if (only && only !== name) continue;
  const browser = await puppeteer.launch({ ...options, headless: true });
  try {
    const tab = await browser.newPage();
    const problems = [];
    const loaded = [];
    tab.on("pageerror", (it) => problems.push(it.message));
    tab.on("console", (it) => it.type() === "error" && problems.push(it.text()));
    tab.on("request", (it) => /^(file|about|blob|data):/.test(it.url()) || loaded.push(it.url()));
    for (const size of Object.keys(SIZES)) await looks(tab, `${name}-${size}`, size);
    if (name === "chromium") await slowly(tab, name); // Firefox cannot be slowed
    await tab.setViewport({ width: 1280, height: 900 });
    await open(tab);
    await settled(tab, 0);
    const pictures = await picturesASecond(tab);
    check(pictures > 55 / PATIENCE, `${name}: ${pictures.toFixed(0)} pictures a second`);
    await keyboard(tab, name);
    await comparisons(tab, name);
    await maps(tab, name);
    await packets(tab, name);
    await limits(tab, name);
    check(problems.length === 0, `${name}: the console has no errors ${problems}`);
    await strangers(tab, name);
    check(loaded.length === 0, `${name}: nothing is loaded ${loaded}`);
    await policy(tab, name);
  } finally {
    await browser.close();
  }
}
process.exit(failures > 0 ? 1 : 0);
