// A tool that is not what somebody has seen: off, with the reason, until its new definition is accepted.
import { assert, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go("tools");
  await page.getByRole("button", { name: "Start the servers and list their tools" }).click();
  const tool = page.locator("details.tool").filter({ hasText: "sh__look" });
  await tool.getByText("changed", { exact: true }).waitFor();
  await tool.locator("summary").click();
  await tool.getByText("Looks closer.").waitFor();
  assert.equal(await tool.getByRole("button", { name: "Call" }).count(), 0);
  await tool.getByRole("button", { name: "Accept the new definition" }).click();
  await page.getByText("Accepted: sh__look").waitFor();
  await tool.locator("summary").click();
  await tool.getByRole("button", { name: "Call" }).waitFor();
});
