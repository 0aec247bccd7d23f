import { element, icon } from './dom.js';
import { gettext } from './i18n.js';

let current = null;

/**
 * Says that something was done and offers to take it back.
 * @param {string} message @param {() => void} [undo] @param {number} [ms] how long it stays
 */
export function toast(message, undo, ms = 8000) {
  current?.remove();
  const box = element('div', { class: 'toast toast--float', role: 'status' }, icon('ok'), element('span', { text: message }));
  const close = () => box.remove();
  if (undo) box.append(element('button', { type: 'button', text: gettext('Undo'), on: { click: () => { close(); undo(); } } }));
  document.body.append(box);
  current = box;
  let timer = setTimeout(close, ms);
  // It does not go away while somebody is on it.
  box.addEventListener('pointerenter', () => clearTimeout(timer));
  box.addEventListener('focusin', () => clearTimeout(timer));
  box.addEventListener('pointerleave', () => { timer = setTimeout(close, ms / 2); });
}
