// Long lists have only the rows in sight; a first load is small, and ready at once.
import { address, assert, more, until, walk } from "./browser.mjs";

await walk(async ({ page, go, context }) => {
  // What goes over the wire, as the browser counts it.
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let transferred = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => { transferred += encodedDataLength; });
  await go();
  await page.getByText("Ask, and read where it comes from").waitFor();
  const ready = await page.evaluate(() => performance.now());
  assert.ok(transferred < 150_000, `${transferred} bytes`);
  assert.ok(ready < 10_000, `ready after ${ready} ms, which is slow even for a machine with much else to do`);
  console.log(`first load: ${transferred} bytes, ready after ${Math.round(ready)} ms`);

  await go("documents");
  await until("documents", async () => /1,000\+ documents/.test(await page.locator(".toolbar").innerText()));
  const rows = () => page.locator(".long-list .document-row").count();
  assert.ok((await rows()) < 60, "only rows in sight are there");
  // However far it is scrolled, no more rows are there than fit: how long a frame takes depends on the machine, this does not.
  const most = await page.evaluate(async () => {
    const list = document.querySelector("saem-documents .long-list");
    let most = 0;
    for (let step = 0; step < 60; step += 1) {
      list.scrollTop += 1000;
      await new Promise(requestAnimationFrame);
      most = Math.max(most, list.querySelectorAll(".document-row").length);
    }
    return most;
  });
  assert.ok(most < 60, `${most} rows`);
  await until("all documents", async () => {
    await page.evaluate(() => { const list = document.querySelector("saem-documents .long-list"); list.scrollTop = list.scrollHeight; });
    return /1,200 documents/.test(await page.locator(".toolbar").innerText());
  });
  await until("the last row", async () => (await page.locator(".long-row[aria-posinset='1200']").count()) === 1);
  assert.ok((await rows()) < 60);

  await go(`chat/${more.session}`);
  await until("the latest turns", async () => (await page.locator(".turn").count()) === 40);
  await page.getByRole("button", { name: "Show earlier turns" }).click();
  await until("more turns", async () => (await page.locator(".turn").count()) === 80);

  // Files that the browser has are not sent again.
  transferred = 0;
  await page.reload();
  await page.locator(".turn").first().waitFor();
  const again = await page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/page/") && entry.transferSize > 0).map((entry) => entry.name));
  assert.deepEqual(again, []);
  assert.ok(address);
});
