// Agents: our own card, one of the configuration, one registered by its address and one by its card; found, written to, kept.
import { accessible, assert, more, until, visit, walk } from "./browser.mjs";

const CARD = {
  name: "환율 안내원", description: "원화와 달러의 환율을 알려 줍니다.", version: "2.0.0",
  supportedInterfaces: [{ url: "https://rates.example.com/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: false }, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
  skills: [{ id: "rate", name: "환율 조회", description: "오늘의 환율을 조회합니다.", tags: ["금융"] }],
};

await walk(async ({ browser, page, go }) => {
  await go("agents");
  await page.getByText("No agent is registered yet.").waitFor();
  const own = page.locator("section").filter({ hasText: "This server as an agent" });
  await own.getByRole("heading", { name: "Saem" }).waitFor();
  assert.match(await own.innerText(), /\/a2a/);

  // An agent of the configuration is asked for its card.
  const neighbour = page.locator(".agent").filter({ hasText: "neighbour" });
  await neighbour.getByText("idle").waitFor();
  await neighbour.getByRole("button", { name: "Ask for its card" }).click();
  await neighbour.getByText("Paints a picture.", { exact: true }).waitFor();
  await neighbour.getByText("up", { exact: true }).waitFor();

  // Registered by its address, and by its card; with the keyboard alone.
  const register = page.getByRole("button", { name: "Register an agent" });
  await register.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Register an agent" });
  await dialog.getByRole("button", { name: "Register" }).click();
  await dialog.getByText("Give an address or a card.").waitFor();
  await page.getByLabel("Its address").fill(more.url);
  await page.keyboard.press("Enter");
  await page.getByText(/Registered/).waitFor();
  const advice = page.getByRole("dialog", { name: "What could be better about the card" });
  const settled = async () => {
    await until("a list", async () => (await advice.count()) > 0 || (await page.locator("dialog").count()) === 0);
    if (await advice.count()) await page.keyboard.press("Escape");
  };
  await settled();
  const found = (name) => page.locator(".found-agents .agent").filter({ hasText: name });
  await found("Painter").waitFor();
  await register.click();
  await page.getByLabel("Or its card (JSON)").fill("{");
  await dialog.getByRole("button", { name: "Register" }).click();
  await dialog.getByText("The card is no JSON.").waitFor();
  await page.getByLabel("Or its card (JSON)").fill(JSON.stringify(CARD));
  await accessible(page, "registering");
  await dialog.getByRole("button", { name: "Register" }).click();
  await until("it is in the list", async () => (await found("환율").count()) > 0 || (await advice.count()) > 0);
  await settled();
  await found("환율").waitFor();

  // Found in Korean, by words and by a filter.
  const words = page.getByRole("searchbox", { name: "Find" });
  await words.fill("오늘 달러 환율 알려 주는 에이전트");
  await words.press("Enter");
  await until("only the one that fits", async () => (await page.locator(".found-agents .agent").count()) === 1 && (await found("환율").count()) === 1);
  assert.match(await found("환율").innerText(), /fits \d+%/);
  await words.fill("");
  await words.press("Enter");
  await until("both again", async () => (await page.locator(".found-agents .agent").count()) === 2);
  await page.getByRole("combobox", { name: "Capabilities" }).selectOption("streaming");
  await until("only the one that streams", async () => (await page.locator(".found-agents .agent").count()) === 1 && (await found("Painter").count()) === 1);
  await page.getByRole("combobox", { name: "Capabilities" }).selectOption("");
  await page.getByRole("button", { name: /금융/ }).click();
  await until("only the one with the tag", async () => (await page.locator(".found-agents .agent").count()) === 1 && (await found("환율").count()) === 1);
  await page.getByRole("button", { name: /금융/ }).click();
  await found("Painter").waitFor();

  // A message, watched as it is answered; a question back, and its answer in the same task; and one that is stopped.
  await found("Painter").getByRole("button", { name: "Send a message" }).click();
  const talk = page.getByRole("dialog", { name: "Message to Painter" });
  const field = talk.getByLabel("Message");
  await field.fill("샘");
  await talk.getByLabel("Skill").selectOption("paint");
  await field.press("Enter");
  await talk.getByText("done").waitFor();
  assert.match(await talk.locator(".piece-text").first().innerText(), /^painted: 샘 .*"skill": "paint"/);
  await field.fill("ask me");
  await field.press("Enter");
  await talk.getByText("Which colour?").waitFor();
  await talk.getByText("asks you").waitFor();
  await field.fill("blue");
  await field.press("Enter");
  await talk.getByText(/painted: blue/).waitFor();
  await accessible(page, "talking to an agent");
  await field.fill("for ever");
  await field.press("Enter");
  await talk.getByText("mixing colours").last().waitFor();
  await talk.getByRole("button", { name: "Stop" }).click();
  await talk.getByText("Stopped: the agent was told to cancel.").waitFor();
  await field.fill("fail");
  await field.press("Enter");
  await talk.getByText("no more paint").waitFor();
  await page.keyboard.press("Escape");
  await talk.waitFor({ state: "detached" });

  // The one of the configuration too.
  await neighbour.getByRole("button", { name: "Send a message" }).click();
  await page.getByLabel("Message", { exact: true }).fill("강");
  await page.keyboard.press("Enter");
  await page.getByText(/painted: 강/).waitFor();
  await page.keyboard.press("Escape");

  // Kept: looked at, deprecated, removed.
  await found("환율").getByRole("button", { name: "Look at it" }).click();
  const drawer = page.getByRole("dialog", { name: "환율 안내원" });
  await drawer.getByText("오늘의 환율을 조회합니다.", { exact: true }).waitFor();
  await accessible(page, "an agent");
  await drawer.getByRole("button", { name: "Deprecate" }).click();
  await page.getByText("Now deprecated").waitFor();
  await found("환율").getByText("deprecated").waitFor();
  await found("환율").getByRole("button", { name: "Look at it" }).click();
  await drawer.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog", { name: "Remove" }).getByRole("button", { name: "Remove" }).click();
  await page.getByText("The agent is gone").waitFor();
  await until("the list without it", async () => (await found("환율").count()) === 0);

  // In the dark and in Korean.
  const other = await visit(browser, { locale: "ko-KR", theme: "dark" });
  await other.go("agents");
  await other.page.locator(".found-agents .agent").first().waitFor();
  await other.page.getByText("설정에 있는 에이전트").waitFor();
  await accessible(other.page, "agents ko dark");
  other.allWell();
});
