// Activity and cost: what was spent, what a month would cost, how turns ended, and the log of calls.
import { assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go("activity");
  await page.getByRole("img", { name: "Dollars by day" }).waitFor();
  assert.ok((await page.locator(".plot .column").count()) >= 30);
  const month = page.locator(".projection output b");
  const before = await month.innerText();
  await page.getByRole("spinbutton", { name: "Conversations a day" }).fill("10000");
  await page.getByRole("spinbutton", { name: "Conversations a day" }).press("Tab");
  await until("another projection", async () => (await month.innerText()) !== before);
  await page.getByText("Fallback rate").waitFor();
  await page.getByRole("cell", { name: "sh__write" }).waitFor();
  await page.getByRole("combobox", { name: "Outcome" }).selectOption("denied");
  await page.getByText("No tool has been called").waitFor();
  await page.getByRole("combobox", { name: "Outcome" }).selectOption("done");
  await page.getByRole("cell", { name: "sh__write" }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as JSON lines" }).click()]);
  assert.equal(file.suggestedFilename(), "activity.jsonl");
});
