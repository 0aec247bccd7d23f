/**
 * The instruction editor: a live preview from the server, and an unfinished text that survives a reload.
 * Without this script, the Preview button posts the form into the frame, and nothing is kept.
 */
import { safeStorage } from '../hit/storage.js';
import { ago } from './format.js';
import { defaultIndex, setText } from './dom.js';

const PREVIEW_MS = 400;
const SAVE_MS = 300;
const NOT_TYPED = new Set(['csrfmiddlewaretoken', 'step']);
const NOT_COMPARED = new Set(['note', 'based_on']);
const COUNT = 'examples-TOTAL_FORMS';

/** @param {Iterable<[string, any]>} entries of a FormData @returns {Object<string, string>} what somebody typed */
export function typed(entries) {
  return Object.fromEntries([...entries].filter(([name]) => !NOT_TYPED.has(name)).map(([name, value]) => [name, String(value)]));
}

/** @returns {boolean} whether both have the same texts; line breaks and the server's own fields do not matter */
export function sameText(a, b) {
  const plain = (values, name) => (values[name] ?? '').replace(/\s+/g, ' ').trim();
  const names = new Set([...Object.keys(a), ...Object.keys(b)].filter((name) => !NOT_COMPARED.has(name) && !/_FORMS$/.test(name)));
  return [...names].every((name) => plain(a, name) === plain(b, name));
}

/** @returns {string} a name or id in the markup of an example, renumbered for row `n` */
export const renumbered = (text, n) => text.replace(/examples-\d+-/, `examples-${n}-`);

/** Runs `job` after a pause in calls; one at a time, and once more if it was called meanwhile. */
export function debounce(job, pause, { setTimer = setTimeout, clearTimer = clearTimeout } = {}) {
  let timer = null, running = false, again = false;
  const run = async () => {
    timer = null;
    if (running) { again = true; return; }
    running = true;
    try {
      await job();
    } finally {
      running = false;
      if (again) { again = false; run(); }
    }
  };
  return {
    soon() { clearTimer(timer); timer = setTimer(run, pause); },
    now() { clearTimer(timer); return run(); },
    /** Runs a waiting job immediately. */
    flush() { if (timer !== null) this.now(); },
  };
}

// -- the frame

function fit(frame) {
  const page = frame.contentDocument?.documentElement;
  if (!page?.querySelector('body')) return;
  const height = Math.max(120, frame.contentDocument.body.scrollHeight + 2);
  frame.style.setProperty('height', `${height}px`);
  const shrunk = Number(frame.style.getPropertyValue('--shrunk') || 1);
  frame.style.setProperty('margin-bottom', `${Math.round((shrunk - 1) * height)}px`);
}

function watchHeight(frame) {
  const watch = () => {
    fit(frame);
    const page = frame.contentDocument;
    if (!page?.body) return;
    new ResizeObserver(() => fit(frame)).observe(page.body);
    page.addEventListener('load', () => fit(frame), true); // pictures that come later
  };
  frame.addEventListener('load', watch);
  if (frame.contentDocument?.readyState === 'complete') watch();
  new ResizeObserver(() => fit(frame)).observe(frame);
}

async function loadedDocument(frame) {
  const ready = () => frame.contentDocument?.readyState === 'complete' && frame.contentDocument.URL !== 'about:blank';
  if (!ready()) await new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  return frame.contentDocument;
}

/** Posts the form and shows the reply in the frame, without flicker and at the same scroll position. */
async function preview(form, frame, state) {
  const address = form.querySelector('[data-preview]').formAction;
  try {
    const reply = await fetch(address, { method: 'POST', body: new FormData(form), credentials: 'same-origin' });
    if (!reply.ok || reply.redirected) throw new Error(String(reply.status));
    const made = new DOMParser().parseFromString(await reply.text(), 'text/html');
    const page = await loadedDocument(frame);
    page.body.replaceChildren(...[...made.body.childNodes].map((node) => page.importNode(node, true)));
    setText(state, '');
  } catch {
    setText(state, 'The preview is not up to date: the server did not answer. What you type is kept.');
  }
  fit(frame);
}

// -- examples

function addRow(form) {
  const rows = form.querySelectorAll('.worked-form');
  const made = rows[rows.length - 1].cloneNode(true);
  const n = rows.length;
  for (const part of made.querySelectorAll('[name], [id], [for], [aria-describedby]')) {
    for (const name of ['name', 'id', 'for', 'aria-describedby']) {
      if (part.hasAttribute(name)) part.setAttribute(name, renumbered(part.getAttribute(name), n));
    }
  }
  for (const field of made.querySelectorAll('input, textarea, select')) {
    if (field.type === 'checkbox') field.checked = false;
    else field.value = '';
  }
  for (const error of made.querySelectorAll('.error, summary .badge')) error.remove();
  made.querySelector('summary').textContent = `Example ${n + 1}`;
  made.open = true;
  rows[rows.length - 1].after(made);
  form.elements[COUNT].value = String(n + 1);
  return made;
}

function bindAddButton(form, changed) {
  const button = form.querySelector('[value="more"]');
  const most = Number(form.elements['examples-MAX_NUM_FORMS'].value);
  const full = () => { button.hidden = form.querySelectorAll('.worked-form').length >= most; };
  button?.addEventListener('click', (event) => {
    event.preventDefault();
    addRow(form).querySelector('textarea').focus();
    full();
    changed();
  });
}

// -- the draft

const fieldsOf = (form) => [...form.querySelectorAll('input, textarea, select')];

/** @returns {boolean} whether a field no longer has the value with which the page came, as when somebody typed before this script ran */
export function isEdited(field) {
  if (field.type === 'hidden') return false; // its default follows its value
  if (field.type === 'checkbox') return field.checked !== field.defaultChecked;
  return field.tagName === 'SELECT' ? field.selectedIndex !== defaultIndex(field) : field.value !== field.defaultValue;
}

/** Fills in a draft, except the fields in `early`, where somebody typed already. */
function fill(form, values, early) {
  while (form.querySelectorAll('.worked-form').length < Number(values[COUNT] ?? 0)) addRow(form);
  for (const field of fieldsOf(form)) {
    if (NOT_TYPED.has(field.name) || /_FORMS$/.test(field.name) || !field.name || early.has(field)) continue;
    if (field.type === 'checkbox') field.checked = field.name in values;
    else if (field.name in values) field.value = values[field.name];
  }
  for (const row of form.querySelectorAll('.worked-form')) {
    if ([...row.querySelectorAll('textarea, select')].some((field) => field.value)) row.open = true;
  }
}

const keyOf = (user, path) => `studio:${user}:${path}`;

/** Restores a draft, unless the page already shows typed text that the server refused. */
function restore(form, storage, key, early, changed) {
  const draft = storage.get(key);
  if (!draft || 'typed' in form.dataset) return;
  if (sameText(draft.values, typed(new FormData(form)))) {
    storage.remove(key);
    return;
  }
  fill(form, draft.values, early);
  const note = document.getElementById('draft-note');
  note.hidden = false;
  note.querySelector('[data-when]').textContent = `Typed ${ago((Date.now() - draft.at) / 1000)} ago.`;
  note.querySelector('[data-discard]').addEventListener('click', () => {
    storage.remove(key);
    location.reload();
  });
  changed();
}

function bindWidthButtons(frame) {
  const bar = document.getElementById('preview-width');
  bar.hidden = false;
  bar.addEventListener('click', (event) => {
    const button = event.target.closest('[data-width]');
    if (!button) return;
    for (const one of bar.children) one.setAttribute('aria-pressed', String(one === button));
    const wide = Number(button.dataset.width);
    frame.classList.toggle('preview-frame--sized', wide > 0);
    frame.style.setProperty('--wide', `${wide}px`);
    // A preview wider than its container is scaled down, so that lines break as on the real page.
    frame.style.setProperty('--shrunk', String(wide ? Math.min(1, frame.parentElement.clientWidth / wide) : 1));
    fit(frame);
  });
}

function startEditor(form, frame, storage) {
  const key = keyOf(form.dataset.user, location.pathname);
  const look = debounce(() => preview(form, frame, document.getElementById('preview-state')), PREVIEW_MS);
  const keep = debounce(() => storage.set(key, { values: typed(new FormData(form)), at: Date.now() }), SAVE_MS);
  const changed = () => { keep.soon(); look.soon(); };
  form.addEventListener('input', changed);
  form.querySelector('[data-preview]').addEventListener('click', (event) => {
    event.preventDefault();
    look.now();
  });
  addEventListener('pagehide', () => keep.flush());
  bindAddButton(form, changed);
  bindWidthButtons(frame);
  const early = new Set(fieldsOf(form).filter(isEdited));
  restore(form, storage, key, early, look.now);
  if (early.size || 'typed' in form.dataset) {
    keep.now();
    look.now();
  }
}

if (typeof document !== 'undefined') {
  const storage = safeStorage();
  for (const frame of document.querySelectorAll('.preview-frame')) watchHeight(frame);
  const published = document.querySelector('[data-published]');
  if (published) storage.remove(keyOf(published.dataset.user, published.dataset.published));
  const form = document.getElementById('instruction-editor');
  if (form) startEditor(form, document.getElementById('preview'), storage);
}
