// Opens the page in a browser that has nothing of it, once for each line, and says what that took.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [address, packages] = process.argv.slice(2);
const { chromium } = createRequire(`${packages}/x.js`)("playwright-core");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--lang=en"] });

/** A visitor who was never here. */
async function fresh() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, locale: "en-GB" });
  return { context, page: await context.newPage() };
}

const ORDERS = {
  /** Takes the demo's documents in, as a person would. */
  async fill() {
    const { context, page } = await fresh();
    await page.goto(address);
    await page.locator("button.demo").click();
    await page.locator("button.example").first().waitFor({ timeout: 120_000 });
    await context.close();
    return { version: `Chromium ${browser.version()}` };
  },
  async visit() {
    const { context, page } = await fresh();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
    await page.goto(address);
    // What a person can ask is there last: until then requests are under way.
    await page.locator("button.example").first().waitFor();
    await page.waitForFunction(() => performance.getEntriesByName("usable").length > 0);
    const times = await page.evaluate(() => {
      const [loaded] = performance.getEntriesByType("navigation");
      const fetched = performance.getEntriesByType("resource");
      return {
        first_byte_ms: loaded.responseStart, dom_ready_ms: loaded.domContentLoadedEventEnd, usable_ms: performance.getEntriesByName("usable")[0].startTime,
        settled_ms: Math.max(...fetched.map((entry) => entry.responseEnd)), requests: fetched.length + 1,
      };
    });
    await context.close();
    return { ...times, bytes };
  },
};

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await ORDERS[line]()));
await browser.close();
