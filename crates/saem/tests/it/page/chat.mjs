// A first visit: documents from the demo, a first answer, its sources, a follow-up, and all that is done with a conversation.
import { assert, until, walk } from "./browser.mjs";

await walk(async ({ page, go }) => {
  // Of a conversation only what is in sight is drawn: the last of so many turns has its answer.
  const answered = async (count) => (await page.evaluate(() => document.querySelector("saem-chat")?.long?.items.length)) === count
    && (await page.locator(".turn").last().locator(".actions").count()) === 1;
  await go();
  await page.getByRole("button", { name: "Try with the demo documents" }).click();
  await page.getByText(/documents are ready/).waitFor();
  await page.getByRole("button", { name: "How is idle cost shared in Kubernetes?" }).click();
  await page.getByRole("button", { name: "How was this answered?" }).waitFor();

  // The card of a citation, by the pointer and by the keyboard.
  const cite = page.locator("button.cite").first();
  await cite.hover();
  const card = page.locator(".cite-card");
  await card.waitFor();
  assert.match(await card.innerText(), /idle/i);
  assert.ok((await card.locator("mark").count()) > 0, "the words of the question are marked");
  await page.keyboard.press("Escape");
  await card.waitFor({ state: "detached" });
  await cite.focus();
  await card.waitFor();
  await page.keyboard.press("Enter");
  assert.ok(await card.evaluate((element) => element.contains(document.activeElement)), "a press moves into the card");
  await page.keyboard.press("Escape");
  await card.waitFor({ state: "detached" });

  // How it was answered. A drawer that comes when the person has gone elsewhere does not open, and one that is open goes with its room.
  const how = page.getByRole("button", { name: "How was this answered?" });
  const drawer = page.getByRole("dialog", { name: "How was this answered?" });
  const talked = page.url();
  const elsewhere = async () => { await go("documents"); await page.locator(".document-row:not(.head)").first().waitFor(); };
  const asked = new Promise((resolve) => page.route("**/parts/how.js", resolve));
  await how.click();
  const late = await asked;
  await elsewhere();
  await late.fallback();
  // Whoever asks for a module last is told last that it is there.
  await page.evaluate(async (module) => { await import(module); }, late.request().url());
  await page.unroute("**/parts/how.js");
  assert.equal(await drawer.count(), 0, "a drawer that came late");
  await page.goto(talked);
  await how.click();
  await drawer.waitFor();
  await elsewhere();
  await drawer.waitFor({ state: "detached" });
  await page.goto(talked);
  await how.click();
  await drawer.getByText("Passages", { exact: true }).waitFor();
  assert.match(await drawer.innerText(), /Searched for/);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });

  // A follow-up, sent with the keyboard; the address names the conversation.
  assert.match(page.url(), /#\/chat\/.+/);
  const field = page.getByRole("textbox", { name: "Ask a question" });
  await field.fill("And how are unused budgets handled?");
  await field.press("Enter");
  await until("a second answer", () => answered(2));

  // Copied, asked again, edited and asked.
  await page.getByRole("button", { name: "Copy the answer" }).first().click();
  assert.ok((await page.evaluate(() => navigator.clipboard.readText())).length > 20);
  await page.getByRole("button", { name: "Ask again" }).first().click();
  await until("a third answer", () => answered(3));
  await page.locator(".turn").last().hover();
  await page.getByRole("button", { name: "Edit the question" }).last().click();
  await page.getByRole("textbox", { name: "Edit the question" }).fill("How is idle cost shared by cost?");
  await page.getByRole("button", { name: "Ask the edited question" }).click();
  await until("a fourth answer", () => answered(4));

  // Nothing is lost by a reload.
  await page.reload();
  await until("all turns again", () => answered(4));

  // What the documents do not say is said to be missing.
  const talk = page.url();
  const options = (title) => page.getByLabel(`Options of “${title}”`, { exact: true });
  await page.getByRole("link", { name: "New conversation" }).click();
  await page.getByText("Ask, and read where it comes from").waitFor();
  await field.fill("회사 주차장은 어디인가요?");
  await field.press("Enter");
  await page.getByText("찾지 못했습니다").waitFor();
  // Whatever comes meanwhile, a menu stays open.
  await options("회사 주차장은 어디인가요?").click();
  await page.evaluate(() => document.querySelector("saem-chat").list.load());
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Ask, and read where it comes from").waitFor();
  await page.goto(talk);
  await until("the first conversation", () => answered(4));

  // Renamed, found, exported, deleted.
  await options("How is idle cost shared in Kubernetes?").click();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("Kubernetes 비용");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Kubernetes 비용" }).waitFor();
  const find = page.getByRole("searchbox", { name: "Find a conversation" });
  await find.fill("nothing like it");
  await page.getByText("No title has these words").waitFor();
  await find.fill("비용");
  await options("Kubernetes 비용").click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as Markdown" }).click()]);
  assert.equal(file.suggestedFilename(), "Kubernetes-비용.md");
  await options("Kubernetes 비용").click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Ask, and read where it comes from").waitFor();

  // The other language, and the dark.
  await page.getByRole("button", { name: "한국어로 보기" }).click();
  await page.getByText("묻고, 근거를 확인하세요").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "ko");
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: "어둡게" }).click();
  assert.notEqual(await paper(), light);
  await page.reload();
  await page.getByText("묻고, 근거를 확인하세요").waitFor();
  assert.notEqual(await paper(), light, "the choice is kept");
});
