/**
 * Stands in front of a page of somebody else's in a frame without an origin, where storage and cookies throw: old scripts
 * use them without a thought. Here they work, and forget everything. A plain script, since it has to run first.
 */
(() => {
  'use strict';
  const kept = () => {
    const items = new Map();
    return {
      getItem: (key) => items.get(String(key)) ?? null,
      setItem: (key, value) => { items.set(String(key), String(value)); },
      removeItem: (key) => { items.delete(String(key)); },
      clear: () => items.clear(),
      key: (index) => [...items.keys()][index] ?? null,
      get length() { return items.size; },
    };
  };
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { value: kept(), configurable: true });
  Object.defineProperty(document, 'cookie', { get: () => '', set: () => {}, configurable: true });
})();
