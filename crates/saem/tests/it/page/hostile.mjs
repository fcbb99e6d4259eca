// Documents, answers and tools that want to run or to reach out: they are shown as the text they are.
import { assert, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  const clean = async (where) => {
    assert.equal(await page.evaluate(() => window.pwned), undefined, where);
    const bad = await page.evaluate(() => [...document.querySelectorAll("*")].flatMap((element) => [
      ...(["SCRIPT", "IFRAME", "IMG", "BASE", "OBJECT", "EMBED"].includes(element.tagName) && element.closest("saem-app") ? [element.outerHTML] : []),
      ...[...element.attributes].filter(({ name, value }) => name.startsWith("on") || /^\s*(javascript|data):/i.test(value)).map(({ name }) => `${element.tagName} ${name}`),
    ]));
    assert.deepEqual(bad, [], where);
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b]/.test(await page.locator("main").innerText()), `${where}: letters that hide`);
  };
  await go();
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.fill("When is a budget alert sent? <img src=x onerror=window.pwned=1>");
  await field.press("Enter");
  await page.getByRole("button", { name: "How was this answered?" }).waitFor();
  assert.match(await page.locator(".rich").innerText(), /<script>window\.pwned=1<\/script>/);
  await clean("the answer");
  for (const link of await page.locator(".rich a").all()) assert.match(await link.getAttribute("href"), /^(https?:|mailto:)/);
  await page.locator("button.cite").first().click();
  await page.locator(".cite-card").waitFor();
  await clean("the card");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "How was this answered?" }).click();
  const answered = page.getByRole("dialog", { name: "How was this answered?" });
  await answered.waitFor();
  await clean("the drawer");
  await page.keyboard.press("Escape");
  await answered.waitFor({ state: "detached" });
  await go("documents");
  await page.locator(".document-row:not(.head)").first().click();
  await page.locator(".reading").waitFor();
  await clean("the document");
  await go("documents/search");
  await page.getByRole("searchbox", { name: "Search words" }).fill("budget alert threshold");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".passages > li").first().waitFor();
  await clean("the search");
  await go("tools");
  // The chat has started the servers: their tools are listed by themselves.
  const tool = page.locator("details.tool").first();
  await tool.locator("summary").click();
  await tool.getByRole("button", { name: "Call" }).click();
  const ask = page.getByRole("dialog", { name: "May this be done?" });
  await ask.waitFor();
  await clean("the approval");
  await ask.getByRole("button", { name: "Yes, this once" }).click();
  await tool.locator(".output").waitFor();
  await clean("the tool's result");
  await go("agents");
  const agent = page.locator(".found-agents .agent").filter({ hasText: "Painter" });
  await agent.waitFor();
  await clean("the catalogue");
  await agent.getByRole("button", { name: "Look at it" }).click();
  const drawer = page.locator("dialog.drawer");
  await drawer.locator(".agent-card").waitFor();
  await drawer.getByText("The card as JSON").click();
  await clean("the card of an agent");
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b]/.test(await drawer.innerText()), "letters that hide in a card");
  await page.keyboard.press("Escape");
  await agent.getByRole("button", { name: "Send a message" }).click();
  await clean("a message to an agent");
  await page.keyboard.press("Escape");
  const liar = page.locator(".agent").filter({ hasText: "liar" });
  await liar.getByRole("button", { name: "Ask for its card" }).click();
  await liar.locator(".agent-card").waitFor();
  await clean("the card of an agent of the configuration");
  assert.equal(await liar.locator("a[href]").count(), 0, "an address that runs is no link");
});
