/** The note about the ways to mention an object: shown on each device until it is closed once. */
const KEY = 'read:mentions';

/** @param {HTMLElement} note @param {ReturnType<import('../hit/storage.js').safeStorage>} storage */
export function showGestures(note, storage) {
  note.hidden = storage.get(KEY) !== null;
  note.querySelector('[data-close]').addEventListener('click', () => {
    note.hidden = true;
    storage.set(KEY, true);
    note.nextElementSibling?.focus?.();
  });
}
