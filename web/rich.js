// Puts the server's HTML into the page: the one place where text becomes elements, and only a short list of them.

const TAGS = new Set(["A", "BLOCKQUOTE", "BR", "BUTTON", "CODE", "DEL", "EM", "H3", "H4", "H5", "H6", "HR", "LI", "OL", "P", "PRE", "STRONG", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL"]);
const ATTRIBUTES = { A: ["href", "target", "rel"], BUTTON: ["type", "class", "data-cite"], CODE: ["class"], OL: ["start"], TD: ["class"], TH: ["class"] };
const ADDRESSES = /^(https?:\/\/|mailto:)/i;

const policy = window.trustedTypes?.createPolicy("saem", { createHTML: (text) => text });

/** Makes `element` show these blocks: those before `keep` stay as they are, so that nothing flickers. */
export function show(element, { keep, blocks }) {
  while (element.children.length > keep) element.lastElementChild.remove();
  for (const block of blocks) element.append(...nodes(block));
}

function nodes(html) {
  const parsed = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
  const kept = [...parsed.body.children].filter((node) => TAGS.has(node.tagName));
  return kept.map((node) => {
    check(node);
    return wrapped(document.importNode(node, true));
  });
}

/** The server sends nothing else; should it ever, it stops here. */
function check(element) {
  for (const child of [...element.children]) {
    if (TAGS.has(child.tagName)) check(child);
    else child.replaceWith(child.textContent);
  }
  const allowed = ATTRIBUTES[element.tagName] ?? [];
  for (const { name, value } of [...element.attributes]) {
    if (!allowed.includes(name) || (name === "href" && !ADDRESSES.test(value))) element.removeAttribute(name);
  }
}

/** What is wide scrolls by itself, and with the keyboard too. */
function wrapped(node) {
  if (node.tagName === "PRE") node.tabIndex = 0;
  if (node.tagName !== "TABLE") return node;
  const frame = document.createElement("div");
  frame.className = "wide";
  frame.tabIndex = 0;
  frame.append(node);
  return frame;
}
