/**
 * The grading page: pairs are prefetched, so that a key shows the next one immediately; grades are sent several per
 * request. Without this script each grade is a form. Keys are data-key buttons (ui/staff.js), besides N (note) and
 * Z (undo).
 */
import { isTyping } from '../../js/boxes/keyboard.js';
import { element, setText } from '../../js/ui/dom.js';
import { singleKeys } from '../../js/ui/keys.js';
import { toast } from '../../js/ui/toast.js';
import { BATCH_SIZE, GradeQueue, PAUSE_MS } from './grading-queue.js';
import { MarkedPhoto } from './marked-photo.js';

const MIN_PREFETCHED = 10; // with fewer pairs left, more are fetched
const RETRY_MS = 10000;
const data = JSON.parse(document.getElementById('grading-data').textContent);
const root = document.querySelector('[data-grading]');
const textNode = (name) => root.querySelector(`[data-text="${name}"]`);
const photo = root.querySelector('[data-photo]');
const markedPlace = root.querySelector('[data-marked]');
const marked = markedPlace ? new MarkedPhoto(markedPlace) : null;
const note = root.querySelector('#note');
const undo = root.querySelector('[data-undo]');
const token = root.querySelector('[name=csrfmiddlewaretoken]').value;

/** All pairs of this session, shown or prefetched, in order. */
const cards = data.cards.map(fromServer);
const known = new Set(cards.map((card) => card.key));
const history = []; // keys in the order in which they were graded
let index = 0;
let toGrade = data.waiting; // the last count of waiting pairs, minus those graded here since
let timer = null;
let sending = false;
let exhausted = false;
const queue = new GradeQueue(localStorageOrNull(), data.name);

/** `isOnServer`: whether the server has our grade; it follows `mine` with a delay. */
function fromServer(card) {
  return { ...card, isOnServer: card.mine !== null };
}

function localStorageOrNull() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/** Shows the current pair. */
function show() {
  const card = cards[index];
  const done = card === undefined;
  root.hidden = done;
  document.querySelector('[data-done]').hidden = !done;
  showPosition(card);
  if (done) return;
  setText(textNode('where'), `${card.worker}, photo ${card.photo} of ${card.photos}, ${data.item} ${card.number}`);
  for (const node of root.querySelectorAll('[data-text]')) if (node.dataset.text !== 'where') setText(node, card[node.dataset.text]);
  showPhoto(card);
  note.value = card.mine?.note ?? '';
  for (const form of root.querySelectorAll('form[data-grade]')) {
    form.querySelector('[name=key]').value = card.key;
    const pressed = card.mine !== null && card.mine.reasonable === (form.dataset.grade === 'yes');
    form.querySelector('[aria-pressed]')?.setAttribute('aria-pressed', String(pressed));
  }
  root.querySelector('#back').hidden = card.mine === null;
  root.querySelector('[data-others]').replaceChildren(...card.others.map(otherGrade));
}

function otherGrade(other) {
  const text = `${other.name}: ${other.reasonable ? 'reasonable' : 'not reasonable'}`;
  return element('p', { class: 'small', text: other.note ? `${text} – “${other.note}”` : text });
}

function showPosition(card) {
  const position = document.querySelector('[data-position]');
  const left = cards.slice(0, index).filter((other) => other.waits).length;
  const all = toGrade + cards.filter((other) => other.waits && other.mine !== null).length;
  if (card === undefined) setText(position, `No ${data.items} wait for your grade`);
  else if (card.waits) setText(position, `${capital(data.item)} ${left + 1} of ${Math.max(all, left + 1)} waiting`);
  else setText(position, card.mine ? 'Already graded' : 'Grading complete');
}

const capital = (word) => word[0].toUpperCase() + word.slice(1);

function showPhoto({ image, marks }) {
  if (marked) marked.show(image, marks);
  else if (photo.getAttribute('src') !== image.url) {
    photo.src = image.url;
    photo.alt = image.alt;
    photo.width = image.width;
    photo.height = image.height;
    root.querySelector('[data-full]').href = image.url;
  }
  const next = cards.slice(index, index + 12).find((card) => card.image.url !== image.url);
  if (next) new Image().src = next.image.url;
}

function move(step) {
  index = Math.min(Math.max(index + step, 0), cards.length);
  show();
  if (cards.length - index < MIN_PREFETCHED && !exhausted) send();
}

/** Grades the current pair and shows the next one. */
function gradePair(grade) {
  const card = cards[index];
  if (card === undefined) return;
  const text = grade === 'no' ? note.value.trim() : '';
  if (card.mine === null && card.waits) toGrade -= 1;
  card.mine = { reasonable: grade === 'yes', note: text };
  history.push(card.key);
  queue.add({ key: card.key, grade, note: text });
  scheduleSend();
  if (document.activeElement === note) note.blur();
  move(1);
}

/** Withdraws our grade of a pair; a grade that is not sent yet is only removed from the queue. */
function withdraw(card) {
  if (card.mine === null) return;
  const isUnsent = queue.has(card.key) && !card.isOnServer;
  if (isUnsent && !sending) queue.remove(card.key);
  else queue.add({ key: card.key, grade: 'back', note: '' });
  card.mine = null;
  card.others = [];
  if (card.waits) toGrade += 1;
  scheduleSend();
}

function undoLast() {
  const key = history.pop();
  const found = cards.findIndex((card) => card.key === key);
  if (found < 0) return;
  withdraw(cards[found]);
  index = found;
  show();
}

/** Sends a full batch, or fewer grades when the grader pauses. */
function scheduleSend() {
  undo.hidden = history.length === 0;
  clearTimeout(timer);
  showSaveState();
  if (queue.length >= BATCH_SIZE) send();
  else timer = setTimeout(send, PAUSE_MS);
}

function showSaveState(hasFailed = false) {
  const count = queue.length;
  const saved = root.querySelector('[data-saved]');
  if (!count) setText(saved, 'All grades are saved.');
  else if (hasFailed) setText(saved, `Not saved yet, stored on this device: ${count} grade${count > 1 ? 's' : ''}. Retrying.`);
}

async function send() {
  if (sending) return; // the running request schedules the next one
  clearTimeout(timer);
  sending = true;
  let wait = PAUSE_MS;
  const sent = queue.next;
  try {
    const reply = await fetch(data.url, {
      method: 'POST',
      keepalive: true,
      headers: { 'Content-Type': 'application/json', 'X-CSRFToken': token },
      body: JSON.stringify({ grades: sent, after: cards.at(-1)?.key ?? '' }),
    });
    if (!reply.ok) throw new Error(`answer ${reply.status}`);
    handleReply(await reply.json(), sent);
  } catch {
    showSaveState(true);
    wait = RETRY_MS;
  }
  sending = false;
  if (queue.length) timer = setTimeout(send, wait === PAUSE_MS && queue.length >= BATCH_SIZE ? 0 : wait);
}

function handleReply(reply, sent) {
  queue.removeSent(sent);
  for (const grade of sent) {
    const card = cards.find((other) => other.key === grade.key);
    if (card) card.isOnServer = grade.grade !== 'back';
  }
  for (const refused of reply.refused) handleRefused(refused);
  const more = reply.cards.filter((card) => !known.has(card.key));
  exhausted = more.length === 0;
  toGrade = reply.waiting;
  for (const card of more) {
    known.add(card.key);
    cards.push(fromServer(card));
  }
  // The server's count does not include the grades in the queue yet.
  for (const card of cards) {
    if (card.waits && queue.has(card.key)) toGrade += Number(card.isOnServer) - Number(card.mine !== null);
  }
  showSaveState();
  if (root.hidden && cards[index] !== undefined) show();
  else showPosition(cards[index]);
}

function handleRefused(refused) {
  const card = cards.find((other) => other.key === refused.key);
  if (card) {
    card.mine = null;
    card.isOnServer = false;
  }
  toast(`Not saved: ${refused.message}.`);
}

for (const form of root.querySelectorAll('form[data-grade]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.dataset.grade !== 'back') {
      gradePair(form.dataset.grade);
      return;
    }
    const card = cards[index];
    withdraw(card);
    history.splice(history.lastIndexOf(card.key) >>> 0, 1);
    undo.hidden = history.length === 0;
    show();
  });
}
for (const link of root.querySelectorAll('[data-go]')) {
  link.addEventListener('click', (event) => {
    event.preventDefault();
    move(Number(link.dataset.go));
  });
}
undo.addEventListener('click', (event) => {
  if (history.length === 0) return; // a link to the previous pair, from a page that was opened without this script
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

// Send the grades that an earlier page could not send; their pairs are already graded.
for (const grade of queue.next) {
  const card = cards.find((other) => other.key === grade.key);
  if (card && grade.grade !== 'back') {
    if (card.waits && card.mine === null) toGrade -= 1;
    card.mine = { reasonable: grade.grade === 'yes', note: grade.note };
  }
}
if (queue.length) send();
show();
