// A model that takes its time: the answer is stopped. Without a network the page says so, and goes on when there is one.
import { until, walk } from "./browser.mjs";

await walk(async ({ page, go, context }) => {
  await go();
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.fill("When is a budget alert sent?");
  await field.press("Enter");
  await page.locator(".doing").getByText("Judging").waitFor();

  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped: the answer is not complete.").waitFor();
  await page.getByRole("button", { name: "Send" }).waitFor();

  await context.setOffline(true);
  await field.fill("And when is it not sent?");
  await field.press("Enter");
  await page.locator(".turn").getByText("The server cannot be reached.").waitFor();
  await context.setOffline(false);
  await page.getByRole("button", { name: "Ask again" }).last().click();
  await until("a question under way", async () => (await page.locator(".doing:visible").count()) === 1);
  await page.locator(".doing:visible").getByText("Judging").waitFor();
  await field.press("Escape");
  await until("all stopped", async () => (await page.getByText("Stopped: the answer is not complete.").count()) === 2);
}, { expected: ["ERR_INTERNET_DISCONNECTED"] });
