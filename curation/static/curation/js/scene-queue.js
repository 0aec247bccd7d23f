/**
 * The filter queue of scenes. Without this script every verdict is a form that loads the page anew, and the reasons are
 * asked on the scene's own page. With it:
 * - J and the arrow keys move between scenes; K keeps, D drops, R revises, U takes back, T opens the similar scene;
 * - a dialog asks for the reasons, each with a letter; Enter stores, also in the note;
 * - the server's reply replaces the scene's card and the summary, and the next scene that waits gets the focus.
 * A verdict on a card that somebody has changed since is refused; the card then shows the newest state.
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { singleKeys } from '../../js/ui/keys.js';
import { toast } from '../../js/ui/toast.js';

const queue = document.querySelector('[data-scene-queue]');
const dialog = document.querySelector('#reasons');
const reasons = dialog?.querySelector('[data-reasons]');
const decided = []; // numbers of scenes that got a verdict here, newest last
let asking = null; // {card, verdict} while the dialog is open

const cards = () => [...queue.querySelectorAll('[data-scene]')];
const cardOf = (number) => queue.querySelector(`[data-scene="${number}"]`);
const act = (card, name) => card?.querySelector(`[data-act="${name}"]`);

/** @returns {HTMLElement} the card with the focus, or the first one */
function current() {
  return document.activeElement?.closest?.('[data-scene]') ?? cards()[0];
}

function focusCard(card) {
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: 'nearest' });
}

function move(step) {
  const all = cards();
  const inQueue = document.activeElement?.closest?.('[data-scene]');
  focusCard(inQueue ? all[all.indexOf(inQueue) + step] ?? inQueue : all[0]);
}

function parse(html) {
  return new DOMParser().parseFromString(html, 'text/html').body.firstElementChild;
}

/** Replaces the parts that changed. */
function show(number, { card, summary, count }) {
  const fresh = document.adoptNode(parse(card));
  cardOf(number).replaceWith(fresh);
  const old = document.querySelector('#scene-summary');
  const newer = document.adoptNode(parse(summary));
  newer.querySelector('.quotas').open = old.querySelector('.quotas').open;
  old.replaceWith(newer);
  document.querySelector('[data-scene-count]').textContent = count;
  return fresh;
}

/** Sends a verdict with the fields of the card's form. `more` are further [name, value] pairs. */
async function send(card, verdict, more = []) {
  const form = card.querySelector('form');
  if (!form || card.dataset.busy) return;
  card.dataset.busy = 'yes';
  const number = card.dataset.scene;
  const body = new FormData(form);
  body.set('verdict', verdict);
  body.set('query', window.location.search);
  for (const [name, value] of more) body.append(name, value);
  try {
    const reply = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'application/json' } });
    const answer = await reply.json();
    const fresh = show(number, answer);
    if (reply.ok) after(fresh, verdict, answer);
    else {
      focusCard(fresh);
      toast(answer.message);
    }
  } catch {
    delete card.dataset.busy;
    toast('Not stored: the server did not answer as expected. Reload the page and try again.');
  }
}

/** Moves on after a verdict, and offers to take it back. */
function after(card, verdict, { message }) {
  const number = card.dataset.scene;
  if (verdict === 'undone') {
    focusCard(card);
    toast(message);
    return;
  }
  decided.push(number);
  const all = cards();
  const following = all.slice(all.indexOf(card) + 1);
  focusCard(following.find((other) => !act(other, 'undo') && act(other, 'keep')) ?? following[0] ?? card);
  toast(message, () => undo(cardOf(number)));
}

function undo(card) {
  if (act(card, 'undo')) send(card, 'undone');
}

/** Takes back the last verdict of this page, or else that on the current scene. */
function undoLast() {
  let card = cardOf(decided.pop());
  while (!act(card, 'undo') && decided.length) card = cardOf(decided.pop());
  undo(act(card, 'undo') ? card : current());
}

/** Asks for the reasons of a verdict. */
function ask(card, verdict) {
  asking = { card, verdict };
  reasons.reset();
  dialog.querySelector('#reasons-title').textContent = `Why ${verdict} scene ${card.dataset.scene}?`;
  dialog.querySelector('[data-reasons-store]').textContent = verdict === 'drop' ? 'Drop' : 'Revise';
  dialog.querySelector('[data-reasons-error]').hidden = true;
  const twin = act(card, 'drop')?.dataset.repeats;
  dialog.querySelector('[data-repeats]').hidden = !twin;
  dialog.querySelector('[data-repeats-number]').textContent = twin ?? '';
  reasons.elements.twin.value = twin ?? '';
  dialog.showModal();
  reasons.querySelector('input').focus();
}

/** Sends the verdict that the dialog asked about, or shows what is missing. */
function answer(event) {
  const chosen = [...reasons.querySelectorAll('[name="reasons"]:checked')].map((box) => ['reasons', box.value]);
  if (!chosen.length) {
    event.preventDefault();
    dialog.querySelector('[data-reasons-error]').hidden = false;
    reasons.querySelector('input').focus();
    return;
  }
  const more = [...chosen, ['note', reasons.elements.note.value]];
  if (reasons.elements.twin.checked) more.push(['twin', reasons.elements.twin.value]);
  const { card, verdict } = asking;
  send(card, verdict, more);
}

function onReasonKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || (isTyping(event.target) && event.target.type !== 'checkbox')) return;
  if (event.key === 'Enter' && event.target.type === 'checkbox') {
    event.preventDefault();
    reasons.requestSubmit(dialog.querySelector('[data-reasons-store]'));
    return;
  }
  if (!singleKeys()) return;
  const box = reasons.querySelector(`[data-reason-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!box) return;
  event.preventDefault();
  box.checked = !box.checked;
  box.focus();
  if (box.value === 'uniqueness' && !dialog.querySelector('[data-repeats]').hidden) reasons.elements.twin.checked = box.checked;
}

const KEYS = {
  j: () => move(1),
  arrowdown: () => move(1),
  arrowup: () => move(-1),
  k: () => act(current(), 'keep')?.click(),
  d: () => act(current(), 'drop')?.click(),
  r: () => act(current(), 'revise')?.click(),
  u: undoLast,
  t: () => {
    const twin = current()?.querySelector('[data-twin]');
    if (twin) twin.open = !twin.open;
  },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (!singleKeys() || document.querySelector('dialog[open]')) return;
  const run = KEYS[event.key.toLowerCase()];
  if (!run) return;
  event.preventDefault();
  run();
}

function onClick(event) {
  const button = event.target.closest('[data-act]');
  if (!button) return;
  const card = button.closest('[data-scene]');
  event.preventDefault();
  if (button.dataset.act === 'drop' || button.dataset.act === 'revise') ask(card, button.dataset.act);
  else if (button.dataset.act === 'undo') undo(card);
  else send(card, 'keep');
}

/** Keeps the quotas closed on this device once somebody closed them. */
function rememberQuotas() {
  const NAME = 'deerstalker-quotas';
  const quotas = () => document.querySelector('.quotas');
  try {
    if (localStorage.getItem(NAME) === 'closed') quotas().open = false;
    document.addEventListener('toggle', (event) => {
      if (event.target === quotas()) localStorage.setItem(NAME, event.target.open ? 'open' : 'closed');
    }, { capture: true });
  } catch { /* storage is forbidden: they open on every page */ }
}

if (document.querySelector('.quotas')) rememberQuotas();
if (queue) {
  queue.addEventListener('click', onClick);
  document.addEventListener('keydown', onKey);
  reasons.addEventListener('submit', answer);
  reasons.addEventListener('keydown', onReasonKey);
  // no submit button, so that Enter in the note stores the verdict
  dialog.querySelector('[data-reasons-cancel]').addEventListener('click', () => dialog.close());
}
