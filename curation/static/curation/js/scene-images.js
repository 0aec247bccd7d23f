/**
 * The candidates of a scene by keys: 1 to 3 go to a role, arrows move between its candidates, P picks the one in focus, U
 * takes the role's pick back, Z or a press shows it large, beside the picked premise. Without this script the page is
 * plain forms. After a pick, the address of the page names the candidate, so that the browser gives it the focus again.
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { Viewer } from '../../js/hit/triplet/viewer.js';
import { singleKeys } from '../../js/ui/keys.js';

const roles = [...document.querySelectorAll('[data-role]')];
const openers = (role) => [...role.querySelectorAll('[data-open]')];
const inFocus = () => document.activeElement?.closest('[data-candidate]') ?? null;
let current = roles[0] ?? null;

/** The picked premise, then the candidates of the current role. */
function shown() {
  const compared = current.querySelector('[data-compare] img');
  const own = openers(current).map((button) => button.querySelector('img'));
  return [...(compared ? [compared] : []), ...own].map((img) => ({
    name: img.alt || img.closest('[data-open]').getAttribute('aria-label').split(':')[0],
    src: img.src,
    width: Number(img.getAttribute('width')),
    height: Number(img.getAttribute('height')),
  }));
}

const viewer = new Viewer(shown);

function openLarge(button) {
  current = button.closest('[data-role]');
  const before = current.querySelector('[data-compare]') ? 1 : 0;
  viewer.open(before + openers(current).indexOf(button));
}

function goToRole(key) {
  const role = roles.find((one) => one.dataset.roleKey === key);
  if (!role) return false;
  current = role;
  const picked = role.querySelector('.candidate--picked [data-open]') ?? openers(role)[0];
  (picked ?? role).focus();
  role.scrollIntoView({ block: 'start' });
  return true;
}

function move(step) {
  const all = openers(current);
  const at = all.indexOf(inFocus()?.querySelector('[data-open]'));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  return Boolean(next);
}

/** Sends the form of the candidate in focus, or the form that takes the role's pick back. */
function send(selector, root) {
  const form = root?.querySelector(selector);
  form?.requestSubmit();
  return Boolean(form);
}

const acts = {
  arrowright: () => move(+1),
  arrowleft: () => move(-1),
  p: () => (inFocus()?.classList.contains('candidate--picked') ? true : send('[data-pick]', inFocus())),
  u: () => send(`[data-take-back="${CSS.escape(current.dataset.role)}"]`, document),
  z: () => {
    const button = inFocus()?.querySelector('[data-open]') ?? openers(current)[0];
    if (button) openLarge(button);
    return Boolean(button);
  },
};

// Before the viewer's own listener, which would open at the image that was shown last.
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const key = event.key.toLowerCase();
  if (key.length === 1 && !singleKeys()) return;
  if (key.startsWith('arrow') && !inFocus()) return;
  if (!(acts[key]?.() ?? goToRole(key))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

document.addEventListener('focusin', ({ target }) => { current = target.closest?.('[data-role]') ?? current; });
for (const role of roles) for (const button of openers(role)) button.addEventListener('click', () => openLarge(button));
