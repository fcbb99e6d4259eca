// Research that a person has written up before its time: the report has what was found, and says so.
import { accessible, assert, more, until, visit, walk } from "./browser.mjs";

await walk(async ({ browser, page, go }) => {
  await go("research");
  await page.getByRole("textbox", { name: "Question" }).fill(more.question);
  await page.getByRole("combobox").selectOption("given");
  await page.getByRole("button", { name: "Begin" }).click();

  // Its model never has enough, so that only a person ends it before the last round.
  const timeline = page.getByRole("log", { name: "What the agents say" });
  await timeline.getByText(/[1-9]\d* found/).first().waitFor();
  await page.getByRole("button", { name: "Finish now" }).click();

  const report = page.locator(".report");
  await report.waitFor();
  await report.getByText("80 percent").first().waitFor();
  await page.locator(".run-head").getByText("finished early").waitFor();
  await report.locator(".badge").getByText("finished early").waitFor();
  await accessible(page, "a report that was finished early");
  await until("what can be done with a report", async () => (await page.getByRole("button", { name: "Export as PDF" }).count()) === 1);
  assert.equal(await page.getByRole("button", { name: "Finish now" }).count(), 0);

  // Whoever comes later reads the same, in their own language where it is the page that speaks.
  const later = await visit(browser, { locale: "ko-KR", theme: "dark" });
  await later.page.goto(page.url());
  await later.page.locator(".report").getByText("80 percent").first().waitFor();
  await later.page.locator(".run-head").getByText("일찍 마무리함").waitFor();
  later.allWell();
});
