// A server of tools is as somebody has left it, also after Saem was started anew: off, or on again.
import { assert, more, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go("tools");
  const server = page.locator(".server").filter({ has: page.getByRole("heading", { name: "sh", exact: true }) });
  const on = server.getByRole("switch", { name: "On" });
  await on.waitFor();
  assert.equal(await on.isChecked(), more.is_on);
  assert.equal(await page.getByRole("button", { name: "Start the servers" }).count(), more.is_on ? 1 : 0);
  await on.press("Space");
  await page.getByText(more.is_on ? "sh is off" : "sh is on").waitFor();
});
