import test from 'node:test';
import assert from 'node:assert/strict';
import { ApiError, createApi } from '../../static/js/hit/api.js';
import { canonical, fingerprint, uuid4 } from '../../static/js/hit/canonical.js';
import { safeStorage } from '../../static/js/hit/storage.js';
import { Outbox, marketplaceFields, sendAnswer } from '../../static/js/hit/submit.js';
import { fakeStorage } from './helpers/random.js';

const RECEIPT = { submission_id: 's1', sha256: 'ff', schema_version: 1 };

function makeOutbox(disk = fakeStorage()) {
  let n = 0;
  return new Outbox({ storage: safeStorage(() => disk), assignmentId: 'A1', makeUuid: () => `uuid-${disk.kept.size}-${++n}` });
}

test('equal contents have one text, whatever the order of their keys', () => {
  assert.equal(canonical({ b: [1, { d: 2, c: null }], a: 'x', e: undefined }), '{"a":"x","b":[1,{"c":null,"d":2}]}');
  assert.equal(fingerprint({ a: 1, b: 2 }), fingerprint({ b: 2, a: 1 }));
  assert.notEqual(fingerprint({ a: 1 }), fingerprint({ a: '1' }));
  assert.match(fingerprint({}), /^[0-9a-f]{32}$/);
});

test('uuids are version 4 and differ', () => {
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const made = Array.from({ length: 200 }, () => uuid4());
  for (const uuid of made) assert.match(uuid, form);
  assert.equal(new Set(made).size, 200);
  assert.equal(uuid4((bytes) => bytes.fill(255)), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
});

test('the same content goes under the same uuid and time, also after a reload; other content does not', () => {
  const disk = fakeStorage();
  const first = makeOutbox(disk).sendingFor({ x: 1 }, 12.5);
  const reloaded = makeOutbox(disk);
  assert.deepEqual(reloaded.sendingFor({ x: 1 }, 99), first);
  const other = reloaded.sendingFor({ x: 2 }, 99);
  assert.notEqual(other.client_uuid, first.client_uuid);
  assert.deepEqual(reloaded.sendingFor({ x: 1 }, 200), first, 'back to the first content, back to its uuid');
});

test('another task on the same device has its own uuids', () => {
  const storage = safeStorage(() => fakeStorage());
  let n = 0;
  const make = (assignmentId) => new Outbox({ storage, assignmentId, makeUuid: () => `u${++n}` });
  assert.notEqual(make('A1').sendingFor({ x: 1 }, 1).client_uuid, make('A2').sendingFor({ x: 1 }, 1).client_uuid);
});

test('without storage the draft carries the uuid over', () => {
  const forbidden = () => { throw new Error('SecurityError'); };
  const before = new Outbox({ storage: safeStorage(forbidden), assignmentId: 'A1' });
  const sending = before.sendingFor({ x: 1 }, 3);
  const after = new Outbox({ storage: safeStorage(forbidden), assignmentId: 'A1' });
  assert.equal(after.knows({ x: 1 }), false);
  after.restore(before.latest);
  assert.equal(after.knows({ x: 1 }), true);
  assert.deepEqual(after.sendingFor({ x: 1 }, 50), sending);
  after.restore(null);
  after.restore({});
});

test('a failed sending is repeated under the same uuid', async () => {
  const outbox = makeOutbox();
  const sent = [];
  const api = { submit: async (s) => { sent.push(s); if (sent.length === 1) throw new ApiError('offline', 0); return RECEIPT; } };
  await assert.rejects(sendAnswer(api, outbox, { x: 1 }, 10), { code: 'offline' });
  const done = await sendAnswer(api, outbox, { x: 1 }, 20, { instructions: 7 });
  assert.deepEqual(done.receipt, RECEIPT);
  assert.deepEqual(sent[0], { client_uuid: sent[0].client_uuid, answer: { x: 1 }, active_seconds: 10 });
  assert.deepEqual(sent[1], { ...sent[0], instructions: 7 });
});

test('a uuid that belongs to other content is replaced once', async () => {
  const outbox = makeOutbox();
  const sent = [];
  const api = { submit: async (s) => { sent.push(s.client_uuid); if (sent.length === 1) throw new ApiError('conflict', 409, {}); return RECEIPT; } };
  await sendAnswer(api, outbox, { x: 1 }, 1);
  assert.equal(sent.length, 2);
  assert.notEqual(sent[0], sent[1]);
  const always = { submit: async () => { throw new ApiError('conflict', 409, {}); } };
  await assert.rejects(sendAnswer(always, outbox, { x: 2 }, 1), { code: 'conflict' });
});

test('what the marketplace gets', () => {
  const expected = { assignmentId: 'A1', submission_id: 's1', sha256: 'ff', schema_version: '1', active_seconds: '12.5' };
  assert.deepEqual(marketplaceFields('A1', RECEIPT, 12.5), expected);
  assert.deepEqual(marketplaceFields('A1', { id: 's1', sha256: 'ff', schema_version: 1 }, 12.5), expected, 'as open() names it');
});

const URLS = { open: '/o', draft: '/d', submission: '/s', consent: '/c' };
const answer = (status, body, headers = {}) => new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
const apiWith = (fetch) => createApi({ token: 'T', urls: URLS, fetch });

test('requests carry the token and no cookies', async () => {
  let seen;
  const api = apiWith(async (url, init) => { seen = { url, ...init }; return answer(200, { revision: 4 }); });
  assert.deepEqual(await api.saveDraft({ a: 1 }, 3), { revision: 4 });
  assert.equal(seen.url, '/d');
  assert.equal(seen.method, 'PUT');
  assert.equal(seen.credentials, 'omit');
  assert.equal(seen.headers.Authorization, 'Bearer T');
  assert.deepEqual(JSON.parse(seen.body), { content: { a: 1 }, revision: 3 });
});

test('every failure has a code', async () => {
  const cases = [[400, 'invalid'], [401, 'expired'], [403, 'refused'], [409, 'conflict'], [413, 'too-large'], [429, 'busy'], [500, 'server'], [502, 'server']];
  for (const [status, code] of cases) {
    await assert.rejects(apiWith(async () => answer(status, { error: 'why', errors: [{ field: 'f', message: 'm' }] })).open(),
      (e) => e instanceof ApiError && e.code === code && e.status === status && e.message === 'why' && e.errors[0].field === 'f');
  }
  await assert.rejects(apiWith(async () => { throw new TypeError('Failed to fetch'); }).open(), { code: 'offline' });
  await assert.rejects(apiWith(async () => { throw Object.assign(new Error('t'), { name: 'TimeoutError' }); }).open(), { code: 'slow' });
  await assert.rejects(apiWith(async () => answer(200, '<html>Sign in to the Wi-Fi</html>')).open(), { code: 'offline' });
  await assert.rejects(apiWith(async () => answer(502, '<html>Bad gateway</html>')).open(), { code: 'server' });
  await assert.rejects(apiWith(async () => answer(429, {}, { 'Retry-After': '7' })).open(), { code: 'busy', retryAfter: 7 });
});
