/**
 * The review page, beyond the shortcuts of js/ui/staff.js (A, R, S, J, K): keys 1 to 5, and hover or focus of a pair,
 * highlight its boxes; hover of a mention highlights its objects' boxes. A form with data-once is sent only once; a
 * message with data-flash disappears after eight seconds.
 */
import { isTyping } from '../boxes/keyboard.js';
import { singleKeys } from './keys.js';

const boxes = [...document.querySelectorAll('.stage .box[data-obs]')];
const pairs = [...document.querySelectorAll('[data-pair]')];
const mentions = [...document.querySelectorAll('.mention[data-objects]')];
// Objects are counted from 0, and their boxes from 1.
const numbersOf = (mention) => mention.dataset.objects.split(' ').map((index) => String(Number(index) + 1));
let pinned = null;

const highlightPair = (number) => highlight(number === null ? [] : [number]);

function highlight(numbers) {
  const some = numbers.length > 0;
  for (const box of boxes) {
    const mine = numbers.includes(box.dataset.obs);
    box.classList.toggle('box--on', mine);
    box.classList.toggle('box--away', some && !mine);
  }
  for (const pair of pairs) pair.classList.toggle('pair--on', numbers.includes(pair.dataset.pair));
  for (const mention of mentions) {
    mention.classList.toggle('mention--lit', numbersOf(mention).some((number) => numbers.includes(number)));
  }
}

for (const [part, number] of [...pairs.map((p) => [p, p.dataset.pair]), ...boxes.map((b) => [b, b.dataset.obs])]) {
  for (const type of ['pointerenter', 'focusin']) part.addEventListener(type, () => highlightPair(number));
  for (const type of ['pointerleave', 'focusout']) part.addEventListener(type, () => highlightPair(pinned));
}

for (const mention of mentions) {
  mention.addEventListener('pointerenter', () => highlight(numbersOf(mention)));
  mention.addEventListener('pointerleave', () => highlightPair(pinned));
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
