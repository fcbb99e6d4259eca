// A model wants a tool called: a person reads exactly what will run, and says no; then yes.
import { assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  await go();
  const ask = page.getByRole("dialog", { name: "May this be done?" });
  const field = page.getByRole("textbox", { name: "Ask a question" });
  for (const [place, answer] of [[1, "No"], [2, "Yes, this once"]]) {
    await field.fill("Note when an alert is sent.");
    await field.press("Enter");
    await ask.waitFor();
    assert.match(await ask.innerText(), /sh__write/);
    assert.match(await ask.locator("pre").innerText(), /notes\.txt/);
    await ask.getByRole("button", { name: answer }).click();
    await until("an answer", async () => (await page.locator(".turn .facts").count()) === place);
  }
  await page.getByRole("button", { name: "How was this answered?" }).last().click();
  await page.getByText("Tool sh__write").waitFor();

  // The same question of the server in Korean: its reasons too, and what it finds about itself.
  await page.reload();
  await page.getByRole("button", { name: "한국어로 보기" }).click();
  const again = page.getByRole("textbox", { name: "질문하기" });
  await again.fill("알림이 언제 오는지 적어 줘.");
  await again.press("Enter");
  const reasons = page.getByRole("dialog").locator(".reasons li");
  await reasons.first().waitFor();
  for (const reason of await reasons.allInnerTexts()) assert.match(reason, /^[^a-z]*[가-힣][^a-z]*$/, "a reason in Korean");
  await page.getByRole("dialog").getByRole("button", { name: "아니요" }).click();
  await go("settings");
  await page.locator(".findings li").first().waitFor();
  const found = await page.locator(".findings li").allInnerTexts();
  assert.ok(found.some((line) => line.startsWith("언어 모델")), found.join("\n"));
  assert.deepEqual(found.filter((line) => !/[가-힣]{2}/.test(line)), [], "each finding is in Korean");
});
