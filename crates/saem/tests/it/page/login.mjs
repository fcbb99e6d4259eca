// A server of tools that wants to know who comes: refused once, then logged in at on its own page, and forgotten.
import { accessible, assert, more, until, walk } from "./browser.mjs";

await walk(async ({ context, page, go, watch }) => {
  await go("tools");
  await page.getByRole("button", { name: "Start the servers and list their tools" }).click();
  const server = page.locator(".server").filter({ has: page.getByRole("heading", { name: "guarded" }) });
  await server.getByText("it wants to know who you are").waitFor();
  assert.equal(await page.locator("details.tool").count(), 0);
  await accessible(page, "a server that wants a login");

  // The server's own page opens in another tab, and only after a person has seen where it is.
  const visitPage = async (answer) => {
    await server.getByRole("button", { name: "Log in" }).click();
    const dialog = page.getByRole("dialog", { name: "Log in" });
    await dialog.getByText(new URL(more.guarded).host).waitFor();
    await accessible(page, "the way to a login");
    const [tab] = await Promise.all([context.waitForEvent("page"), dialog.getByRole("link", { name: "Open the page" }).click()]);
    await tab.getByRole("heading", { name: "May Saem see your garden?" }).waitFor();
    assert.equal(await tab.evaluate(() => window.opener), null);
    watch(tab);
    await tab.getByRole("link", { name: answer }).click();
    await tab.getByRole("heading", { name: "Tools", exact: true }).waitFor();
    assert.equal(new URL(tab.url()).search, "", "what came back is not in the address");
    return tab;
  };

  const refused = await visitPage("Refuse");
  await refused.getByText("access_denied").waitFor();
  await refused.close();
  assert.equal(await page.locator("details.tool").count(), 0);

  // Let in: both tabs show what the server has, without another press.
  const tab = await visitPage("Let it in");
  await tab.getByText("Logged in at guarded").waitFor();
  for (const one of [tab, page]) {
    const card = one.locator(".server").filter({ has: one.getByRole("heading", { name: "guarded" }) });
    await card.getByText("up", { exact: true }).waitFor();
    await one.locator("details.tool").filter({ hasText: "guarded__look" }).waitFor();
  }
  await accessible(tab, "a server after a login");
  await tab.close();
  const tool = page.locator("details.tool").filter({ hasText: "guarded__look" });
  await tool.locator("summary").click();
  await tool.getByRole("button", { name: "Call" }).click();
  await page.getByRole("dialog", { name: "May this be done?" }).getByRole("button", { name: "Yes, this once" }).click();
  await tool.locator(".output").getByText("the secret garden").waitFor();

  // Nothing of it is kept in the browser, and a reload changes nothing.
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie);
  assert.ok(!kept.includes(more.secret), kept);
  await page.reload();
  await tool.waitFor();

  await server.getByRole("button", { name: "Forget the login" }).click();
  await page.getByText("The login at guarded is forgotten").waitFor();
  await until("no tools", async () => (await page.locator("details.tool").count()) === 0);
}, { also: [more.guarded], expected: ["400"] });
