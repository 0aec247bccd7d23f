/**
 * Keeps what was typed into a form when it meets a sign-in page instead of its answer, and puts it back afterwards.
 *
 * At each submit the typed texts go into this tab's sessionStorage. The next page settles it: the sign-in page, and the
 * one that says that nothing was sent, mark them as stranded; any other page forgets them, except the one that they were typed on, after a sign-in of the same person.
 * Passwords, files, hidden fields and the sign-in form itself are never kept.
 */
const KEY = 'kept-form';
const LARGEST = 200_000; // characters; more than any form of ours holds

const isText = (field) =>
  field.name && (field.tagName === 'TEXTAREA' || (field.tagName === 'INPUT' && ['text', 'search', 'url', 'email', 'number', ''].includes(field.type)) || field.tagName === 'SELECT');

/** @returns {Array<[string, string]>} the texts of a form by the names of their fields */
export function textsOf(form) {
  return [...form.elements].filter(isText).map((field) => [field.name, field.value]);
}

/** Puts texts back into a form; fields that are gone are passed over. @returns {boolean} whether one changed */
export function putBack(form, texts) {
  let changed = false;
  for (const [name, value] of texts) {
    const field = [...form.elements].find((one) => isText(one) && one.name === name);
    if (!field || field.value === value) continue;
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    changed = true;
  }
  return changed;
}

/** Writes down what is submitted; who is signed in is part of it. */
export function keep(form, { storage, user, here }) {
  if (form.method !== 'post' || form.matches('[data-sign-in]') || !user) return;
  const kept = JSON.stringify({ user, here, ...nameOf(form), texts: textsOf(form), stranded: false });
  if (kept.length <= LARGEST) storage.setItem(KEY, kept);
}

/** Looks at what an earlier page kept. @returns {boolean} whether texts were put back */
export function settle(root, { storage, user, here }) {
  const raw = storage.getItem(KEY);
  if (!raw) return false;
  let kept;
  try {
    kept = JSON.parse(raw);
  } catch {
    storage.removeItem(KEY);
    return false;
  }
  if (root.querySelector('form[data-sign-in], [data-not-sent]')) {
    storage.setItem(KEY, JSON.stringify({ ...kept, stranded: true }));
    for (const part of root.querySelectorAll('[data-kept-way]')) {
      if (part.tagName === 'A') part.href = kept.here;
      part.hidden = false;
    }
    return false;
  }
  storage.removeItem(KEY);
  if (!kept.stranded || kept.user !== user || kept.here !== here) return false;
  const form = [...root.querySelectorAll('form')].find((one) => nameOf(one).action === kept.action && nameOf(one).nth === kept.nth);
  if (!form || !putBack(form, kept.texts)) return false;
  const folded = form.closest('details:not([open])');
  if (folded) folded.open = true;
  form.closest('dialog:not([open])')?.showModal?.();
  return true;
}

/** Tells a page's forms apart: several may lead to the same address, such as an approval and a rejection. */
function nameOf(form) {
  const action = form.getAttribute('action') ?? '';
  const alike = [...(form.ownerDocument?.querySelectorAll('form') ?? [form])].filter((one) => (one.getAttribute('action') ?? '') === action);
  return { action, nth: alike.indexOf(form) };
}

if (typeof document !== 'undefined') {
  try {
    const place = { storage: window.sessionStorage, user: document.body.dataset.user ?? '', here: `${window.location.pathname}${window.location.search}` };
    settle(document, place);
    document.addEventListener('submit', (event) => keep(event.target, place), { capture: true });
  } catch {
    // no storage here: the page works as ever, and nothing is kept
  }
}
