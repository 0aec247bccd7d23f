/**
 * Whether single-key shortcuts are on, on this device. People who dictate or press keys by accident can turn them off
 * (WCAG 2.1.4): one of them pays a worker. A button with data-keys-switch toggles them; the choice is stored.
 */
import { gettext } from './i18n.js';

// Without the prefix of hit/storage.js, whose entries expire.
const NAME = 'deerstalker-single-keys';
let on = true;

try {
  on = localStorage.getItem(NAME) !== 'off';
} catch { /* storage is forbidden: the choice applies to this page only */ }

export const singleKeys = () => on;

function show(button) {
  button.textContent = on ? gettext('Turn keys off') : gettext('Turn keys on');
  document.documentElement.classList.toggle('keys-off', !on);
}

// Rules that import this module are tested without a page.
for (const button of globalThis.document?.querySelectorAll('[data-keys-switch]') ?? []) {
  show(button);
  button.hidden = false;
  button.addEventListener('click', () => {
    on = !on;
    try {
      localStorage.setItem(NAME, on ? 'on' : 'off');
    } catch { /* as above */ }
    show(button);
  });
}
