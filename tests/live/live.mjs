// The page of `simsgd explore` in Chromium: an arrow key on a slider has a point simulated, which appears in the panel
// and in the charts; nothing is said on the console, and nobody but the page's own server is asked.
//   node live.mjs NODE_MODULES CHROMIUM ADDRESS [--shots DIR]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [modules, chromium, address, ...options] = process.argv.slice(2);
const shots = options[0] === "--shots" ? options[1] : null;
const require = createRequire(pathToFileURL(resolve(modules) + "/"));
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;

const failures = [];
const check = (holds, sentence) => {
  if (!holds) failures.push(sentence);
};
const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.setViewport({ width: 1360, height: 1000 });
page.on("request", (request) => {
  if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) failures.push(`request: ${request.url()}`);
});
page.on("console", (message) => {
  if (["error", "warn", "assert"].includes(message.type())) failures.push(`console: ${message.text()}`);
});
page.on("pageerror", (error) => failures.push(`error: ${error.message}`));
page.on("dialog", async (dialog) => {
  failures.push(`a label was run: ${dialog.message()}`);
  await dialog.dismiss();
});

await page.goto(address);
await page.waitForSelector("html[data-live=yes]", { timeout: 30000 });
check((await page.$$("figure.chart")).length === 0, "there are charts before anything has run");

const done = async (what) => {
  await page.waitForFunction(() => {
    const ticket = window.simsgdLive.ticket();
    return ticket && ticket.runs.every((run) => run.state === "done");
  }, { timeout: 60000 }).catch(() => failures.push(`${what}: the point did not appear`));
  await page.evaluate(() => window.simsgdLive.look());
};
const rows = () => page.evaluate(() => Object.fromEntries(window.simsgd.views.map((view) => [view.chart.name, view.rows.length])));

// The point that the page begins with, from the keyboard.
await page.focus("#live button.first");
await page.keyboard.press("Enter");
await done("the first point");
await page.waitForSelector("figure.chart[data-drawn=yes]", { timeout: 30000 });
const before = await rows();

// Others by arrow keys, with the series that is there.
const bar = await page.$("#live input[type=range]");
const values = [];
for (let press = 0; press < 3; ++press) {
  await bar.focus();
  for (let i = 0; i < 2; ++i) await page.keyboard.press("ArrowRight");
  const at = await page.$eval("#live input[type=number]", (input) => input.value);
  values.push(at);
  await page.waitForFunction((label) => Object.values(window.simsgdLive.ticket().at).includes(label), { timeout: 30000 }, at);
  await done(`the point at ${at}`);
}
check(new Set(values).size === 3, `an arrow key leaves the slider at ${values}`);
await page.evaluate(() => window.simsgd.drawAll());
const after = await rows();
for (const chart of ["efficiency", "speedup"]) check(after[chart] > (before[chart] ?? 0), `${chart} has ${after[chart]} rows after further points, ${before[chart]} before`);
const shownValue = await page.$eval("#live [data-metric=throughput_samples_per_s]", (each) => each.textContent);
check(/\d/.test(shownValue), "the panel shows no throughput");
check((await page.$$eval("figure.chart", (all) => all.every((each) => each.dataset.drawn === "yes"))), "a chart is not drawn");

// A number that cannot be: the browser's own words, and no request; one that the server refuses: its sentence.
const refused = await page.evaluate(async () => {
  const response = await fetch("/points", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"at": [{"number": 1e9}, {"choice": 0}]}' }).catch(() => null);
  return response.status;
});
check(refused === 422, `a number out of range is answered with ${refused}`);
failures.splice(0, failures.length, ...failures.filter((each) => !each.includes("status of 422")));
check((await page.$$("main img, #live img, main iframe, #live script")).length === 0, "a label became an element");

if (shots) {
  await page.screenshot({ path: `${shots}/live.png`, fullPage: true });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.screenshot({ path: `${shots}/live_dark.png`, fullPage: true });
}
console.log(`points at ${values.join(", ")}: ${JSON.stringify(after)}; throughput ${shownValue}`);
await browser.close();
for (const failure of failures) console.error(`FAIL ${failure}`);
process.exit(failures.length > 0 ? 1 : 0);
