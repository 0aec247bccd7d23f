/**
 * localStorage that never throws. In a sandboxed or partitioned frame it may be forbidden, full or gone
 * with the tab: `lasting` says whether what is kept here survives a reload.
 */
export function safeStorage(source = () => globalThis.localStorage) {
  const memory = new Map();
  let real = null;
  try {
    real = source();
    real.setItem('deerstalker:probe', '1');
    real.removeItem('deerstalker:probe');
  } catch {
    real = null;
  }
  return {
    lasting: real !== null,
    /** @returns {any} the value kept under the key, null when there is none or it is not readable */
    get(key) {
      try {
        const text = real?.getItem(key) ?? memory.get(key) ?? null;
        return text === null ? null : JSON.parse(text);
      } catch {
        return null;
      }
    },
    /** @returns {boolean} whether it will survive a reload */
    set(key, value) {
      const text = JSON.stringify(value);
      memory.set(key, text);
      try {
        real?.setItem(key, text);
        return real !== null;
      } catch {
        return false;
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        real?.removeItem(key);
      } catch { /* nothing to remove from */ }
    },
  };
}
