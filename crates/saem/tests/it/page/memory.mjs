// The memory beside the chat: read, corrected, compared with what it was, brought back, forgotten.
import { assert, more, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go(`chat/${more.session}`);
  await page.getByRole("button", { name: "Memory" }).click();
  const memory = page.getByRole("region", { name: "Memory" });
  await memory.getByText("$5,000").first().waitFor();
  await memory.getByRole("button", { name: "Edit" }).click();
  await memory.getByRole("textbox", { name: "What is remembered" }).fill("The team is called Saem.");
  await memory.getByRole("button", { name: "Add a fact" }).click();
  await memory.getByRole("textbox", { name: "Key" }).last().fill("team");
  await memory.getByRole("textbox", { name: "Value" }).last().fill("샘");
  await memory.getByRole("button", { name: "Save" }).click();
  await memory.getByText("The team is called Saem.").waitFor();
  await memory.getByRole("row", { name: "team 샘" }).waitFor();
  await memory.getByRole("button", { name: "Compare with now" }).first().click();
  assert.ok((await memory.locator(".diff ins").count()) > 0);
  await memory.getByRole("button", { name: "Go back to this version" }).first().click();
  await page.getByText("Back at version 1").waitFor();
  await memory.getByText("$5,000").first().waitFor();
  await memory.getByRole("button", { name: "Forget everything" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Forget everything" }).click();
  await memory.getByText("Nothing yet").first().waitFor();
});
