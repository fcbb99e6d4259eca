// Documents: put in by choice and by drop, one that fails with a reason, read by section, searched, deleted.
import { assert, until, walk } from "./browser.mjs";

const text = (words) => Buffer.from(words);

await walk(async ({ page, go }) => {
  await go("documents");
  await page.getByText("No documents yet").waitFor();
  await page.locator("#choose-files").setInputFiles([
    { name: "guide.md", mimeType: "text/markdown", buffer: text("# Guide\n\nIntroduction.\n\n## Webhooks\n\nA webhook signature is verified with HMAC.\n\n## 예산\n\n남은 예산은 이월되지 않습니다.") },
    { name: "broken.pdf", mimeType: "application/pdf", buffer: text("%PDF-1.7 this is none") },
  ]);
  const line = (name) => page.locator(".uploads li").filter({ hasText: name });
  await line("guide.md").getByText("Ready").waitFor();
  await line("broken.pdf").getByText("Failed").waitFor();
  assert.ok((await line("broken.pdf").locator(".trouble").innerText()).length > 10, "it says why");

  // By drop, and the same bytes again.
  const dropped = await page.evaluateHandle(() => {
    const carried = new DataTransfer();
    carried.items.add(new File(["Dropped words about refunds."], "dropped.txt", { type: "text/plain" }));
    return carried;
  });
  await page.dispatchEvent(".drop-zone", "drop", { dataTransfer: dropped });
  await line("dropped.txt").getByText("Ready").waitFor();
  await page.dispatchEvent(".drop-zone", "drop", { dataTransfer: dropped });
  await page.getByText("Known already").waitFor();

  // As Saem sees it. Of two sections the one that was pressed last is shown, whichever comes last.
  const asked = new Promise((resolve) => page.route("**/api/sections/*", resolve, { times: 1 }));
  await page.getByRole("link", { name: /Guide/ }).click();
  const late = await asked;
  await page.getByRole("button", { name: "Webhooks" }).click();
  await page.getByText("verified with HMAC").waitFor();
  await Promise.all([late.fallback(), page.waitForResponse(late.request().url())]);
  await until("the first section has come", () => page.evaluate((url) => performance.getEntriesByName(url).length > 0, late.request().url()));
  await page.getByText("Its chunks, as they are searched").click();
  await page.locator(".chunks pre").getByText("HMAC").waitFor();

  // What is found, and why.
  await page.getByRole("link", { name: "Try a search" }).click();
  await page.getByRole("searchbox", { name: "Search words" }).fill("웹훅 서명 webhook signature");
  await page.getByRole("button", { name: "Search" }).click();
  const first = page.locator(".passages > li").first();
  await first.waitFor();
  assert.match(await first.innerText(), /Fused[\s\S]*#1[\s\S]*Keyword[\s\S]*#1[\s\S]*Vector[\s\S]*#\d/);

  // Gone, everywhere.
  await page.getByRole("link", { name: "Documents", exact: true }).last().click();
  // What was found links to the document too, and stands there until the list comes.
  await page.locator(".passages").waitFor({ state: "detached" });
  await page.getByRole("link", { name: /Guide/ }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("The document is gone").waitFor();
  await until("the list without it", async () => (await page.getByRole("link", { name: /Guide/ }).count()) === 0);
});
