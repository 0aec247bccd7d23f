import test from 'node:test';
import assert from 'node:assert/strict';
import { address, follow, LEAVING_MS, POLL_MS, progressText, reloadWhenStill, RETRY_MS, show, stateLabel } from '../../static/js/ui/job.js';

/** A card as far as the script looks at it. */
function card(dataset = { jobUrl: '/api/jobs/7/' }) {
  const removed = [];
  const parts = {
    progress: { max: 1, value: 0, removeAttribute: (name) => removed.push(name) },
    '[data-job-count]': { textContent: '' },
    '[data-job-note]': { textContent: '' },
    '[data-job-state] .badge': { lastChild: { textContent: 'Queued' } },
    '[data-job-cancel]': { remove: () => removed.push('cancel') },
  };
  return { dataset, parts, removed, querySelector: (name) => parts[name] ?? null };
}

const at = (done, more = {}) => ({ state: 'running', done, total: 10, speed: '', over: false, ...more });

test('beside the bar stand counts and speed, and before anything is counted what the job waits for', () => {
  assert.equal(progressText({ done: 310, total: 1000, speed: '3.1 a second, 4 min left' }), '310 of 1000, 3.1 a second, 4 min left');
  assert.equal(progressText({ done: 0, total: 10, speed: '' }), '0 of 10');
  assert.equal(progressText({ done: 0, total: 0, speed: '' }), '');
  assert.equal(progressText({ state: 'queued', done: 0, total: 0, speed: '' }), 'Waiting for a worker process');
  assert.match(progressText({ state: 'running', done: 0, total: 0, speed: '' }), /^Loading/);
});

test('only a page with a log asks for what came after its last line', () => {
  assert.equal(address('/api/jobs/7/', undefined), '/api/jobs/7/');
  assert.equal(address('/api/jobs/7/', '0'), '/api/jobs/7/?after=0');
});

test('a job that waits for its parts says so, and an unknown state keeps its own word', () => {
  assert.equal(stateLabel('waiting'), 'Waiting for its steps');
  assert.equal(stateLabel('resting'), 'resting');
});

test('a card shows bar, counts and state; once over, nothing is left to cancel', () => {
  const one = card();
  show(one, at(4, { state: 'waiting', speed: '2.0 a minute, 3 min left' }));
  assert.equal(one.parts.progress.max, 10);
  assert.equal(one.parts.progress.value, 4);
  assert.equal(one.parts['[data-job-count]'].textContent, '4 of 10, 2.0 a minute, 3 min left');
  assert.equal(one.parts['[data-job-state] .badge'].lastChild.textContent, 'Waiting for its steps');
  assert.deepEqual(one.removed, []);
  show(one, at(10, { state: 'done', over: true }));
  assert.deepEqual(one.removed, ['cancel']);
});

test('before anything is counted the bar says “under way”', () => {
  const one = card();
  show(one, at(0, { total: 0 }));
  assert.deepEqual(one.removed, ['value']);
});

test('a card is followed until its job is over; a silent server is asked less often and the page says so', async () => {
  const one = card();
  const replies = [at(1), null, at(9), at(10, { state: 'done', over: true })];
  const asked = [], pauses = [], notes = [];
  const look = async (url) => {
    asked.push(url);
    const reply = replies.shift();
    if (reply === null) throw new Error('answer 502');
    return reply;
  };
  const wait = async (ms) => { pauses.push(ms); notes.push(one.parts['[data-job-note]'].textContent); };
  await follow(one, { look, wait });
  assert.deepEqual(pauses, [POLL_MS, RETRY_MS, POLL_MS]);
  assert.deepEqual(asked, Array(4).fill('/api/jobs/7/'));
  assert.match(notes[1], /The work goes on without this page/);
  assert.deepEqual([notes[0], notes[2]], ['', '']);
});

test('a page that somebody is leaving is reloaded only when nothing came of it', async () => {
  let time = 50000, reloads = 0;
  const pauses = [];
  const clicks = [time - 4000, time + 3000]; // the second comes while the page waits
  const left = () => clicks[Math.min(pauses.length, 1)];
  const wait = async (ms) => { assert.equal(reloads, 0); pauses.push(ms); time += ms; };
  await reloadWhenStill(() => { reloads += 1; }, left, { now: () => time, wait });
  assert.deepEqual(pauses, [LEAVING_MS - 4000, 7000]);
  assert.equal(reloads, 1);
});

test('a page that nobody leaves is reloaded at once', async () => {
  const reloads = [];
  await reloadWhenStill(() => reloads.push('once'), () => -Infinity, { wait: () => assert.fail('it waited') });
  assert.deepEqual(reloads, ['once']);
});
