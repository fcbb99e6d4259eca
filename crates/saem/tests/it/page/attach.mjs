// A resource of a server goes with a question: chosen after `@`, shown as attached, and read by the model.
import { assert, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go();
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.pressSequentially("What does it say? @a");
  await page.getByRole("option", { name: /doc:\/\/a/ }).waitFor();
  await field.press("Enter");
  await page.getByRole("list", { name: "Attached" }).getByText("a", { exact: true }).waitFor();
  assert.equal(await field.inputValue(), "What does it say? ");
  await field.press("Enter");
  await page.getByRole("button", { name: "How was this answered?" }).click();
  await page.getByRole("dialog").locator(".legend").getByText("Attached").waitFor();
});
