// SPDX-License-Identifier: GPL-2.0-only
/**
 * @file Look at the pages of the site in Chromium: `make check-pages`.
 *
 * `node check_site.mjs PACKAGES SITE [PART]` opens each page (or those whose address has PART) as a file. It ends
 * with 1 if axe finds a serious or critical problem in light or in dark, or if a page or a figure is wider than a phone,
 * or if a figure's letters are too small there. PACKAGES is the folder where puppeteer-core and axe-core were installed.
 */
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, site, part = ""] = process.argv.slice(2);
const require = createRequire(resolve(packages, "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };

// The laboratory has a check of its own.
const pages = readdirSync(site, { recursive: true })
  .filter((it) => it.endsWith(".html") && it !== "lab.html" && it.includes(part))
  .sort((a, b) => a.split("/").length - b.split("/").length || a.localeCompare(b));

const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
let failures = 0;
/** @param {string} page @param {string} what */
function tell(page, what) {
  console.log(`FAIL ${page}: ${what}`);
  failures += 1;
}

/** What axe finds, each kind once. */
async function found(tab, rules) {
  const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
  const result = await tab.evaluate((it) => axe.run(it), options);
  return result.violations
    .filter((it) => ["serious", "critical"].includes(it.impact))
    .map((it) => `${it.id} (${it.nodes.length}): ${it.nodes[0].html.replace(/\s+/g, " ").slice(0, 160)}`);
}

/** Figures of a page that a phone does not show whole, with letters of 9 points (14 in drawings) of 11 pixels. */
function wide() {
  const screen = document.documentElement.clientWidth;
  const figures = document.querySelectorAll(".md-typeset img, .md-typeset .drawing svg");
  return [...figures].filter((it) => it.checkVisibility()).flatMap((it) => {
    const { left, right, width } = it.getBoundingClientRect();
    const source = it.getAttribute("src") ?? it.getAttribute("aria-label");
    const name = source.replace(/^data:.*/, it.alt).slice(0, 90);
    if (left < 0 || right > screen + 1) return [`${name} from ${left.toFixed(0)} to ${right.toFixed(0)}`];
    // A view of a figure has its points in its address; the letters of the rest are as many of its width.
    const points = /viewBox\([\d.]+,[\d.]+,([\d.]+)/.exec(source)?.[1] ?? (/\.svg$/.test(source) ? 0.75 * it.naturalWidth : 0);
    const letters = it.viewBox ? (12 * width) / it.viewBox.baseVal.width : points ? (9 * width) / points : Infinity;
    return letters < 10.9 ? [`${name} has letters of ${letters.toFixed(1)} pixels`] : [];
  });
}

const tab = await browser.newPage();
for (const page of pages) {
  await tab.setViewport(DESKTOP);
  // Colours alone differ in the dark.
  for (const [scheme, rules] of [["dark", ["color-contrast"]], ["light", undefined]]) {
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await tab.goto(pathToFileURL(resolve(site, page)).href);
    await tab.evaluate(axe);
    for (const it of await found(tab, rules)) tell(page, `${scheme}: ${it}`);
  }
  await tab.setViewport(PHONE);
  const excess = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (excess > 0) tell(page, `${excess} pixels wider than a phone`);
  for (const it of await tab.evaluate(wide)) tell(page, it);
}
await browser.close();
console.log(`${pages.length} pages, ${failures} problems`);
process.exit(failures > 0 ? 1 : 0);
