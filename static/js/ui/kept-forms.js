/**
 * Keeps the typed texts of a form if its submission leads to a sign-in page, and restores them afterwards.
 *
 * Each submit stores the texts in this tab's sessionStorage. A sign-in page, or one that says that nothing was sent,
 * marks them as stranded. The page of the form restores stranded texts of the same user; other pages delete them.
 * Passwords, files, hidden fields and the sign-in form itself are never kept.
 */
const KEY = 'kept-form';
const MAX_LENGTH = 200_000; // characters; longer than any of our forms

const isText = (field) =>
  field.name && (field.tagName === 'TEXTAREA' || (field.tagName === 'INPUT' && ['text', 'search', 'url', 'email', 'number', ''].includes(field.type)) || field.tagName === 'SELECT');

/** @returns {Array<[string, string]>} the texts of a form by the names of their fields */
export function textsOf(form) {
  return [...form.elements].filter(isText).map((field) => [field.name, field.value]);
}

/** Restores the texts of a form; fields that no longer exist are skipped. @returns {boolean} whether one changed */
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

/** Stores the texts of a submitted form with the signed-in user. */
export function keep(form, { storage, user, here }) {
  if (form.method !== 'post' || form.matches('[data-sign-in]') || !user) return;
  const kept = JSON.stringify({ user, here, ...nameOf(form), texts: textsOf(form), stranded: false });
  if (kept.length <= MAX_LENGTH) storage.setItem(KEY, kept);
}

/** Handles the texts that an earlier page stored. @returns {boolean} whether texts were put back */
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

/** Identifies a form on its page: several may have the same action, such as an approval and a rejection. */
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
    // without storage the page works, but nothing is kept
  }
}
