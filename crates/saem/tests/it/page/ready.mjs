// How soon a chat with the demo's documents can be used by somebody who was never here. It says so; how long it may take is a matter for `cargo xtask bench page`.
import { assert, visit, walk } from "./browser.mjs";

const VISITS = 3;

await walk(async ({ browser, page, go }) => {
  await go();
  await page.getByRole("button", { name: "Try with the demo documents" }).click();
  await page.locator("button.example").first().waitFor();
  for (let count = 1; count <= VISITS; count += 1) {
    const visitor = await visit(browser);
    await visitor.go();
    await visitor.page.waitForFunction(() => performance.getEntriesByName("usable").length > 0);
    const field = visitor.page.getByRole("textbox", { name: "Ask a question" });
    assert.ok(await field.isEditable());
    await visitor.page.locator("button.example").first().waitFor();
    const { times, fetched } = await visitor.page.evaluate(() => {
      const [loaded] = performance.getEntriesByType("navigation");
      const fetched_ = performance.getEntriesByType("resource").map((entry) => [new URL(entry.name).pathname, entry.startTime, entry.responseEnd].map((part) => (typeof part === "number" ? Math.round(part) : part)));
      return { times: { first_byte: loaded.responseStart, dom_ready: loaded.domContentLoadedEventEnd, usable: performance.getEntriesByName("usable")[0].startTime }, fetched: fetched_ };
    });
    console.log(`visit ${count}: ${Object.entries(times).map(([name, value]) => `${name} ${Math.round(value)} ms`).join(", ")}; ${fetched.length} requests`);
    if (process.env.WATERFALL) for (const [path, begun, ended] of fetched) console.log(`  ${begun}–${ended} ${path}`);
    // Nothing is waited for in turns that could be fetched at once.
    const files = fetched.filter(([path]) => path.startsWith("/page/"));
    const asked = fetched.filter(([path]) => path.startsWith("/api/"));
    assert.ok(files.length > 20 && asked.length > 0);
    assert.ok(asked.length <= 4, `${asked.map(([path]) => path)}`);
    visitor.allWell();
    await visitor.context.close();
  }
});
