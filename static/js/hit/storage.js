/**
 * localStorage that never throws. In a sandboxed or partitioned frame it may be forbidden, full or gone
 * with the tab: `lasting` says whether what is kept here survives a reload.
 */
const PREFIX = 'deerstalker:';
const KEEP_MS = 30 * 24 * 3600 * 1000;

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

// Tasks of last month are not coming back, and the room is small.
function purge(real, now) {
  const keys = Array.from({ length: real.length }, (_, i) => real.key(i)).filter((key) => key?.startsWith(PREFIX));
  for (const key of keys) {
    try {
      if (!(now - JSON.parse(real.getItem(key)).at <= KEEP_MS)) real.removeItem(key);
    } catch {
      real.removeItem(key);
    }
  }
}

export function safeStorage(source = () => globalThis.localStorage, now = Date.now) {
  const memory = new Map();
  const real = usable(source);
  if (real) purge(real, now());
  return {
    lasting: real !== null,
    /** @returns {any} the value kept under the key, null when there is none or it cannot be read */
    get(key) {
      try {
        const text = real?.getItem(PREFIX + key) ?? memory.get(key) ?? null;
        return text === null ? null : JSON.parse(text).value;
      } catch {
        return null;
      }
    },
    /** @returns {boolean} whether it will survive a reload */
    set(key, value) {
      const text = JSON.stringify({ at: now(), value });
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
  };
}
