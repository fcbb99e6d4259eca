// A key that may only read: asks and searches, and is told where it may not go.
import { more, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go("settings");
  await page.getByLabel("API key").fill(more.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Your key may not see this.").first().waitFor();
  await go("chat");
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.fill("When is a budget alert sent?");
  await field.press("Enter");
  await page.getByRole("button", { name: "How was this answered?" }).waitFor();
}, { expected: ["401", "403"] });
