// A model wants a tool called: a person reads exactly what will run, and says no; then yes.
import { assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go();
  const ask = page.getByRole("dialog", { name: "May this be done?" });
  const field = page.getByRole("textbox", { name: "Ask a question" });
  for (const [place, answer] of [[1, "No"], [2, "Yes, this once"]]) {
    await field.fill("Note when an alert is sent.");
    await field.press("Enter");
    await ask.waitFor();
    assert.match(await ask.innerText(), /sh__write/);
    assert.match(await ask.locator("pre").innerText(), /notes\.txt/);
    await ask.getByRole("button", { name: answer }).click();
    await until("an answer", async () => (await page.locator(".turn .facts").count()) === place);
  }
  await page.getByRole("button", { name: "How was this answered?" }).last().click();
  await page.getByText("Tool sh__write").waitFor();
});
