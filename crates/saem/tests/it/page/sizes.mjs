// Long lists have only the rows in sight; a first load is small, and ready at once.
import { address, assert, more, until, visit, walk } from "./browser.mjs";

await walk(async ({ browser, page, go, context }) => {
  // What goes over the wire, as the browser counts it.
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let transferred = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => { transferred += encodedDataLength; });
  await go();
  await page.getByText("Ask, and read where it comes from").waitFor();
  assert.ok(transferred < 150_000, `${transferred} bytes`);
  console.log(`first load: ${transferred} bytes`);

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
  // The list grows while it is scrolled: its end is where it is now.
  const toTheEnd = () => page.evaluate(() => { const list = document.querySelector("saem-documents .long-list"); list.scrollTop = list.scrollHeight; });
  await until("all documents", async () => { await toTheEnd(); return /10,000 documents/.test(await page.locator(".toolbar").innerText()); });
  await until("the last row", async () => { await toTheEnd(); return (await page.locator(".long-row[aria-posinset='10000']").count()) === 1; });
  assert.ok((await rows()) < 60);

  // A conversation of thousands: the end first, the beginning at a press, and what is between when it is looked at.
  await go(`chat/${more.session}`);
  const asked = (number) => page.locator(".turn .asked").filter({ hasText: new RegExp(`^Question ${number}\\b`) });
  await asked(more.turns).waitFor();
  const drawn = () => page.locator(".turn").count();
  assert.ok((await drawn()) < 40, `${await drawn()} turns are drawn`);
  await page.locator(".talk").focus();
  await page.keyboard.press("Home");
  await asked(1).waitFor();
  await asked(2).waitFor();
  assert.ok((await drawn()) < 40, `${await drawn()} turns are drawn`);
  const scrolled = await page.evaluate(async () => {
    const talk = document.querySelector(".talk");
    let [most, longest, last] = [0, 0, performance.now()];
    for (let step = 0; step < 120; step += 1) {
      talk.scrollTop += 900;
      await new Promise(requestAnimationFrame);
      most = Math.max(most, talk.querySelectorAll(".turn").length);
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    return { most, longest };
  });
  assert.ok(scrolled.most < 60, `${scrolled.most} turns are drawn`);
  console.log(`scrolling: at most ${scrolled.most} turns drawn, longest frame ${Math.round(scrolled.longest)} ms`);
  await until("the middle is there", async () => (await page.locator(".turn:not(.missing)").count()) > 0 && (await page.locator(".turn.missing").count()) === 0);
  // What is read stays where it is while what is above it comes in.
  await page.evaluate(() => { const talk = document.querySelector(".talk"); talk.scrollTop = talk.scrollHeight / 2; });
  await until("another part is there", async () => (await page.locator(".turn:not(.missing)").count()) > 0 && (await page.locator(".turn.missing").count()) === 0);
  await page.locator(".talk").focus();
  await page.keyboard.press("End");
  await asked(more.turns).waitFor();
  // One press is enough, whatever is on its way to be shown elsewhere.
  for (let part = 1; part < 9; part += 1) {
    await page.evaluate((part) => { const talk = document.querySelector(".talk"); talk.scrollTop = (talk.scrollHeight * part) / 10; }, part);
    await page.keyboard.press(part % 2 ? "End" : "Home");
    await asked(part % 2 ? more.turns : 1).waitFor();
  }

  // Files that the browser has are not sent again.
  transferred = 0;
  await page.reload();
  await page.locator(".turn").first().waitFor();
  const again = await page.evaluate(() => performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/page/") && entry.transferSize > 0).map((entry) => entry.name));
  assert.deepEqual(again, []);
  assert.ok(address);

  // A run whose agents have said two thousand things: told at once by a stand-in, as no real one does.
  const watcher = await visit(browser);
  const run = "6b842479-a254-4b50-8823-90b6204e72ba";
  const told = Array.from({ length: 2000 }, (_, place) => ({
    id: run, query_id: run, sender: "research", recipient: null, message_type: "notification", timestamp: "2026-11-16T03:00:00Z", seq: place + 1,
    content: { event: "source_read", source_id: run, provider: "local", title: `Source ${place + 1} ${"of many ".repeat(place % 9)}`, characters: 100 },
  }));
  const events = told.map((message) => `id: ${message.seq}\nevent: agent_message\ndata: ${JSON.stringify(message)}\n\n`).join("");
  await watcher.page.route(`**/api/research/${run}`, (route) => route.fulfill({ json: { id: run, question: "What?", state: "ended", begun_at: 0, ended: "stopped" } }));
  await watcher.page.route(`**/api/research/${run}/events*`, (route) => route.fulfill({ contentType: "text/event-stream", body: `${events}event: end\ndata: {}\n\n` }));
  await watcher.go(`research/${run}`);
  const line = (number) => watcher.page.locator(`.message[data-seq='${number}']`);
  await line(2000).waitFor();
  assert.ok((await watcher.page.locator(".message").count()) < 80, "only messages in sight are there");
  await watcher.page.getByRole("log").focus();
  await watcher.page.keyboard.press("Home");
  await line(1).waitFor();
  const most_messages = await watcher.page.evaluate(async () => {
    const talk = document.querySelector(".run-talk");
    let most = 0;
    for (let step = 0; step < 100; step += 1) {
      talk.scrollTop += 800;
      await new Promise(requestAnimationFrame);
      most = Math.max(most, talk.querySelectorAll(".message").length);
    }
    return most;
  });
  assert.ok(most_messages < 80, `${most_messages} messages are drawn`);
  watcher.allWell();
});
