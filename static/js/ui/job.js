/**
 * Follows running jobs: every element with data-job-url is a card whose <progress>, [data-job-state], [data-job-count]
 * and [data-job-note] are updated every two seconds; the page is reloaded when all jobs have ended, unless it is being left.
 *
 * A card with data-job-log (the id of the last line on the page) also gets the new lines of the log, for [data-log],
 * and the progress of each step, for the rows with data-part.
 */
export const POLL_MS = 2000;
export const RETRY_MS = 10000;
export const LEAVING_MS = 10000;
const WORDS = {
  queued: 'Queued',
  running: 'Running',
  waiting: 'Waiting for its steps',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
// Texts before there is anything to count, as in hits/templatetags/jobs.py.
const PHASES = { queued: 'Waiting for a worker process', running: 'Loading models and data' };

/** @returns {string} the text beside a progress bar, such as "310 of 1000, 3.1 a second, 4 min left" */
export function progressText(job) {
  return job.total > 0 ? [`${job.done} of ${job.total}`, job.speed].filter(Boolean).join(', ') : (PHASES[job.state] ?? '');
}

/** @returns {string} the label of a state; an unknown state itself */
export const stateLabel = (state) => WORDS[state] ?? state;

/** @returns {string} the URL of the next request; `after` is the id of the last line of the log, undefined without a log */
export const address = (url, after) => (after === undefined ? url : `${url}?after=${after}`);

async function fetched(url) {
  const reply = await fetch(url, { headers: { Accept: 'application/json' } });
  if (!reply.ok) throw new Error(`answer ${reply.status}`);
  return reply.json();
}

/** Shows state and progress of a job in its card, or of a step in its row. */
export function show(place, job) {
  const bar = place.querySelector('progress');
  if (job.total > 0) {
    bar.max = job.total;
    bar.value = job.done;
  } else if (!job.over) {
    bar.removeAttribute('value'); // nothing counted yet: say "under way", not "0 of 1"
  }
  const count = place.querySelector('[data-job-count]');
  if (count) count.textContent = progressText(job);
  const state = place.querySelector('[data-job-state] .badge');
  if (state?.lastChild) state.lastChild.textContent = stateLabel(job.state);
  if (job.over) place.querySelector('[data-job-cancel]')?.remove();
}

/** Adds lines to the log, and scrolls to its end if it was scrolled there before. */
export function addLines(box, lines) {
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
  const list = box.querySelector('ol');
  for (const line of lines) {
    const item = document.createElement('li');
    const time = document.createElement('time');
    time.dateTime = line.at;
    time.textContent = line.when;
    item.append(time, ` ${line.text}`);
    list.append(item);
  }
  if (atEnd) box.scrollTop = box.scrollHeight;
}

function showDetails(card, job) {
  const box = document.querySelector('[data-log]');
  if (job.lines?.length) {
    addLines(box, job.lines);
    document.querySelector('[data-log-empty]')?.remove();
    card.dataset.jobLog = job.lines.at(-1).id;
  }
  const rows = new Map([...document.querySelectorAll('[data-part]')].map((row) => [row.dataset.part, row]));
  if (job.parts?.length && !rows.size) window.location.reload(); // it was split into steps after the page was made
  for (const part of job.parts ?? []) {
    const row = rows.get(String(part.id));
    if (row) show(row, part);
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Updates one card until its job has ended. `look` fetches a URL, and `wait` sleeps for some ms. */
export function follow(card, { look = fetched, wait = pause } = {}) {
  const note = card.querySelector('[data-job-note]');
  async function step() {
    try {
      const job = await look(address(card.dataset.jobUrl, card.dataset.jobLog));
      note.textContent = '';
      show(card, job);
      if (card.dataset.jobLog !== undefined) showDetails(card, job);
      return job.over ? null : POLL_MS;
    } catch {
      note.textContent = 'The server does not answer at the moment. The work goes on without this page.';
      return RETRY_MS;
    }
  }
  return (async () => {
    for (let ms = await step(); ms !== null; ms = await step()) await wait(ms);
  })();
}

/**
 * Calls `reload`, but not within LEAVING_MS of the last time that somebody followed a link: a reload would stop the page
 * or the download that they are waiting for. `left` returns that time in ms; `now` and `wait` are those of `follow`.
 */
export async function reloadWhenStill(reload, left, { now = Date.now, wait = pause } = {}) {
  for (let rest = left() + LEAVING_MS - now(); rest > 0; rest = left() + LEAVING_MS - now()) await wait(rest);
  reload();
}

function start() {
  let left = -Infinity;
  window.addEventListener('beforeunload', () => { left = Date.now(); });
  const reload = () => reloadWhenStill(() => window.location.reload(), () => left);
  const box = document.querySelector('[data-log]');
  if (box) box.scrollTop = box.scrollHeight;
  const cards = [...document.querySelectorAll('[data-job-url]')];
  if (cards.length) Promise.all(cards.map((card) => follow(card))).then(reload);
}

if (typeof document !== 'undefined') start();
