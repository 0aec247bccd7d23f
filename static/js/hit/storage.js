/**
 * localStorage that never throws. In a sandboxed or partitioned frame, storage may be forbidden, full, or deleted
 * with the tab: `lasting` is whether stored values survive a reload.
 */
const PREFIX = 'deerstalker:';
export const DAY_MS = 24 * 3600 * 1000;
/** How long a device keeps a person's work, at most. */
const KEEP_MS = 14 * DAY_MS;

function usable(source) {
  try {
    const real = source();
    real.setItem(`${PREFIX}probe`, '1');
    real.removeItem(`${PREFIX}probe`);
    return real;
  } catch {
    return null;
  }
}

const namesIn = (real) => Array.from({ length: real.length }, (_, i) => real.key(i)).filter((key) => key?.startsWith(PREFIX));

// Expired entries are deleted, since the space is limited.
function purge(real, now) {
  for (const key of namesIn(real)) {
    try {
      const { at, keep = KEEP_MS } = JSON.parse(real.getItem(key));
      if (!(now - at <= keep)) real.removeItem(key);
    } catch {
      real.removeItem(key);
    }
  }
}

function valueOf(text) {
  try {
    return JSON.parse(text)?.value ?? null;
  } catch {
    return null;
  }
}

/**
 * @param {() => Storage} [source] @param {() => number} [now] clock in ms
 * @param {EventTarget} [page] where `storage` events of other windows arrive
 */
export function safeStorage(source = () => globalThis.localStorage, now = Date.now, page = globalThis) {
  const memory = new Map();
  const real = usable(source);
  if (real) purge(real, now());
  return {
    lasting: real !== null,
    /** @returns {any} the value kept under the key, null when there is none or it cannot be read */
    get(key) {
      try {
        return valueOf(real?.getItem(PREFIX + key) ?? memory.get(key) ?? 'null');
      } catch {
        return null;
      }
    },
    /** @param {number} [keep] ms after which it expires @returns {boolean} whether it will survive a reload */
    set(key, value, keep = KEEP_MS) {
      const text = JSON.stringify({ at: now(), keep, value });
      memory.set(key, text);
      try {
        real?.setItem(PREFIX + key, text);
        return real !== null;
      } catch {
        return false;
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        real?.removeItem(PREFIX + key);
      } catch { /* forbidden: then nothing was kept either */ }
    },
    /** @returns {string[]} the keys with this prefix */
    keys(prefix) {
      const lasting = real ? namesIn(real).map((name) => name.slice(PREFIX.length)) : [];
      return [...new Set([...memory.keys(), ...lasting])].filter((key) => key.startsWith(prefix));
    },
    /** Calls `run` with the value whenever another window sets the key, with null when it removes it. */
    watch(key, run) {
      page.addEventListener?.('storage', (e) => e.key === PREFIX + key && run(e.newValue === null ? null : valueOf(e.newValue)));
    },
  };
}
