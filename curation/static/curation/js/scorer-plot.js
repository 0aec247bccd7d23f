/**
 * Follows a training's plots: the element with data-follow (an address) gets the server's drawing anew every few
 * seconds, while the training runs and somebody can see the page. Without script the plots stay as they were drawn.
 */
export const EVERY = 3000;
export const SLOW = 15000;
const AWAY = 'The server does not answer at the moment. The training goes on without this page.';

async function fetched(url) {
  const reply = await fetch(url, { headers: { Accept: 'text/html' } });
  if (!reply.ok) throw new Error(`answer ${reply.status}`);
  return reply.text();
}

/** Waits so long, and then until the page can be seen. */
export async function pause(ms, page = document) {
  await new Promise((done) => setTimeout(done, ms));
  while (page.hidden) {
    await new Promise((done) => page.addEventListener('visibilitychange', done, { once: true }));
  }
}

/** @returns {boolean} whether what is drawn is of a training that goes on */
export const isRunning = (place) => place.querySelector('[data-training]')?.dataset.training === 'running';

/** Puts a new drawing in place of the old one; lists that somebody opened or closed stay so. */
export function draw(place, html) {
  const open = [...place.querySelectorAll('details')].map((one) => one.open);
  place.innerHTML = html;
  [...place.querySelectorAll('details')].forEach((one, number) => {
    if (number < open.length) one.open = open[number];
  });
}

/** Follows one training until it is over. `look` and `wait` are the network and the clock. */
export async function follow(place, note, { look = fetched, wait = pause } = {}) {
  let rest = EVERY;
  while (isRunning(place)) {
    await wait(rest);
    try {
      draw(place, await look(place.dataset.follow));
      note.textContent = '';
      rest = EVERY;
    } catch {
      note.textContent = AWAY;
      rest = SLOW;
    }
  }
}

function start() {
  const place = document.querySelector('[data-follow]');
  const note = document.querySelector('[data-follow-note]');
  if (place && note) follow(place, note);
}

if (typeof document !== 'undefined') start();
