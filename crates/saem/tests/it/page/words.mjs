// Whatever the page says, it says in both languages.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const web = new URL("../../../../../web/", import.meta.url);
const words = async (name) => (await import(new URL(`words/${name}.js`, web))).default;
const [en, ko] = await Promise.all(["en", "ko"].map(async (name) => ({ ...(await words(name)), ...(await words(`${name}_agents`)) })));

assert.deepEqual(Object.keys(ko), Object.keys(en), "both languages have the same words");
const parts = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, part]) => part).sort();
for (const name of Object.keys(en)) assert.deepEqual(parts(ko[name]), parts(en[name]), `${name} has the same parts`);

// What the server says is known by its English words: a sentence that is worded anew there must be so here.
const crates = new URL("../../../../", import.meta.url);
const rust = readdirSync(crates, { recursive: true }).filter((name) => /\/src\/.*\.rs$/.test(name) && !name.includes("tests"))
  .map((name) => readFileSync(new URL(name, crates), "utf8").replace(/\\\n\s*/g, "").replaceAll('\\"', '"')).join("\n");
const heard = await words("ko_server");
assert.ok(heard.length > 100 && rust.length > 1e6, "the sentences and the server are there");
for (const [english, korean] of heard) {
  assert.deepEqual(parts(korean), parts(english), `${english} has the same parts`);
  assert.match(korean, /[가-힣]|Redis/, `${english} is said in Korean`);
  for (const piece of english.split(/\{\w+\}/)) assert.ok(rust.includes(piece), `the server says ${JSON.stringify(piece)} of ${JSON.stringify(english)}`);
}
assert.equal(new Set(heard.map(([english]) => english)).size, heard.length, "no sentence is there twice");

const sources = ["", "rooms/", "parts/"].flatMap((folder) => readdirSync(new URL(folder || ".", web)).filter((name) => name.endsWith(".js")).map((name) => readFileSync(new URL(folder + name, web), "utf8")));
const said = new Set(sources.flatMap((source) => [...source.matchAll(/\bt\("([\w.]+)"/g)].map(([, name]) => name)));
assert.ok(said.size > 150, `${said.size} words were found`);
assert.deepEqual([...said].filter((name) => !(name in en)), [], "every word that is said is known");
