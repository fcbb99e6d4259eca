// The page's state: a few named values, and who wants to hear when one of them changes.

const values = {
  me: null,
  session: null,
  sessions: [],
  draft: "",
  approvals: [],
  memoryOpen: false,
};
const listeners = new Map();

export function get(name) {
  return values[name];
}

export function set(name, value) {
  values[name] = value;
  for (const listener of [...(listeners.get(name) ?? [])]) listener(value);
}

/** Calls back at each change; what it gives ends that. */
export function on(name, listener) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(listener);
  return () => listeners.get(name).delete(listener);
}

/** Whether the visitor may do what needs this scope. */
export function may(scope) {
  return (values.me?.scopes ?? []).some((held) => held === scope || held === "admin");
}

/** What the browser keeps for this person; nothing depends on it. */
export const kept = {
  get(name) {
    try { return localStorage.getItem(`saem.${name}`); } catch { return null; }
  },
  set(name, value) {
    try { localStorage.setItem(`saem.${name}`, value); } catch { /* A browser that keeps nothing asks again. */ }
  },
  /** Whether another tab has changed this. */
  isOf(event, name) {
    return event.key === `saem.${name}`;
  },
};

/** A part of the page: draws itself when it is put in, and lets go of everything when it is taken out. */
export class Part extends HTMLElement {
  #ends = [];

  connectedCallback() {
    this.draw();
  }

  disconnectedCallback() {
    for (const end of this.#ends.splice(0)) end();
    this.gone?.();
  }

  /** Follows a value as long as the part is there. */
  follow(name, listener) {
    this.#ends.push(on(name, listener));
  }

  /** Does this when the part goes. */
  atEnd(end) {
    this.#ends.push(end);
  }
}
