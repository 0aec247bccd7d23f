/**
 * The keys of the box editor. `commandFor` is a pure function; `bindKeys` adds the listener.
 *
 * On the photo: B or Enter adds a box; arrows move it, with Shift ten times as far; with Alt they move its right and
 * lower sides, with Alt and Shift its left and upper sides. Delete deletes it, N and P select the next and the previous
 * box (Tab moves through the open card's boxes), Escape deselects.
 * Elsewhere on the page, outside fields: B, cards (digits, J, K), the next gap (G), undo, redo, zoom, pan mode and
 * the list of shortcuts. Single-character keys can be turned off; each has an alternative.
 */
import { move, resize, startingBox } from './geometry.js';
import { words } from './words.js';

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PAGE_KEYS = {
  b: 'add', '+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out', '0': 'zoom-fit', h: 'hand', '?': 'help',
  j: 'card-next', k: 'card-previous', g: 'gap',
};
/** Photo pixels that a side moves per repeat of a held key. Shift cannot mean faster here: it selects the other side. */
const HELD_STEP = 5;
const PHOTO_KEYS = { Enter: 'add', Delete: 'remove', Backspace: 'remove', n: 'next', p: 'previous', Escape: 'escape' };

/**
 * @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, shiftKey?: boolean, repeat?: boolean}} event
 * @param {boolean} onPhoto whether focus is on the photo or a box
 * @param {boolean} [singles] whether single-character keys are on
 * @returns {{name: string, dx?: number, dy?: number, edge?: string, number?: number}|null} null: no command, the
 *   browser handles the key
 */
export function commandFor(event, onPhoto, singles = true) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) {
    if (event.altKey) return null;
    if (key === 'z') return { name: event.shiftKey ? 'redo' : 'undo' };
    return key === 'y' ? { name: 'redo' } : null;
  }
  const arrow = onPhoto ? ARROWS[key] : undefined;
  if (arrow) return arrowCommand(arrow, event);
  if (event.altKey || (key.length === 1 && !singles)) return null;
  if (/^[1-9]$/.test(key)) return { name: 'card', number: Number(key) };
  const name = (onPhoto ? PHOTO_KEYS[key] : undefined) ?? PAGE_KEYS[key];
  return name ? { name } : null;
}

function arrowCommand([x, y], { altKey, shiftKey, repeat }) {
  if (!altKey) return { name: 'move', dx: x * (shiftKey ? 10 : 1), dy: y * (shiftKey ? 10 : 1) };
  const far = repeat ? HELD_STEP : 1;
  return { name: 'resize', edge: shiftKey ? 'nw' : 'se', dx: x * far, dy: y * far };
}

/** @returns {boolean} whether the element takes text input, so that its keys are no commands */
export function isTyping(element) {
  return Boolean(element?.closest?.('input:not([type="radio"]):not([type="checkbox"]), textarea, select, [contenteditable="true"]'));
}

/**
 * Runs the commands that concern boxes.
 * @param {import('./store.js').BoxStore} store
 * @param {{visible: () => import('./geometry.js').Box, tool?: {busy: boolean, cancel: () => void},
 *   focus?: (id: number|null) => void, announce?: (text: string) => void, refuse?: (reason: string) => void}} editor
 * @returns {boolean} whether the command was handled (then the browser must not handle the key)
 */
export function runCommand(command, store, editor) {
  const { selected } = store;
  const announce = editor.announce ?? (() => {});
  switch (command.name) {
    case 'add': return addBox(store, editor);
    case 'remove': if (selected) store.remove(selected.id); return selected !== null;
    case 'next': store.cycle(+1); editor.focus?.(store.selectedId); return true;
    case 'previous': store.cycle(-1); editor.focus?.(store.selectedId); return true;
    case 'undo': if (!store.undo()) announce(words.nothingToUndo); return true;
    case 'redo': if (!store.redo()) announce(words.nothingToRedo); return true;
    case 'escape': return escape(store, editor);
    case 'move': case 'resize': return nudge(command, selected, store);
    default: return false;
  }
}

function nudge({ name, edge, dx, dy }, selected, store) {
  // Without a selected box, arrows scroll. Alt with an arrow counts as handled, since it would leave the page.
  if (!selected) return name === 'resize';
  const next = name === 'move' ? move(selected, dx, dy, store.size) : resize(selected, edge, dx, dy, store.size, store.min);
  store.replace(selected.id, next, { merge: `${name} ${edge} ${selected.id}` });
  return true;
}

function escape(store, editor) {
  if (editor.tool?.busy) editor.tool.cancel();
  else if (store.selectedId === null) return false;
  else {
    store.select(null);
    editor.announce?.(words.deselected);
  }
  editor.focus?.(null);
  return true;
}

/** Adds a box for the open card without a pointer. @returns {boolean} */
export function addBox(store, editor) {
  if (store.active === null) editor.refuse?.('no-card');
  else if (!store.hasRoom(store.active)) editor.refuse?.('too-many');
  else {
    const box = store.add(store.active, startingBox(editor.visible(), store.boxes.length, store.size, store.min));
    if (box) editor.focus?.(box.id);
  }
  return true;
}

/**
 * @param {SVGSVGElement} svg
 * @param {(command: {name: string}) => boolean} run runs the command; true prevents the key's default
 * @param {() => boolean} [singles] whether single-character keys are on now
 * @returns {() => void} removes the listener
 */
export function bindKeys(svg, run, singles = () => true) {
  const listener = (event) => {
    if (event.defaultPrevented || event.isComposing || isTyping(event.target) || document.querySelector('dialog[open]') || svg.closest('[inert]')) return;
    const command = commandFor(event, svg.contains(event.target), singles());
    if (command && run(command)) event.preventDefault();
  };
  document.addEventListener('keydown', listener);
  return () => document.removeEventListener('keydown', listener);
}
