// A browser for the walks: nothing may reach out, run or complain that is not ours.
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";

const require = createRequire(`${process.env.NODE_MODULES}/x.js`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export { assert };
export const address = process.env.ADDRESS;
export const more = JSON.parse(process.env.MORE ?? "{}");
const PATIENCE = Number(process.env.PATIENCE ?? 60_000);

/** Opens a browser, walks, and sees that nothing went wrong on the way. */
export async function walk(steps, options = {}) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--lang=en"] });
  try {
    const visitor = await visit(browser, options);
    await steps(visitor);
    visitor.allWell();
  } finally {
    await browser.close();
  }
}

/** A visitor with a page of their own; `also` names servers besides ours that the visitor may go to. */
export async function visit(browser, { width = 1280, height = 820, locale = "en-GB", theme = "light", expected = [], also = [] } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, locale, colorScheme: theme, reducedMotion: "reduce", acceptDownloads: true });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: address });
  if (process.env.WEB) await fromFolder(context, process.env.WEB);
  if (process.env.JITTER) await late(context, Number(process.env.JITTER));
  context.setDefaultTimeout(PATIENCE);
  const faults = [];
  const isExpected = (text) => expected.some((part) => text.includes(part));
  const isOurs = (url) => [address, ...also].some((known) => url.startsWith(`${known}/`)) || url.startsWith("blob:") || url.startsWith("data:");
  const watch = (page) => {
    page.on("console", (line) => {
      const text = `${line.text()} (${line.location().url})`;
      if (line.type() === "error" && !isExpected(text)) faults.push(`console: ${text}`);
    });
    page.on("pageerror", (error) => faults.push(`script: ${error.stack}`));
    page.on("request", (request) => { if (!isOurs(request.url())) faults.push(`reached out: ${request.url()}`); });
    page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    return page;
  };
  const page = watch(await context.newPage());
  const go = (room = "") => page.goto(`${address}/#/${room}`);
  const allWell = () => assert.deepEqual(faults, []);
  return { browser, context, page, go, watch, allWell, faults };
}

/** For whoever works on the page: its files as they are in this folder, not as they were when the binary was built. */
async function fromFolder(context, folder) {
  const style = () => ["base", "chat", "rooms", "research"].map((part) => readFileSync(`${folder}/${part}.css`, "utf8")).join("\n");
  await context.route("**/page/*/**", (route) => {
    const path = new URL(route.request().url()).pathname.split("/").slice(3).join("/");
    return route.fulfill(path === "page.css" ? { body: style(), contentType: "text/css" } : { path: `${folder}/${path}` });
  });
  await context.route((url) => url.pathname === "/", async (route) => route.fulfill({ response: await route.fetch(), body: readFileSync(`${folder}/index.html`, "utf8").replaceAll("{edition}", "folder") }));
}

/** For whoever works on the page: every answer comes up to so many milliseconds late, so that no two come in the order they were asked for. */
async function late(context, most) {
  await context.route("**/*", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * most));
    // The page may be gone by then.
    await route.fallback().catch(() => {});
  });
}

/** Nothing serious is in the way of anybody who uses the page by other means than sight and a mouse. */
export async function accessible(page, where) {
  // The page's own policy lets no foreign script in, so the checker comes through the browser.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: `${axe}; undefined` });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(found.violations))", awaitPromise: true, returnByValue: true,
  });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  await session.detach();
  const serious = JSON.parse(result.value).filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map((node) => `${node.html.slice(0, 200)} ${node.any?.[0]?.message ?? ""}`).join(" | ")}`);
  assert.deepEqual(told, [], where);
}

/** Waits until what is asked for is so. */
export async function until(what, check) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    if (await check()) return;
    assert.ok(Date.now() < end, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function picture(page, name) {
  mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, animations: "disabled", caret: "hide" });
}
