/**
 * Runs before the scripts of a requester's page in a frame without an origin, where storage and cookies throw. Old
 * scripts use them, so they are replaced with stubs that keep nothing after the page. It is a plain script, to run first.
 */
(() => {
  'use strict';
  const createStorage = () => {
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
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { value: createStorage(), configurable: true });
  Object.defineProperty(document, 'cookie', { get: () => '', set: () => {}, configurable: true });
})();
