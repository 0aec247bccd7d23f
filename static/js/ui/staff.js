/**
 * Behaviour of staff pages, by attributes, so that templates need no script of their own:
 * - data-value="67.5" sets the custom property --v (bar widths) without a style attribute
 * - command="show-modal" and command="close" with commandfor="ID" open and close a <dialog>, in older browsers too
 * - data-copy="text" copies the text and confirms it
 * - data-key="a" on a button or link: the key presses it while nobody is typing, unless keys are off (keys.js)
 * - data-submit-now on a form that targets a frame: it is sent when the page has loaded
 * - on a narrow screen the navigation is scrolled to the current page
 * - data-hourly="ID" shows the hourly rate of the reward in a field (hourly.js)
 * - every .stage keeps its labels' size and draws data-boxes (see boxes/stage.js)
 */
import { watchStages } from '../boxes/stage.js';
import { isTyping } from '../boxes/keyboard.js';
import { singleKeys } from './keys.js';
import { toast } from './toast.js';
import './hourly.js';
import './kept-forms.js';

/** Sets --v on every element with data-value. */
export function setValues(root = document) {
  for (const part of root.querySelectorAll('[data-value]')) part.style.setProperty('--v', `${Number(part.dataset.value)}%`);
}

/** Sends the forms that target a frame of this page. */
export function submitNow(root = document) {
  for (const form of root.querySelectorAll('form[data-submit-now][target]')) form.requestSubmit();
}

/** Scrolls a navigation to its current item. */
export function showCurrent(root = document) {
  for (const item of root.querySelectorAll('nav [aria-current]')) item.scrollIntoView({ block: 'nearest', inline: 'center' });
}

/** For browsers before 2026, which do not support button commands. */
function runButtonCommand(button) {
  const dialog = button && document.getElementById(button.getAttribute('commandfor'));
  if (button?.getAttribute('command') === 'show-modal') dialog?.showModal();
  if (button?.getAttribute('command') === 'close') dialog?.close();
}

function onClick(event) {
  if (!('command' in HTMLButtonElement.prototype)) runButtonCommand(event.target.closest('button[commandfor]'));
  const copier = event.target.closest('[data-copy]');
  if (copier) {
    const done = navigator.clipboard?.writeText(copier.dataset.copy) ?? Promise.reject(new Error('no clipboard'));
    done.then(() => toast('Copied.'), () => toast('This browser does not allow copying here. Select the text instead.'));
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
  if (!singleKeys()) return;
  const target = event.key.toLowerCase();
  const part = [...document.querySelectorAll('[data-key]')].find((p) => p.dataset.key.toLowerCase() === target && !p.disabled);
  if (!part) return;
  event.preventDefault();
  if (part.tabIndex >= 0) part.focus();
  part.click();
}

document.addEventListener('click', onClick);
document.addEventListener('keydown', onKey);
setValues();
submitNow();
showCurrent();
watchStages();
