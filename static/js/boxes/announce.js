/** Describes changes of a store and refusals of a tool in short messages, for an aria-live region. */
import { words } from './words.js';

/** @returns {string} the message for one `change` event, '' for none */
export function changeText(store, detail) {
  const label = () => detail.label ?? store.label(detail.box);
  switch (detail.kind) {
    case 'add': return detail.count > 1 ? words.addedMany(detail.count) : words.added(label(), detail.box);
    case 'move': return words.moved(label(), detail.box);
    case 'resize': return words.resized(label(), detail.box);
    case 'remove': return detail.count > 1 ? words.removedMany(detail.count) : words.removed(detail.label ?? String(detail.box.obs));
    case 'undo': return words.undone;
    case 'redo': return words.redone;
    default: return '';
  }
}

/**
 * Writes messages into `region`. Returns a function that announces any other message.
 * @param {HTMLElement} region an element with aria-live
 */
export function announcer(region, store, tool) {
  let quiet = false;
  const announce = (text) => { if (text) region.textContent = text; };
  store.addEventListener('change', (e) => {
    // Adding and deleting also change the selection: one message is enough.
    quiet = true;
    queueMicrotask(() => { quiet = false; });
    announce(changeText(store, e.detail));
  });
  store.addEventListener('select', () => {
    if (quiet) return;
    const box = store.selected;
    // Opening another card deselects a box, which needs no message.
    if (box) announce(words.selected(store.label(box), box));
  });
  tool?.addEventListener('refuse', (e) => {
    announce({ 'no-card': words.noCard, 'too-many': words.tooMany(store.most), 'too-small': words.tooSmall(store.min) }[e.detail.reason]);
  });
  return announce;
}
