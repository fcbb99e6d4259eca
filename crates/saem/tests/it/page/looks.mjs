// Every room in both themes and languages: nothing serious is in anybody's way, and a picture of each.
import "./words.mjs";
import { accessible, assert, picture, until, visit, walk } from "./browser.mjs";

const LOOKS = [["en-GB", "light", "en"], ["en-GB", "dark", "en"], ["ko-KR", "light", "ko"], ["ko-KR", "dark", "ko"]];
const CARDS = [
  { name: "환율 안내원", description: "원화와 달러의 환율을 알려 줍니다. 오늘의 값과 지난 한 달의 흐름을 함께 보여 줍니다.", version: "2.0.0", provider: { organization: "환율 연구소", url: "https://rates.example.com" },
    supportedInterfaces: [{ url: "https://rates.example.com/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }], capabilities: { streaming: false }, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{ id: "rate", name: "환율 조회", description: "오늘의 환율을 조회합니다.", tags: ["금융", "환율"] }] },
  { name: "Painter", description: "Paints pictures of springs, rivers and lakes, in water colours and oil.", version: "1.4.0", provider: { organization: "Atelier", url: "https://painter.example.com" },
    supportedInterfaces: [{ url: "https://painter.example.com/a2a", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }], capabilities: { streaming: true, pushNotifications: true }, defaultInputModes: ["text/plain"], defaultOutputModes: ["image/png"],
    skills: [{ id: "paint", name: "Paint", description: "Paints a picture of what you describe.", tags: ["art", "image"], examples: ["A spring in the mountains"] }, { id: "frame", name: "Frame", description: "Puts a picture into a frame.", tags: ["art"] }] },
];
const PHONE = { width: 360, height: 740 };

await walk(async ({ browser, page, go }) => {
  // Something to look at.
  await go();
  await accessible(page, "empty");
  await picture(page, "welcome-en-light");
  await page.getByRole("button", { name: "Try with the demo documents" }).click();
  await page.getByText(/documents are ready/).waitFor();
  const field = page.getByRole("textbox", { name: "Ask a question" });
  for (const question of ["남은 예산을 다음 달로 이월할 수 있나요?", "Can an unused budget be carried over to next month?"]) {
    await field.fill(question);
    await field.press("Enter");
    await page.locator(".turn .facts").last().waitFor();
    await until("the answer", async () => (await page.locator(".send.stop").count()) === 0);
  }
  const session = page.url().split("/").at(-1);
  const post = (path, body) => page.evaluate(([path_, body_]) => fetch(path_, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body_) }).then((answer) => answer.json()), [path, body]);
  for (const card of CARDS) await post("/registry/agents", { card, disclosure: { agent: "public" } });
  const run = await post("/api/research", { question: "Can an unused budget be carried over, and up to which limit?", approval: "given", budget: { seconds: 300, tokens: 50000, dollars: 0.2 } });
  await until("the run has ended", async () => (await page.evaluate((path) => fetch(path).then((answer) => answer.json()), `/api/research/${run.id}`)).state === "ended");
  const waiting = await post("/api/research", { question: "남은 예산은 어디까지 이월되나요?", approval: "asked" });

  for (const [locale, theme, language] of LOOKS) {
    const look = `${language}-${theme}`;
    const visitor = await visit(browser, { locale, theme, expected: ["403"] });
    await room(visitor, look, `chat/${session}`, ".turn .facts", "chat");
    // Scrolled to first: a card closes when what it belongs to moves.
    await visitor.page.locator("button.cite").first().scrollIntoViewIfNeeded();
    await visitor.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await visitor.page.locator("button.cite").first().hover();
    await visitor.page.locator(".cite-card").waitFor();
    await accessible(visitor.page, `card ${look}`);
    await picture(visitor.page, `card-${look}`);
    await visitor.page.locator(".actions button").nth(2).click();
    await visitor.page.locator("dialog.drawer table").first().waitFor();
    await accessible(visitor.page, `how ${look}`);
    await picture(visitor.page, `how-${look}`);
    await visitor.page.keyboard.press("Escape");
    await visitor.page.locator(".memory-toggle").click();
    await visitor.page.locator(".memory h3").first().waitFor();
    await accessible(visitor.page, `memory ${look}`);
    await picture(visitor.page, `memory-${look}`);
    await room(visitor, look, "documents", ".document-row b", "documents");
    await room(visitor, look, "tools", ".tool, .server", "tools");
    await approval(visitor, look);
    await room(visitor, look, "agents", ".found-agents .agent", "agents");
    await visitor.page.locator(".found-agents .agent footer button").first().click();
    await visitor.page.locator("dialog.drawer .skills").waitFor();
    await accessible(visitor.page, `agent ${look}`);
    await picture(visitor.page, `agent-${look}`);
    await visitor.page.keyboard.press("Escape");
    await room(visitor, look, "research", ".runs li", "research");
    await room(visitor, look, `research/${waiting.id}`, "form.plan", "plan");
    await room(visitor, look, `research/${run.id}`, ".report", "report");
    await room(visitor, look, "activity", ".plot", "activity");
    await room(visitor, look, "settings", ".findings li", "settings");
    await visitor.go("documents/search");
    await visitor.page.locator(".find input").fill(language === "ko" ? "예산 이월" : "carry over a budget");
    await visitor.page.locator(".find button").click();
    await visitor.page.locator(".passages > li").first().waitFor();
    await accessible(visitor.page, `search ${look}`);
    await picture(visitor.page, `search-${look}`);
    visitor.allWell();
    await visitor.context.close();
  }

  // A phone: nothing is wider than it.
  const phone = await visit(browser, { ...PHONE, locale: "ko-KR", theme: "light" });
  for (const [hash, there, name] of [[`chat/${session}`, ".turn .facts", "chat"], ["documents", ".document-row b", "documents"], ["tools", ".server", "tools"], ["agents", ".found-agents .agent", "agents"], ["research", ".runs li", "research"], [`research/${run.id}`, ".report", "report"], ["activity", ".plot", "activity"], ["settings", ".findings li", "settings"]]) {
    await room(phone, "phone", hash, there, name);
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= PHONE.width, `${name} is ${wide} wide`);
  }
  phone.allWell();
});

/** The dialog that asks for a yes, answered with no. */
async function approval({ page }, look) {
  const tool = page.locator("details.tool").filter({ hasText: "sh__write" });
  await tool.locator("summary").click();
  await tool.locator("textarea").fill('{"path": "notes/budget.md", "text": "The limit is 50%."}');
  await tool.locator(".trial button").click();
  const dialog = page.locator("dialog.box");
  await dialog.waitFor();
  await accessible(page, `approval ${look}`);
  await picture(page, `approval-${look}`);
  await dialog.locator("footer button").first().click();
  await tool.locator(".trouble").waitFor();
}

async function room({ page, go }, look, hash, there, name) {
  await go(hash);
  await page.locator(there).first().waitFor();
  await accessible(page, `${name} ${look}`);
  await picture(page, `${name}-${look}`);
}
