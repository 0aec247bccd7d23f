/**
 * Labels a pair with a codebook. Without this script the page is a plain form. With it:
 * - questions that the answers so far do not ask are hidden;
 * - keys 1 to 9 (shown at each choice) answer the current question and move to the next one. From a question with several
 *   answers, Enter moves on. Enter saves if all questions are answered; N focuses the note;
 * - unsaved answers are stored in this browser, and restored when the page is reloaded.
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { setText } from '../../js/ui/dom.js';
import { singleKeys } from '../../js/ui/keys.js';
import { Draft } from './audit-draft.js';

const form = document.querySelector('[data-reading]');
const note = form.elements.note;
const fieldsets = [...form.querySelectorAll('[data-question]')];
const saved = form.querySelector('[data-saved]');
const makeDraft = (position) => new Draft(storageOrNull(), form.dataset.reading + position, form.dataset.base);
const draft = makeDraft(form.dataset.place);
let current = null;

function storageOrNull() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

const inputs = (fieldset) => [...fieldset.querySelectorAll('input')];
const values = (fieldset) => inputs(fieldset).filter((input) => input.checked).map((input) => input.value);
const asked = () => fieldsets.filter((fieldset) => !fieldset.hidden);
const unanswered = () => asked().find((fieldset) => values(fieldset).length === 0) ?? null;

/** Hides and disables the questions that the answers so far do not ask. */
function showAsked() {
  for (const fieldset of fieldsets) {
    const by = fieldset.dataset.askedBy;
    if (!by) continue;
    const parent = form.querySelector(`[data-question="${by}"]`);
    const target = fieldset.dataset.askedIs.split(' ');
    fieldset.hidden = parent.hidden || !values(parent).some((value) => target.includes(value));
    fieldset.disabled = fieldset.hidden;
  }
}

/** Marks the question that keys answer as the current one. */
function setCurrent(fieldset) {
  current = fieldset;
  for (const other of fieldsets) other.classList.toggle('question--now', other === fieldset);
}

/** Focuses the first question without an answer, or the save button. */
function focusNext() {
  const next = unanswered();
  if (next) {
    setCurrent(next);
    inputs(next)[0].focus({ focusVisible: true });
  } else form.querySelector('button.btn--primary').focus({ focusVisible: true });
}

function uncheckConflicting(input) {
  if (!input.checked || input.type !== 'checkbox') return;
  const alone = 'alone' in input.dataset;
  for (const other of inputs(input.closest('[data-question]'))) {
    if (other !== input && (alone || 'alone' in other.dataset)) other.checked = false;
  }
}

function answered(input) {
  uncheckConflicting(input);
  showAsked();
  clearError(input.closest('[data-question]'));
  storeDraft();
}

function press(key) {
  const fieldset = current && !current.hidden ? current : unanswered() ?? asked()[0];
  const input = inputs(fieldset).find((choice) => choice.dataset.choiceKey?.toLowerCase() === key);
  if (!input) return false;
  setCurrent(fieldset);
  input.checked = input.type === 'radio' ? true : !input.checked;
  answered(input);
  if (input.type === 'radio') focusNext();
  else input.focus({ focusVisible: true });
  return true;
}

/** Focuses the next question without an answer if the current one is answered; otherwise submits the form. */
function enter() {
  if (current && values(current).length > 0 && unanswered()) focusNext();
  else form.requestSubmit();
}

function clearError(fieldset) {
  fieldset.querySelector('.error').hidden = true;
  fieldset.removeAttribute('aria-describedby');
}

function showError(fieldset) {
  const error = fieldset.querySelector('.error');
  const many = inputs(fieldset)[0].type === 'checkbox';
  setText(error, many ? 'Choose at least one.' : 'Choose one.');
  error.hidden = false;
  fieldset.setAttribute('aria-describedby', error.id);
}

/** Stores the unsaved answers and the note in this browser. */
function storeDraft() {
  const chosen = Object.fromEntries(fieldsets.map((fieldset) => [fieldset.dataset.question, values(fieldset)]));
  if (draft.store({ chosen, note: note.value })) setText(saved, 'Not saved yet, kept on this device.');
}

function restore() {
  const stored = draft.read();
  if (!stored) return;
  for (const fieldset of fieldsets) {
    for (const input of inputs(fieldset)) input.checked = (stored.chosen[fieldset.dataset.question] ?? []).includes(input.value);
  }
  note.value = stored.note;
  setText(saved, 'Not saved yet: your earlier answers are restored.');
}

form.addEventListener('change', (event) => {
  if (event.target.matches('input[type="radio"], input[type="checkbox"]')) answered(event.target);
});
note.addEventListener('input', storeDraft);
form.addEventListener('focusin', (event) => {
  const fieldset = event.target.closest('[data-question]');
  if (fieldset) setCurrent(fieldset);
});
form.addEventListener('submit', (event) => {
  const missing = unanswered();
  if (!missing) return;
  event.preventDefault();
  showError(missing);
  setCurrent(missing);
  inputs(missing)[0].focus({ focusVisible: true });
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === 'Escape' && document.activeElement === note) note.blur();
  if (isTyping(event.target) || !singleKeys() || document.querySelector('dialog[open]')) return;
  const key = event.key.toLowerCase();
  if (key === 'n') note.focus();
  else if (key === 'enter' && !event.target.closest('a, button, summary')) enter();
  else if (key.length > 1 || !press(key)) return;
  event.preventDefault();
});

for (const hint of form.querySelectorAll('[data-only-when]')) hint.hidden = true;
if (form.dataset.savedPlace) makeDraft(form.dataset.savedPlace).delete();
restore();
showAsked();
setCurrent(unanswered() ?? fieldsets[0]);
