// The site in Chromium, opened as files: nothing is asked of a network, nothing is said on the console, the search finds,
// drawings are drawn, light and dark differ.
//   node site.mjs NODE_MODULES CHROMIUM SITE [--shots DIR]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { readdirSync } from "node:fs";

const [modules, chromium, site, ...options] = process.argv.slice(2);
const shots = options[0] === "--shots" ? options[1] : null;
const require = createRequire(pathToFileURL(resolve(modules) + "/"));
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;

const failures = [];
const check = (holds, sentence) => {
  if (!holds) failures.push(sentence);
};
const browser = await puppeteer.launch({ executablePath: chromium, headless: true, timeout: 120000, args: ["--no-sandbox", "--allow-file-access-from-files=false"] });
const page = await browser.newPage();
page.setDefaultTimeout(120000);
await page.setViewport({ width: 1360, height: 900 });
let name = "";
page.on("request", (request) => {
  if (!/^(file|data|blob):/.test(request.url())) failures.push(`${name} requests ${request.url()}`);
});
page.on("console", (message) => {
  if (["error", "assert"].includes(message.type())) failures.push(`${name} says ${message.text()}`);
});
page.on("pageerror", (error) => failures.push(`${name}: ${error.message}`));

const open = async (file) => {
  name = file;
  await page.goto(pathToFileURL(resolve(site, file)).href);
};
const names = [...readdirSync(site).filter((file) => file.endsWith(".html") && file !== "404.html"), "howto/slow_nodes.html", "algorithms/wagma.html", "reference/cluster.html"];
for (const file of names) {
  await open(file);
  check((await page.$$eval("article h1", (headings) => headings.length)) === 1, `${file} does not have one title`);
  const wide = await page.$$eval(".md-typeset__scrollwrap", (tables) => tables.filter((table) => table.scrollWidth > table.clientWidth + 2).map((table) => table.innerText.slice(0, 60)));
  check(wide.length === 0, `${file} has tables that are scrolled sideways at 1360 px: ${wide}`);
}
await open("overview.html");
await page.waitForFunction(() => !document.querySelector("pre.mermaid"));
// A drawing is in a closed shadow root: its height tells.
const heights = await page.$$eval("article .mermaid, article div:not([class])", (drawings) => drawings.map((each) => each.getBoundingClientRect().height));
check(heights.filter((height) => height > 100).length >= 3, `drawings of overview.html are ${heights} px high`);
if (shots) await page.screenshot({ path: `${shots}/overview.png`, fullPage: true });

// A drawing is as high as its own proportions say: no blank above it.
await open("overview.html");
const blank = await page.evaluate(async () => {
  const svg = await new Promise((done) => mermaid.mermaidAPI.render("measured", "flowchart LR\n a[a long label] --> b[another long label] --> c", done));
  return / height="/.test(svg.slice(0, 400));
});
check(!blank, "a drawing has a height of its own");

// A method's drawing stands in its page, and its words follow the switch.
await open("algorithms/wagma.html");
const ink = () => page.$eval("article svg.timeline .t", (text) => getComputedStyle(text).fill);
const bright = await ink();
await page.$eval("label[for='__palette_2']:not([hidden]), label[for='__palette_1']:not([hidden])", (label) => label.click());
check((await ink()) !== bright, "words of a drawing keep their colour on a dark page");
await page.$eval("label[for='__palette_2']:not([hidden]), label[for='__palette_1']:not([hidden])", (label) => label.click());

// Charts follow the site's switch.
await open("studies.html");
const shown = () => page.$$eval("article img[src*='only-']", (images) => images.filter((image) => image.offsetParent).map((image) => image.getAttribute("src").split("#")[1]));
check((await shown()).length > 3 && (await shown()).every((theme) => theme === "only-light"), `a light page shows ${await shown()}`);
await page.$eval("label[for='__palette_2']:not([hidden]), label[for='__palette_1']:not([hidden])", (label) => label.click());
check((await shown()).every((theme) => theme === "only-dark"), `a dark page shows ${await shown()}`);
await page.$eval("label[for='__palette_2']:not([hidden]), label[for='__palette_1']:not([hidden])", (label) => label.click());

const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await open("index.html");
const light = await background();
if (shots) await page.screenshot({ path: `${shots}/light.png` });
await page.$eval("label[for='__palette_2']:not([hidden]), label[for='__palette_1']:not([hidden])", (label) => label.click());
check((await background()) !== light, "light and dark do not differ");
if (shots) await page.screenshot({ path: `${shots}/dark.png` });

// On a machine with every core taken, Chromium lost what was typed in one of twenty runs: three pages are asked before the search is called broken.
const finds = async () => {
  await open("index.html");
  await page.click("input.md-search__input");
  await page.waitForFunction(() => !document.querySelector(".md-search-result__meta").innerText.startsWith("Initializing"), { timeout: 30000 });
  await page.type("input.md-search__input", "staleness");
  await page.waitForSelector(".md-search-result__item a[href*='h=staleness']", { timeout: 30000 });  // not of its first letters
  return true;
};
const silent = (error) => {
  console.log(`the search is asked again: ${error.message}`);
  return false;
};
check((await finds().catch(silent)) || (await finds().catch(silent)) || (await finds().catch(silent)), "three searches for \"staleness\" find nothing");
const found = await page.$$eval(".md-search-result__item a", (links) => links.map((link) => link.getAttribute("href")));
check(found.some((link) => link.includes("results.html")), `a search for "staleness" finds ${found}`);
console.log(`${names.length} pages, search: ${found.length} pages with "staleness"`);
await browser.close();
for (const failure of failures) console.error(`FAIL ${failure}`);
process.exit(failures.length > 0 ? 1 : 0);
