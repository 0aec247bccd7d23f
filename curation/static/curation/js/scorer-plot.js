/**
 * Updates the plots of a training run: every few seconds, the element with data-follow (a URL) gets new plots from the
 * server, while training runs and the page is visible. Without this script the plots do not change.
 */
export const INTERVAL_MS = 3000;
export const RETRY_MS = 15000;
const OFFLINE_MESSAGE = 'The server does not answer at the moment. Training continues without this page.';

async function loadHtml(url) {
  const reply = await fetch(url, { headers: { Accept: 'text/html' } });
  if (!reply.ok) throw new Error(`answer ${reply.status}`);
  return reply.text();
}

/** Waits for some milliseconds, and then until the page is visible. */
export async function pause(ms, page = document) {
  await new Promise((done) => setTimeout(done, ms));
  while (page.hidden) {
    await new Promise((done) => page.addEventListener('visibilitychange', done, { once: true }));
  }
}

/** @returns {boolean} whether the container shows a training run that is not finished */
export const isRunning = (container) => container.querySelector('[data-training]')?.dataset.training === 'running';

/** Replaces the plots; lists that somebody opened or closed keep their state. */
export function draw(container, html) {
  const open = [...container.querySelectorAll('details')].map((list) => list.open);
  container.innerHTML = html;
  [...container.querySelectorAll('details')].forEach((list, index) => {
    if (index < open.length) list.open = open[index];
  });
}

/** Updates the plots until training is finished. Tests replace `load` and `wait`. */
export async function follow(container, note, { load = loadHtml, wait = pause } = {}) {
  let delay = INTERVAL_MS;
  while (isRunning(container)) {
    await wait(delay);
    try {
      draw(container, await load(container.dataset.follow));
      note.textContent = '';
      delay = INTERVAL_MS;
    } catch {
      note.textContent = OFFLINE_MESSAGE;
      delay = RETRY_MS;
    }
  }
}

function start() {
  const container = document.querySelector('[data-follow]');
  const note = document.querySelector('[data-follow-note]');
  if (container && note) follow(container, note);
}

if (typeof document !== 'undefined') start();
