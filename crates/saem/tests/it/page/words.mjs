// Whatever the page says, it says in both languages.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const web = new URL("../../../../../web/", import.meta.url);
const words = async (name) => (await import(new URL(`words/${name}.js`, web))).default;
const [en, ko] = await Promise.all(["en", "ko"].map(async (name) => ({ ...(await words(name)), ...(await words(`${name}_agents`)) })));

assert.deepEqual(Object.keys(ko), Object.keys(en), "both languages have the same words");
const parts = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, part]) => part).sort();
for (const name of Object.keys(en)) assert.deepEqual(parts(ko[name]), parts(en[name]), `${name} has the same parts`);

const sources = ["", "rooms/", "parts/"].flatMap((folder) => readdirSync(new URL(folder || ".", web)).filter((name) => name.endsWith(".js")).map((name) => readFileSync(new URL(folder + name, web), "utf8")));
const said = new Set(sources.flatMap((source) => [...source.matchAll(/\bt\("([\w.]+)"/g)].map(([, name]) => name)));
assert.ok(said.size > 150, `${said.size} words were found`);
assert.deepEqual([...said].filter((name) => !(name in en)), [], "every word that is said is known");
