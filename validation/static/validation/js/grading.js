/**
 * The grading desk: pairs are at hand before they are asked for, so a key turns the page at once; grades follow
 * several to a request. Without this script each grade is a form of its own. Keys are data-key buttons (ui/staff.js),
 * besides N (note) and Z (take back).
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { element, setText } from '../../js/ui/dom.js';
import { singleKeys } from '../../js/ui/keys.js';
import { toast } from '../../js/ui/toast.js';
import { FULL, GradeQueue, PAUSE } from './grading-queue.js';

const AHEAD = 10; // fewer pairs than this at hand: more are fetched
const RETRY = 10000;
const data = JSON.parse(document.getElementById('grading-data').textContent);
const root = document.querySelector('[data-grading]');
const part = (name) => root.querySelector(`[data-text="${name}"]`);
const photo = root.querySelector('[data-photo]');
const note = root.querySelector('#note');
const undo = root.querySelector('[data-undo]');
const token = root.querySelector('[name=csrfmiddlewaretoken]').value;

/** The sitting: every pair that was shown or is to come, in order. */
const cards = data.cards.map(fromServer);
const known = new Set(cards.map((card) => card.key));
const history = []; // keys in the order in which they were graded
let at = 0;
let toGrade = data.waiting; // how many waited when they were last counted, those graded here since left out
let timer = null;
let sending = false;
let exhausted = false;
const queue = new GradeQueue(localStorageOrNull(), data.name);

/** `kept` says whether the server holds a grade of ours, which runs behind `mine`. */
function fromServer(card) {
  return { ...card, kept: card.mine !== null };
}

function localStorageOrNull() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/** Shows the present pair. */
function show() {
  const card = cards[at];
  const done = card === undefined;
  root.hidden = done;
  document.querySelector('[data-done]').hidden = !done;
  showPlace(card);
  if (done) return;
  setText(part('where'), `${card.worker}, photo ${card.photo} of ${card.photos}, pair ${card.number}`);
  for (const name of ['description', 'clue', 'inference', 'confidence']) setText(part(name), card[name]);
  showPhoto(card.image);
  note.value = card.mine?.note ?? '';
  for (const form of root.querySelectorAll('form[data-grade]')) {
    form.querySelector('[name=key]').value = card.key;
    const pressed = card.mine !== null && card.mine.reasonable === (form.dataset.grade === 'yes');
    form.querySelector('[aria-pressed]')?.setAttribute('aria-pressed', String(pressed));
  }
  root.querySelector('#back').hidden = card.mine === null;
  root.querySelector('[data-others]').replaceChildren(...card.others.map(said));
}

function said(other) {
  const words = `${other.name}: ${other.reasonable ? 'reasonable' : 'not reasonable'}`;
  return element('p', { class: 'small', text: other.note ? `${words} – “${other.note}”` : words });
}

function showPlace(card) {
  const place = document.querySelector('[data-place]');
  const left = cards.slice(0, at).filter((other) => other.waits).length;
  const all = toGrade + cards.filter((other) => other.waits && other.mine !== null).length;
  if (card === undefined) setText(place, 'Nothing waits for you');
  else if (card.waits) setText(place, `Pair ${left + 1} of ${Math.max(all, left + 1)} waiting`);
  else setText(place, card.mine ? 'Graded already' : 'Has its grades');
}

function showPhoto(image) {
  if (photo.getAttribute('src') !== image.url) {
    photo.src = image.url;
    photo.alt = image.alt;
    photo.width = image.width;
    photo.height = image.height;
    root.querySelector('[data-full]').href = image.url;
  }
  const coming = cards.slice(at, at + 12).find((card) => card.image.url !== image.url);
  if (coming) new Image().src = coming.image.url;
}

function go(step) {
  at = Math.min(Math.max(at + step, 0), cards.length);
  show();
  if (cards.length - at < AHEAD && !exhausted) send();
}

/** Grades the present pair and turns the page. */
function give(grade) {
  const card = cards[at];
  if (card === undefined) return;
  const words = grade === 'no' ? note.value.trim() : '';
  if (card.mine === null && card.waits) toGrade -= 1;
  card.mine = { reasonable: grade === 'yes', note: words };
  history.push(card.key);
  queue.add({ key: card.key, grade, note: words });
  later();
  if (document.activeElement === note) note.blur();
  go(1);
}

/** Takes one's grade of a pair back: one that is still here never leaves, one that has left is withdrawn. */
function takeBack(card) {
  if (card.mine === null) return;
  const fresh = queue.holds(card.key) && !card.kept;
  if (fresh && !sending) queue.drop(card.key);
  else queue.add({ key: card.key, grade: 'back', note: '' });
  card.mine = null;
  card.others = [];
  if (card.waits) toGrade += 1;
  later();
}

function undoLast() {
  const key = history.pop();
  const place = cards.findIndex((card) => card.key === key);
  if (place < 0) return;
  takeBack(cards[place]);
  at = place;
  show();
}

/** Sends when enough is waiting, or when the grader pauses. */
function later() {
  undo.hidden = history.length === 0;
  clearTimeout(timer);
  sayState();
  if (queue.length >= FULL) send();
  else timer = setTimeout(send, PAUSE);
}

function sayState(trouble = false) {
  const count = queue.length;
  const saved = root.querySelector('[data-saved]');
  if (!count) setText(saved, 'All grades are saved.');
  else if (trouble) setText(saved, `Not saved yet, kept on this device: ${count} grade${count > 1 ? 's' : ''}. Trying again.`);
}

async function send() {
  if (sending) return; // whoever sends looks again at the end
  clearTimeout(timer);
  sending = true;
  let wait = PAUSE;
  const sent = queue.next;
  try {
    const reply = await fetch(data.url, {
      method: 'POST',
      keepalive: true,
      headers: { 'Content-Type': 'application/json', 'X-CSRFToken': token },
      body: JSON.stringify({ grades: sent, after: cards.at(-1)?.key ?? '' }),
    });
    if (!reply.ok) throw new Error(`answer ${reply.status}`);
    received(await reply.json(), sent);
  } catch {
    sayState(true);
    wait = RETRY;
  }
  sending = false;
  if (queue.length) timer = setTimeout(send, wait === PAUSE && queue.length >= FULL ? 0 : wait);
}

function received(reply, sent) {
  queue.arrived(sent);
  for (const grade of sent) {
    const card = cards.find((one) => one.key === grade.key);
    if (card) card.kept = grade.grade !== 'back';
  }
  for (const refused of reply.refused) forget(refused);
  const more = reply.cards.filter((card) => !known.has(card.key));
  exhausted = more.length === 0;
  toGrade = reply.waiting;
  for (const card of more) {
    known.add(card.key);
    cards.push(fromServer(card));
  }
  // What is still on its way counts over there as it was before.
  for (const card of cards) {
    if (card.waits && queue.holds(card.key)) toGrade += Number(card.kept) - Number(card.mine !== null);
  }
  sayState();
  if (root.hidden && cards[at] !== undefined) show();
  else showPlace(cards[at]);
}

function forget(refused) {
  const card = cards.find((one) => one.key === refused.key);
  if (card) {
    card.mine = null;
    card.kept = false;
  }
  toast(`Not kept: ${refused.message}.`);
}

for (const form of root.querySelectorAll('form[data-grade]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.dataset.grade !== 'back') {
      give(form.dataset.grade);
      return;
    }
    const card = cards[at];
    takeBack(card);
    history.splice(history.lastIndexOf(card.key) >>> 0, 1);
    undo.hidden = history.length === 0;
    show();
  });
}
for (const link of root.querySelectorAll('[data-go]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    go(Number(link.dataset.go));
  });
}
undo.addEventListener('click', (event) => {
  if (history.length === 0) return; // a link to the pair before, from a page that was opened without this script
  event.preventDefault();
  undoLast();
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && document.activeElement === note) note.blur();
  if (isTyping(event.target) || !singleKeys() || event.key.toLowerCase() !== 'n' || root.hidden) return;
  event.preventDefault();
  note.focus();
});
window.addEventListener('pagehide', () => {
  if (queue.length) send();
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden' && queue.length) send();
});

// What an earlier page could not send goes first; its pairs are not asked for again.
for (const grade of queue.next) {
  const card = cards.find((one) => one.key === grade.key);
  if (card && grade.grade !== 'back') {
    if (card.waits && card.mine === null) toGrade -= 1;
    card.mine = { reasonable: grade.grade === 'yes', note: grade.note };
  }
}
if (queue.length) send();
show();
