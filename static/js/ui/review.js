/**
 * The review page, beyond the shortcuts of js/ui/staff.js (A, R, S, J, K): keys 1 to 5, and hover or focus of a pair,
 * highlight its boxes; a form with data-once is sent only once; a message with data-flash disappears after eight
 * seconds.
 */
import { isTyping } from '../boxes/keyboard.js';
import { singleKeys } from './keys.js';

const boxes = [...document.querySelectorAll('.stage .box[data-obs]')];
const pairs = [...document.querySelectorAll('[data-pair]')];
let pinned = null;

function highlightPair(number) {
  for (const box of boxes) {
    const mine = box.dataset.obs === number;
    box.classList.toggle('box--on', number !== null && mine);
    box.classList.toggle('box--away', number !== null && !mine);
  }
  for (const pair of pairs) pair.classList.toggle('pair--on', number !== null && pair.dataset.pair === number);
}

for (const [part, number] of [...pairs.map((p) => [p, p.dataset.pair]), ...boxes.map((b) => [b, b.dataset.obs])]) {
  for (const type of ['pointerenter', 'focusin']) part.addEventListener(type, () => highlightPair(number));
  for (const type of ['pointerleave', 'focusout']) part.addEventListener(type, () => highlightPair(pinned));
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !singleKeys()) return;
  if (document.querySelector('dialog[open]') || !/^[1-5]$/.test(event.key)) return;
  pinned = pinned === event.key ? null : event.key;
  highlightPair(pinned);
});

for (const form of document.querySelectorAll('form[data-once]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
  });
}
for (const flash of document.querySelectorAll('[data-flash]')) setTimeout(() => flash.remove(), 8000);

// A page that comes back from the browser's history may be sent again.
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-once]')) delete form.dataset.sent;
});
