/**
 * Reading a pair with a codebook. Without this script the page is a plain form. With it:
 * - a question that is not asked by the answers so far is away;
 * - digits (each choice shows its key) answer the present question and go on to the next, as Enter does from one with
 *   several answers; Enter saves when all is answered; N is the note;
 * - what was chosen and not saved yet is kept on this device, and is there again after a reload.
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { setText } from '../../js/ui/dom.js';
import { singleKeys } from '../../js/ui/keys.js';
import { Draft } from './audit-draft.js';

const form = document.querySelector('[data-reading]');
const note = form.elements.note;
const fieldsets = [...form.querySelectorAll('[data-question]')];
const saved = form.querySelector('[data-saved]');
const draftOf = (place) => new Draft(storageOrNull(), form.dataset.reading + place, form.dataset.base);
const draft = draftOf(form.dataset.place);
let present = null;

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

/** Takes the questions away that the answers so far do not ask for; their fields are not sent. */
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

/** Marks the question that keys answer. */
function stand(fieldset) {
  present = fieldset;
  for (const other of fieldsets) other.classList.toggle('question--now', other === fieldset);
}

/** Goes to the first question without an answer, or to the button that saves. */
function goOn() {
  const next = unanswered();
  if (next) {
    stand(next);
    inputs(next)[0].focus({ focusVisible: true });
  } else form.querySelector('button.btn--primary').focus({ focusVisible: true });
}

function keepAlone(input) {
  if (!input.checked || input.type !== 'checkbox') return;
  const alone = 'alone' in input.dataset;
  for (const other of inputs(input.closest('[data-question]'))) {
    if (other !== input && (alone || 'alone' in other.dataset)) other.checked = false;
  }
}

function answered(input) {
  keepAlone(input);
  showAsked();
  clearError(input.closest('[data-question]'));
  keep();
}

function press(key) {
  const fieldset = present && !present.hidden ? present : unanswered() ?? asked()[0];
  const input = inputs(fieldset).find((one) => one.dataset.choiceKey?.toLowerCase() === key);
  if (!input) return false;
  stand(fieldset);
  input.checked = input.type === 'radio' ? true : !input.checked;
  answered(input);
  if (input.type === 'radio') goOn();
  else input.focus({ focusVisible: true });
  return true;
}

/** Goes on from an answered question to the next without an answer; where there is none, or this has none, saves. */
function enter() {
  if (present && values(present).length > 0 && unanswered()) goOn();
  else form.requestSubmit();
}

function clearError(fieldset) {
  fieldset.querySelector('.error').hidden = true;
  fieldset.removeAttribute('aria-describedby');
}

function complain(fieldset) {
  const error = fieldset.querySelector('.error');
  const many = inputs(fieldset)[0].type === 'checkbox';
  setText(error, many ? 'Choose at least one.' : 'Choose one.');
  error.hidden = false;
  fieldset.setAttribute('aria-describedby', error.id);
}

/** Keeps what is chosen and written on this device until it is saved. */
function keep() {
  const chosen = Object.fromEntries(fieldsets.map((fieldset) => [fieldset.dataset.question, values(fieldset)]));
  if (draft.keep({ chosen, note: note.value })) setText(saved, 'Not saved yet, kept on this device.');
}

function restore() {
  const kept = draft.read();
  if (!kept) return;
  for (const fieldset of fieldsets) {
    for (const input of inputs(fieldset)) input.checked = (kept.chosen[fieldset.dataset.question] ?? []).includes(input.value);
  }
  note.value = kept.note;
  setText(saved, 'Not saved yet: what you chose before is here again.');
}

form.addEventListener('change', (event) => {
  if (event.target.matches('input[type="radio"], input[type="checkbox"]')) answered(event.target);
});
note.addEventListener('input', keep);
form.addEventListener('focusin', (event) => {
  const fieldset = event.target.closest('[data-question]');
  if (fieldset) stand(fieldset);
});
form.addEventListener('submit', (event) => {
  const missing = unanswered();
  if (!missing) return;
  event.preventDefault();
  complain(missing);
  stand(missing);
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
if (form.dataset.savedPlace) draftOf(form.dataset.savedPlace).forget();
restore();
showAsked();
stand(unanswered() ?? fieldsets[0]);
