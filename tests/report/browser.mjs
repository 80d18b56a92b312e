// A report's page in Chromium: every chart is drawn, nothing is asked of a network, nothing is said on the console, a
// click in a legend and an arrow key do what they should, no label is taken for HTML.
//   node browser.mjs NODE_MODULES CHROMIUM PAGE.html [--cpu SECONDS] [--shots DIR]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [modules, chromium, page_file, ...options] = process.argv.slice(2);
const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : null);
const require = createRequire(pathToFileURL(resolve(modules) + "/"));
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;

const failures = [];
const check = (holds, sentence) => {
  if (!holds) failures.push(sentence);
};

const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.setViewport({ width: 1360, height: 900 });
const url = pathToFileURL(resolve(page_file)).href;
page.on("request", (request) => {
  if (request.url() !== url && !/^(data|blob):/.test(request.url())) failures.push(`request: ${request.url()}`);
});
page.on("console", (message) => {
  if (["error", "warn", "assert"].includes(message.type())) failures.push(`console: ${message.text()}`);
});
page.on("pageerror", (error) => failures.push(`error: ${error.message}`));
page.on("dialog", async (dialog) => {
  failures.push(`a label was run: ${dialog.message()}`);
  await dialog.dismiss();
});

const client = await page.createCDPSession();
await client.send("Performance.enable", { timeDomain: "threadTicks" });
await page.goto(url);
await page.waitForSelector("html[data-ready=yes]", { timeout: 60000 });
await page.evaluate(() => window.simsgd.drawAll());
const cpu = Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
console.log(`main thread: ${cpu.TaskDuration.toFixed(3)} s of CPU, script ${cpu.ScriptDuration.toFixed(3)} s`);
if (option("--cpu")) check(cpu.TaskDuration < Number(option("--cpu")), `main thread took ${cpu.TaskDuration} s of CPU`);

// Marks that were drawn, of each chart.
const charts = await page.$$eval("figure.chart", (figures) =>
  figures.map((figure) => ({
    name: figure.dataset.chart,
    drawn: figure.dataset.drawn === "yes",
    rows: window.simsgd.views.find((view) => view.root === figure).rows.length,
    marks: figure.querySelectorAll(".role-mark path, .role-mark text, .role-mark line, .role-mark rect").length,
    size: figure.querySelector("svg")?.getBoundingClientRect().height ?? 0,
  })));
check(charts.length > 0, "the page has no chart");
for (const { name, drawn, rows, marks, size } of charts) {
  check(drawn, `${name} is not drawn`);
  if (rows > 0) check(marks > 0 && size > 40, `${name} has ${marks} marks for ${rows} rows, ${size} px high`);
}
console.log(charts.map(({ name, rows, marks }) => `${name}: ${rows} rows, ${marks} marks`).join("\n"));

// A click on the first name of a legend leaves that series, and the others are faint.
const faint = (figure) =>
  figure.evaluate((root) => [...root.querySelectorAll(".role-mark [opacity]")].filter((mark) => Number(mark.getAttribute("opacity")) < 0.2).length);
let clicked = 0;
for (const figure of await page.$$("figure.chart[data-drawn=yes]")) {
  const symbols = await figure.$$(".role-legend-symbol path");
  if (symbols.length < 2) continue;
  const before = await faint(figure);
  await symbols[0].evaluate((symbol) => symbol.scrollIntoView({ block: "center" }));
  await symbols[0].click();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 150)));
  const name = await figure.evaluate((root) => root.dataset.chart);
  if (name !== "winners" && name !== "measured") check((await faint(figure)) > before, `a click in the legend of ${name} makes nothing faint`);
  await symbols[0].click();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 150)));
  check((await faint(figure)) === before, `a second click in the legend of ${name} does not bring all back`);
  clicked += 1;
}
console.log(`legends clicked: ${clicked}`);

// An arrow key in a filter shows other rows, in the chart and in its table.
const filters = await page.$$("select[data-filter]:not([data-filter^='highlight '])");
let moved = 0;
for (const select of filters) {
  const before = await page.evaluate(() => window.simsgd.views.map((view) => view.at.textContent).join("|"));
  const value = await select.evaluate((element) => element.value);
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.evaluate(() => Promise.all(window.simsgd.views.map((view) => view.wanted)));
  check((await select.evaluate((element) => element.value)) !== value, "an arrow key does not move a filter");
  const after = await page.evaluate(() => window.simsgd.views.map((view) => view.at.textContent).join("|"));
  check(after !== before, "a filter does not change what charts say they show");
  const same = await page.evaluate(() => window.simsgd.views.every((view) => view.view.data("rows").length === view.rows.length));
  check(same, "a chart draws other rows than the filter chose");
  // Whatever a chart shows has the chosen values, in every chart that does not spread them along or by colour.
  const strays = await page.evaluate(() => window.simsgd.views.filter(({ chart, rows, study }) =>
    rows.some((row) => chart.filters.some((field) => row[field] !== study.chosen[field]))).map((view) => view.chart.name));
  check(strays.length === 0, `charts show what was not chosen: ${strays}`);
  moved += 1;
}
console.log(`filters moved by arrow key: ${moved}`);
const deaf = await page.evaluate(() => window.simsgd.views.filter(({ chart, study }) => chart.name === "measured" &&
  study.axes.some((axis) => axis.field !== study.series && axis.name !== "cluster/workers") && chart.filters.length === 0).length);
check(deaf === 0, "no filter moves the chart of measured values");
for (const select of await page.$$("select[data-filter^='highlight ']")) {
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.evaluate(() => Promise.all(window.simsgd.views.map((view) => view.wanted)));
  const count = await page.evaluate(() => document.querySelectorAll(".role-mark [opacity]").length);
  check(count > 0, "no series is highlighted by an arrow key");
  await page.keyboard.press("ArrowUp");
}

// The tables are HTML, and hold what is drawn.
const tables = await page.$$eval("figure.chart", async (figures) => {
  const counts = [];
  for (const figure of figures) {
    figure.querySelector("details").open = true;
    await new Promise((done) => setTimeout(done, 60));
    const view = window.simsgd.views.find((each) => each.root === figure);
    counts.push([figure.dataset.chart, figure.querySelectorAll("tbody tr").length, Math.min(view.rows.length, 500)]);
  }
  for (const figure of figures) figure.querySelector("details").open = false;
  return counts;
});
for (const [name, rows, wanted] of tables) check(rows === wanted, `the table of ${name} has ${rows} rows of ${wanted}`);
check((await page.$$("main img, main iframe, main object, main script")).length === 0, "a label became an element");

const shots = option("--shots");
if (shots) {
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.screenshot({ path: `${shots}/light.png`, fullPage: true });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.screenshot({ path: `${shots}/dark.png`, fullPage: true });
  await page.pdf({ path: `${shots}/print.pdf`, format: "A4" });
  await page.emulateMediaType("print");
  await page.screenshot({ path: `${shots}/print.png`, fullPage: true });
}
await browser.close();
for (const failure of failures) console.error(`FAIL ${failure}`);
process.exit(failures.length > 0 ? 1 : 0);
