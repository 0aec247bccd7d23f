/**
 * Whether single keys act on this device. People who dictate, or whose hands slip, turn them off (WCAG 2.1.4):
 * on the review desk one of them pays. A button with data-keys-switch turns them; the choice is kept.
 */
import { gettext } from './i18n.js';

// Not under the prefix that hit/storage.js clears of old tasks: this is to last.
const NAME = 'deerstalker-single-keys';
let on = true;

try {
  on = localStorage.getItem(NAME) !== 'off';
} catch { /* storage is forbidden: the choice holds for this page */ }

export const singleKeys = () => on;

function show(button) {
  button.textContent = on ? gettext('Turn keys off') : gettext('Turn keys on');
  document.documentElement.classList.toggle('keys-off', !on);
}

for (const button of document.querySelectorAll('[data-keys-switch]')) {
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
