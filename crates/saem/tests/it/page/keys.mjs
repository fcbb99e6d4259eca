// The first key: shown once; from then on the page asks for it, goes on with a cookie, and signs out.
import { address, assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go, context }) => {
  await go("settings");
  await page.getByText("No keys").waitFor();
  await page.getByText("language model").waitFor();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("textbox", { name: "What is it for?" }).fill("the page");
  await page.getByRole("button", { name: "Make it" }).click();
  const secret = await page.locator(".secret").innerText();
  assert.match(secret, /^saem_/);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

  await page.getByLabel("API key").fill("saem_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("API key").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  const cookies = await context.cookies();
  assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"), JSON.stringify(cookies));
  assert.equal(await page.evaluate(() => document.cookie), "", "no script reads it");

  // The cookie alone changes nothing: whoever asks has to know the page's token.
  const status = await page.evaluate(() => fetch("/api/keys", { method: "POST", headers: { "content-type": "application/json" }, body: '{"scopes": ["admin"]}' }).then((answer) => answer.status));
  assert.equal(status, 403);
  const foreign = await fetch(`${address}/api/me`, { headers: { cookie: "", origin: "http://attacker.invalid" } });
  assert.equal(foreign.status, 403);

  // It works, over a reload too.
  await page.reload();
  await go("chat");
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.fill("When is a budget alert sent?");
  await field.press("Enter");
  await page.getByRole("button", { name: "How was this answered?" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await page.reload();
  await page.getByLabel("API key").waitFor();
  await until("nobody", async () => (await page.evaluate(() => fetch("/api/sessions").then((answer) => answer.status))) === 401);
}, { expected: ["401", "403"] });
