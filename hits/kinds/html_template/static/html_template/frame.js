/**
 * Runs before the scripts of an old page, and passes the form that the page submits to the page around it.
 * It is a plain script, because it must run first, in a document without an origin.
 */
(() => {
  'use strict';
  const query = new URLSearchParams(location.search);
  const assignmentId = query.get('assignmentId') ?? '';
  const preview = assignmentId === '' || assignmentId === 'ASSIGNMENT_ID_NOT_AVAILABLE';
  const submitWord = document.currentScript.dataset.submit;
  const RESERVED = new Set(['assignmentid', 'hitid', 'workerid', 'turksubmitto']);
  const OWN_FORM = 'form-around-the-page';
  const MAX_HEIGHTS = 60; // messages; a page as high as its window would grow for ever
  let restoring = false;

  // The page around this frame has our origin, so no other page that frames it gets a message.
  const post = (message) => window.parent.postMessage({ from: 'old-page', ...message }, location.origin);

  /* -- functions that old scripts expect and a sandboxed frame lacks */
  window.alert = (text = '') => post({ type: 'say', text: String(text) });
  window.confirm = () => true;
  window.prompt = (text, given = '') => given;
  window.turkGetParam = (name, otherwise = '') => query.get(name) ?? otherwise;
  window.turkSetAssignmentID = () => fillIn();

  /* -- the answer */
  const isText = ([, value]) => typeof value === 'string';
  const isAnswer = ([name]) => name !== '' && !RESERVED.has(name.toLowerCase());

  // Amazon put a form around a page without one; the page's script may add fields later.
  function gather() {
    const form = document.getElementById(OWN_FORM);
    if (!form) return;
    for (const part of document.querySelectorAll('input, select, textarea, button')) if (part.form === null) part.setAttribute('form', OWN_FORM);
  }

  function fieldsOf(forms, pressed = null) {
    gather();
    const rows = forms.flatMap((form) => [...new FormData(form)]);
    if (pressed?.name) rows.push([pressed.name, pressed.value]);
    return rows.filter(isText).filter(isAnswer);
  }

  const send = (form, pressed) => post(preview ? { type: 'submit' } : { type: 'submit', fields: fieldsOf(form ? [form] : [], pressed) });

  // The last listener, so that the page's own checks run first.
  window.addEventListener('submit', (e) => {
    if (e.defaultPrevented) return;
    e.preventDefault();
    send(e.target, e.submitter);
  });
  // A page that stops the event would otherwise not send its form.
  window.addEventListener('submit', (e) => { e.stopPropagation = () => {}; }, true);
  HTMLFormElement.prototype.submit = function submit() { send(this, null); };

  /* -- the fields filled in so far, for the draft */
  let due = null;
  const changed = () => {
    if (restoring || preview) return;
    clearTimeout(due);
    due = setTimeout(() => post({ type: 'fields', fields: fieldsOf([...document.forms]) }), 250);
  };
  for (const type of ['input', 'change']) document.addEventListener(type, changed, true);

  function restore(rows) {
    const values = new Map();
    for (const [name, value] of rows) values.set(name, [...(values.get(name) ?? []), value]);
    const used = new Map();
    restoring = true;
    for (const field of document.querySelectorAll('input[name], select[name], textarea[name]')) {
      if (put(field, values.get(field.name) ?? null, used)) {
        for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
      }
    }
    restoring = false;
  }

  function put(field, values, used) {
    if (field.type === 'radio' || field.type === 'checkbox') {
      const before = field.checked;
      field.checked = values?.includes(field.value) ?? false;
      return field.checked !== before;
    }
    if (values === null || ['file', 'submit', 'button', 'reset', 'image'].includes(field.type) || RESERVED.has(field.name.toLowerCase())) return false;
    if (field.tagName === 'SELECT') {
      for (const option of field.options) option.selected = values.includes(option.value);
      return true;
    }
    const index = used.get(field.name) ?? 0;
    used.set(field.name, index + 1);
    if (values[index] === undefined || field.value === values[index]) return false;
    field.value = values[index];
    return true;
  }

  window.addEventListener('message', (e) => {
    if (e.source === window.parent && e.data?.from === 'task' && e.data.type === 'restore') restore(e.data.fields);
  });

  /* -- the page itself */
  function fillIn() {
    for (const field of document.querySelectorAll('input[name=assignmentId]')) field.value ||= assignmentId;
  }

  const BUTTONS = 'button:not([type]), button[type=submit], input[type=submit], input[type=image]';
  function addForm() {
    if (customElements.get('crowd-form')) return; // Amazon's elements bring their own form and button
    let [form] = document.forms;
    if (!form) {
      form = document.body.appendChild(Object.assign(document.createElement('form'), { id: OWN_FORM }));
      gather();
      for (const button of document.querySelectorAll('crowd-button[form-action=submit]')) button.addEventListener('click', () => form.requestSubmit());
    }
    if (document.querySelector(`${BUTTONS}, crowd-button[form-action=submit]`)) return;
    // Old pages have no button, because Amazon's editor added one.
    form.append(Object.assign(document.createElement('button'), { type: 'submit', textContent: submitWord, style: 'margin: 1em 0; padding: .5em 1.5em; font-size: 1rem' }));
  }

  let heights = 0;
  let height = 0;
  function measure() {
    const now = Math.max(document.body.scrollHeight, Math.ceil(document.body.getBoundingClientRect().bottom + window.scrollY)) + 16;
    if (Math.abs(now - height) < 8 || heights >= MAX_HEIGHTS) return;
    heights += 1;
    height = now;
    post({ type: 'height', height });
  }

  document.addEventListener('DOMContentLoaded', () => {
    fillIn();
    addForm();
    // After the page's own handlers of this event.
    setTimeout(() => {
      post({ type: 'ready' });
      measure();
      new ResizeObserver(measure).observe(document.body);
    });
  });

  let last = 0;
  const active = () => {
    if (Date.now() - last < 1000) return;
    last = Date.now();
    post({ type: 'active' });
  };
  for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focusin']) document.addEventListener(type, active, { passive: true, capture: true });
})();
