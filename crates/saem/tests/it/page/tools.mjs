// Tools: servers and their state, a call after a yes, one after a no, a yes that is remembered and taken back.
import { accessible, assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go("tools");
  await page.getByRole("button", { name: "Start the servers and list their tools" }).click();
  const tool = page.locator("details.tool").filter({ hasText: "sh__write" });
  await tool.locator("summary").click();
  await tool.getByRole("textbox", { name: "Arguments (JSON)" }).fill("[1]");
  await tool.getByRole("button", { name: "Call" }).click();
  await tool.getByText("no JSON object").waitFor();
  await tool.getByRole("textbox", { name: "Arguments (JSON)" }).fill('{"path": "x.txt"}');

  const ask = page.getByRole("dialog", { name: "May this be done?" });
  await tool.getByRole("button", { name: "Call" }).click();
  await ask.waitFor();
  assert.match(await ask.locator("pre").innerText(), /"path": "x.txt"/);
  await ask.getByRole("button", { name: "No" }).click();
  await tool.locator(".trouble").waitFor();

  await tool.getByRole("button", { name: "Call" }).click();
  await ask.waitFor();
  await ask.getByRole("button", { name: "Yes, this once" }).click();
  await tool.locator(".output").getByText("written").waitFor();

  const server = page.locator(".server").filter({ has: page.getByRole("heading", { name: "sh", exact: true }) });
  await server.locator("summary", { hasText: "Resources and prompts" }).click();
  await server.getByText("/greet").waitFor();

  // Switched off: it is stopped and its tools are gone, over a reload too; and on again. What the configuration has off stays off.
  await page.locator(".server").filter({ hasText: "Off in the configuration" }).waitFor();
  const on = server.getByRole("switch", { name: "On" });
  await on.press("Space");
  await page.getByText("sh is off").waitFor();
  await until("no tools", async () => (await page.locator("details.tool").count()) === 0);
  await page.reload();
  await server.getByText("off", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Start the servers" }).count(), 0);
  await accessible(page, "a server that is off");
  await on.press("Space");
  await page.getByText("sh is on").waitFor();
  await page.getByRole("button", { name: "Start the servers and list their tools" }).click();
  await tool.waitFor();
}, { expected: ["403"] });
