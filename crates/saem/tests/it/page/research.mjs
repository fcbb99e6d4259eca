// Research: asked, its plan edited and approved, watched, paused and resumed, cut off and taken up again, read, a step done anew, followed up, and stopped.
import net from "node:net";

// A network of our own between the browser and the server, so that it can be cut under a stream.
const target = new URL(process.env.ADDRESS);
const open = new Set();
let is_cut = false;
const between = net.createServer((socket) => {
  if (is_cut) { socket.destroy(); return; }
  const other = net.connect(Number(target.port), target.hostname);
  for (const [one, two] of [[socket, other], [other, socket]]) {
    open.add(one);
    one.pipe(two);
    one.on("error", () => two.destroy());
    one.on("close", () => { open.delete(one); two.destroy(); });
  }
});
await new Promise((resolve) => between.listen(0, "127.0.0.1", resolve));
process.env.ADDRESS = `http://127.0.0.1:${between.address().port}`;
const cut = () => { is_cut = true; for (const socket of open) socket.destroy(); };
const mend = () => { is_cut = false; };

const { accessible, assert, more, until, visit, walk } = await import("./browser.mjs");

await walk(async ({ browser, page, go }) => {
  await go("research");
  await page.getByText("Nothing has been researched yet.").waitFor();
  await accessible(page, "research, empty");
  await page.getByRole("textbox", { name: "Question" }).fill(more.question);
  await page.keyboard.press("Enter");

  // The plan is changed, with the keyboard, and approved; nothing has been searched before.
  const plan = page.locator("form.plan");
  await plan.waitFor();
  assert.equal(await page.locator(".message").filter({ hasText: "found" }).count(), 0);
  await accessible(page, "a plan");
  await plan.getByRole("textbox", { name: "Step" }).first().fill("how budget alerts are sent");
  await plan.getByRole("button", { name: "Add a step" }).press("Enter");
  await page.keyboard.type("what further budgets cost");
  await plan.getByRole("textbox", { name: "Search words" }).last().fill("further budget, costs");
  await plan.getByRole("button", { name: "Approve and search" }).click();
  const timeline = page.getByRole("log", { name: "What the agents say" });
  await timeline.getByText("edited and approved").waitFor();

  // The network goes in the middle of it; the run does not, and nothing that was said is missing.
  cut();
  await page.getByText("The connection is lost.").waitFor();
  mend();
  await until("the connection is back", async () => !(await page.getByText("The connection is lost.").isVisible()));
  const report = page.locator(".report");
  await report.waitFor();
  await report.getByText("80 percent").first().waitFor();
  const seen = new Set();
  await timeline.evaluate((element) => { element.scrollTop = 0; });
  await until("every message, once", async () => {
    for (const seq of await timeline.locator(".message").evaluateAll((all) => all.map((one) => Number(one.dataset.seq)))) seen.add(seq);
    return timeline.evaluate((element) => { element.scrollTop += 400; return element.scrollTop + element.clientHeight >= element.scrollHeight - 2; });
  });
  for (const seq of await timeline.locator(".message").evaluateAll((all) => all.map((one) => Number(one.dataset.seq)))) seen.add(seq);
  const told = await page.evaluate((path) => fetch(path).then((answer) => answer.json()), `/api/research/${page.url().split("/").at(-1)}/messages?limit=1000`);
  const meant = told.messages.filter((message) => message.content.event !== "budget_update").map((message) => message.seq);
  assert.deepEqual([...seen].sort((a, b) => a - b), meant);
  await page.locator(".scores").waitFor();
  assert.ok((await page.locator(".meter").count()) >= 3, "the budget is shown");

  // What a number stands for, and how its quote was checked.
  const cite = report.locator("button.cite").first();
  assert.match(await cite.getAttribute("aria-label"), /stands in the source/);
  await cite.hover();
  await page.locator(".cite-card").waitFor();
  assert.match(await page.locator(".cite-card blockquote").innerText(), /budget/i);
  await page.keyboard.press("Escape");
  await accessible(page, "a report");
  for (const format of ["MD", "HTML", "JSON"]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Export as ${format}` }).click()]);
    assert.match(file.suggestedFilename(), new RegExp(`^research-.*\\.${format.toLowerCase()}$`));
  }

  // A reload shows the same.
  await page.reload();
  await report.getByText("80 percent").first().waitFor();
  await timeline.locator(".message").first().waitFor();

  // One step of its plan is done anew, as a run of its own that knows where it comes from.
  const first = page.url();
  await timeline.evaluate((element) => { element.scrollTop = 0; });
  await timeline.getByRole("button", { name: "Do step 1 again" }).click();
  await until("another run", () => page.url() !== first);
  await report.getByText("80 percent").first().waitFor();
  await timeline.evaluate((element) => { element.scrollTop = 0; });
  await timeline.getByText(/Step 1 is done anew, with \d+ sources kept/).waitFor();
  await accessible(page, "a step done anew");
  const chain = page.getByRole("navigation", { name: "Runs that belong together" });
  await chain.getByText("Step 1 anew of").waitFor();
  await chain.getByRole("link", { name: more.question }).click();
  await until("the first run again", () => page.url() === first);
  await chain.getByText("Step 1 was done anew").waitFor();

  // Followed up, paused, told something, gone on with, and stopped.
  await page.getByRole("textbox", { name: "Follow-up question" }).fill("Who gets the mail?");
  await page.keyboard.press("Enter");
  await plan.waitFor();
  await plan.getByText(/Follows the report on .*, with \d+ sources at hand/).waitFor();
  await page.getByRole("heading", { name: "Who gets the mail?", exact: true }).waitFor();
  await chain.getByText("Follows", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("button", { name: "Add an instruction" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("Look at mail, too.");
  await page.keyboard.press("Enter");
  await timeline.getByText("Look at mail, too.").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.locator(".run-head").getByText("stopped").waitFor();

  // All are in the history; one is forgotten.
  await page.getByRole("link", { name: "All runs" }).click();
  await until("all three runs", async () => (await page.locator(".runs li").count()) === 3);
  const dark = await visit(browser, { locale: "ko-KR", theme: "dark" });
  await dark.go("research");
  await dark.page.getByText("중지됨").waitFor();
  await accessible(dark.page, "research ko dark");
  dark.allWell();
  await page.locator(".runs li").first().getByRole("button", { name: "Forget this run" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await until("two runs", async () => (await page.locator(".runs li").count()) === 2);
}, { expected: ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_SOCKET", "ERR_NETWORK"] });
between.close();
process.exit(0);
