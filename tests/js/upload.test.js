import test from 'node:test';
import assert from 'node:assert/strict';
import { countWords, rowOf, sendPhoto, UploadQueue } from '../../static/js/ui/upload.js';

const files = (count) => Array.from({ length: count }, (_, n) => ({ name: `${n}.jpg` }));

test('a queue sends every file once, two at a time, and counts what came of each', async () => {
  let running = 0, most = 0;
  const sent = [];
  const queue = new UploadQueue(async (file) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running -= 1;
    sent.push(file.name);
    return file.name === '3.jpg' ? { state: 'refused', error: '3.jpg: is broken' } : { state: sent.length % 2 ? 'added' : 'known' };
  });
  await queue.add(files(9));
  assert.equal(most, 2);
  assert.deepEqual([...sent].sort(), files(9).map((file) => file.name).sort());
  assert.equal(queue.done, 9);
  assert.equal(queue.over, true);
  assert.match(countWords(queue), /^9 of 9 photos: .*1 refused$/);
  assert.deepEqual([...queue.problems.values()].map(({ error }) => error), ['3.jpg: is broken']);
});

test('what did not arrive is sent again on retry, and what was refused is not', async () => {
  let up = false;
  const asked = [];
  const queue = new UploadQueue(async (file) => {
    asked.push(file.name);
    if (file.name === '0.jpg') return { state: 'refused', error: 'broken' };
    if (!up) throw new Error('offline');
    return { state: 'added' };
  });
  await queue.add(files(3));
  assert.deepEqual(queue.counts, { added: 0, known: 0, refused: 1, failed: 2 });
  up = true;
  await queue.retry();
  assert.deepEqual(queue.counts, { added: 2, known: 0, refused: 1, failed: 0 });
  assert.equal(asked.filter((name) => name === '0.jpg').length, 1);
  assert.equal(queue.total, 3);
});

test('after a cancel nothing more is sent, and the rest is no part of the total', async () => {
  const sent = [];
  const queue = new UploadQueue(async (file) => {
    sent.push(file.name);
    if (sent.length === 2) queue.cancel();
    return { state: 'added' };
  }, { atOnce: 1 });
  await queue.add(files(10));
  assert.equal(sent.length, 2);
  assert.equal(countWords(queue), '2 of 2 photos: 2 added');
  assert.equal(queue.over, true);
});

test('rowOf finds a manifest row by the path below the folder, else by the name', () => {
  const rows = { 'sub/a.jpg': { credit: 'Ann' }, 'a.jpg': { credit: 'Bob' } };
  assert.equal(rowOf(rows, { name: 'a.jpg', webkitRelativePath: 'photos/sub/a.jpg' }).credit, 'Ann');
  assert.equal(rowOf(rows, { name: 'a.jpg' }).credit, 'Bob');
  assert.deepEqual(rowOf(rows, { name: 'b.jpg' }), {});
});

test('sendPhoto tells a refusal from an outage', async () => {
  const reply = (status, body) => ({ ok: status < 300, status, json: async () => body });
  const send = (status, body) => sendPhoto(new File(['x'], 'a.jpg'), { credit: 'Ann' }, { address: '/add', token: 't', post: async () => reply(status, body) });
  assert.deepEqual(await send(201, { new: true }), { state: 'added' });
  assert.deepEqual(await send(200, { new: false }), { state: 'known' });
  assert.deepEqual(await send(422, { error: 'a.jpg: is broken' }), { state: 'refused', error: 'a.jpg: is broken' });
  assert.deepEqual(await send(507, { error: 'full' }), { state: 'failed', error: 'full' });
  assert.equal((await send(502, null)).state, 'failed');
});
