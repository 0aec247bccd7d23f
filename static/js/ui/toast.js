import { element, icon } from './dom.js';
import { gettext } from './i18n.js';

let currentToast = null;

/**
 * Shows a message about a finished action, with an Undo button if `undo` is given.
 * @param {string} message @param {() => void} [undo] @param {number} [ms] how long it stays
 */
export function toast(message, undo, ms = 8000) {
  currentToast?.remove();
  const box = element('div', { class: 'toast toast--float', role: 'status' }, icon('ok'), element('span', { text: message }));
  const close = () => box.remove();
  if (undo) box.append(element('button', { type: 'button', text: gettext('Undo'), on: { click: () => { close(); undo(); } } }));
  document.body.append(box);
  currentToast = box;
  let timer = setTimeout(close, ms);
  // It stays while it is hovered or focused.
  box.addEventListener('pointerenter', () => clearTimeout(timer));
  box.addEventListener('focusin', () => clearTimeout(timer));
  box.addEventListener('pointerleave', () => { timer = setTimeout(close, ms / 2); });
}
