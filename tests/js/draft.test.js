import test from 'node:test';
import assert from 'node:assert/strict';
import { Draft } from '../../static/js/hit/draft.js';
import { ApiError } from '../../static/js/hit/api.js';
import { safeStorage } from '../../static/js/hit/storage.js';
import { fakeStorage, fakeTime, settle } from './helpers/random.js';

/** A server with one draft, as the API describes it. */
function makeServer() {
  const server = { content: null, revision: 0, saves: 0, fail: null, atOnce: 0, most: 0, hold: null };
  server.save = async (content, revision) => {
    server.atOnce += 1;
    server.most = Math.max(server.most, server.atOnce);
    try {
      if (server.hold) await server.hold;
      if (server.fail) throw server.fail;
      if (revision !== server.revision) throw new ApiError('conflict', 409, { error: 'x', revision: server.revision, content: server.content });
      server.content = structuredClone(content);
      server.revision += 1;
      server.saves += 1;
      return { revision: server.revision };
    } finally {
      server.atOnce -= 1;
    }
  };
  server.opened = () => ({ draft: structuredClone(server.content), revision: server.revision });
  return server;
}

function makePage(server, { disk = fakeStorage(), writer = 'me', time = fakeTime(), window = new EventTarget() } = {}) {
  const page = { text: '', disk, time, window };
  page.draft = new Draft({
    save: (...args) => server.save(...args),
    collect: () => ({ answer: { text: page.text }, seconds: time.now() }),
    same: (a, b) => a?.answer?.text === b?.answer?.text,
    writer, storage: safeStorage(() => disk, time.now, window), key: 'draft:a',
    now: time.now, setTimer: time.setTimer, clearTimer: time.clearTimer,
  });
  page.type = (text) => { page.text = text; page.draft.touch(); };
  page.start = (opened) => {
    const content = page.draft.start(opened);
    page.text = content?.answer?.text ?? '';
    return page.text;
  };
  return page;
}

const offline = () => new ApiError('offline', 0);

test('typing is saved once, after a pause, and at the latest after six seconds', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  for (const text of ['a', 'ab', 'abc']) {
    page.type(text);
    await page.time.pass(500);
  }
  assert.equal(server.saves, 0);
  await page.time.pass(1000);
  assert.equal(server.saves, 1);
  assert.equal(server.content.answer.text, 'abc');
  assert.equal(page.draft.state, 'saved');
  for (let i = 0; i < 12; i += 1) {
    page.type(`long ${i}`);
    await page.time.pass(600);
  }
  assert.ok(server.saves >= 2, 'somebody who never pauses is saved too');
});

test('nothing typed, nothing sent', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  await page.draft.flush();
  await page.time.pass(60_000);
  assert.equal(server.saves, 0);
  assert.equal(page.draft.state, 'clean');
});

test('what is typed during a save is saved next, and never two saves at a time', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  let release;
  server.hold = new Promise((resolve) => { release = resolve; });
  page.type('first');
  await page.time.pass(1300);
  page.type('second');
  page.draft.flush();
  await page.time.pass(2000);
  server.hold = null;
  release();
  await settle();
  await page.time.pass(5000);
  assert.equal(server.content.answer.text, 'second');
  assert.equal(server.most, 1);
  assert.equal(page.draft.state, 'saved');
});

test('offline: kept on the device, tried again, saved in the end', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  server.fail = offline();
  page.type('in a tunnel');
  await page.time.pass(1500);
  assert.equal(page.draft.state, 'offline');
  assert.match(page.disk.getItem('deerstalker:draft:a'), /in a tunnel/);
  page.type('still in it');
  await page.time.pass(10_000);
  server.fail = null;
  await page.time.pass(30_000);
  assert.equal(page.draft.state, 'saved');
  assert.equal(server.content.answer.text, 'still in it');
});

test('asked to wait, it waits that long', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  server.fail = new ApiError('busy', 429, {}, 40);
  page.type('x');
  await page.time.pass(1300);
  server.fail = null;
  await page.time.pass(39_000);
  assert.equal(server.saves, 0);
  await page.time.pass(2000);
  assert.equal(server.saves, 1);
});

test('a reload while offline brings the unsent work back and sends it', async () => {
  const server = makeServer();
  const before = makePage(server);
  before.start(server.opened());
  server.fail = offline();
  before.type('unsent');
  await before.time.pass(1500);
  const after = makePage(server, { disk: before.disk, writer: 'me, reloaded' });
  assert.equal(after.start(null), 'unsent');
  server.fail = null;
  await after.time.pass(3000);
  assert.equal(server.content.answer.text, 'unsent');
});

test('a reload after a save whose answer was lost is no conflict', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  page.type('one');
  await page.time.pass(1500);
  // The server stores "two", its answer never comes, "three" is typed, the page is gone.
  server.content = { answer: { text: 'two' }, writer: 'me' };
  server.revision += 1;
  page.type('three');
  const after = makePage(server, { disk: page.disk, writer: 'me, reloaded' });
  assert.equal(after.start(server.opened()), 'three');
  await after.time.pass(2000);
  assert.equal(after.draft.state, 'saved');
  assert.equal(server.content.answer.text, 'three');
});

test('a lost answer within one page is no conflict either', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  const save = server.save;
  server.save = async (...args) => { await save(...args); throw offline(); };
  page.type('one');
  await page.time.pass(1300);
  server.save = save;
  page.type('two');
  await page.time.pass(10_000);
  assert.equal(page.draft.state, 'saved');
  assert.equal(server.content.answer.text, 'two');
});

async function twoWindows() {
  const server = makeServer();
  const [a, b] = [makePage(server, { writer: 'a' }), makePage(server, { writer: 'b' })];
  a.start(server.opened());
  b.start(server.opened());
  a.type('from a');
  await a.time.pass(2000);
  b.type('from b');
  await b.time.pass(2000);
  return { server, a, b };
}

test('two windows: the second is asked, nothing is overwritten meanwhile', async () => {
  const { server, b } = await twoWindows();
  assert.equal(b.draft.state, 'conflict');
  assert.equal(b.draft.theirs.answer.text, 'from a');
  b.type('from b, more');
  await b.time.pass(60_000);
  assert.equal(server.content.answer.text, 'from a');
  assert.match(b.disk.getItem('deerstalker:draft:a'), /from b, more/);
});

test('two windows: keep mine', async () => {
  const { server, b } = await twoWindows();
  b.draft.keepMine();
  await b.time.pass(3000);
  assert.equal(server.content.answer.text, 'from b');
  assert.equal(b.draft.state, 'saved');
});

test('two windows: use the other', async () => {
  const { server, b } = await twoWindows();
  assert.equal(b.draft.useTheirs().answer.text, 'from a');
  assert.equal(b.draft.state, 'saved');
  await b.time.pass(60_000);
  assert.equal(server.saves, 1);
});

test('two windows with the same work are not asked', async () => {
  const server = makeServer();
  const [a, b] = [makePage(server, { writer: 'a' }), makePage(server, { writer: 'b' })];
  a.start(server.opened());
  b.start(server.opened());
  a.type('same');
  await a.time.pass(2000);
  b.type('same');
  await b.time.pass(2000);
  assert.equal(b.draft.state, 'saved');
});

test('unsent work and a newer draft from elsewhere: asked at the start', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  server.fail = offline();
  page.type('here');
  await page.time.pass(1500);
  server.content = { answer: { text: 'elsewhere' }, writer: 'other device' };
  server.revision += 1;
  server.fail = null;
  const after = makePage(server, { disk: page.disk, writer: 'reloaded' });
  assert.equal(after.start(server.opened()), 'here');
  assert.equal(after.draft.state, 'conflict');
  assert.equal(after.draft.theirs.answer.text, 'elsewhere');
});

test('an expired token stops saving and says so, a refused content waits for a change', async () => {
  const server = makeServer();
  const page = makePage(server);
  page.start(server.opened());
  server.fail = new ApiError('too-large', 413);
  page.type('very long');
  await page.time.pass(2000);
  assert.equal(page.draft.state, 'refused');
  server.fail = null;
  page.type('short');
  await page.time.pass(2000);
  assert.equal(page.draft.state, 'saved');
  server.fail = new ApiError('expired', 401);
  page.type('late');
  await page.time.pass(2000);
  assert.equal(page.draft.state, 'expired');
});

test('storage that is forbidden, broken or old does no harm', () => {
  const none = safeStorage(() => { throw new Error('SecurityError'); });
  assert.equal(none.lasting, false);
  assert.equal(none.set('a', 1), false);
  assert.equal(none.get('a'), 1);
  const disk = fakeStorage({ 'deerstalker:broken': '{', 'deerstalker:old': '{"at":0,"value":1}', 'other': 'untouched' });
  const storage = safeStorage(() => disk, () => 40 * 24 * 3600 * 1000);
  assert.deepEqual([...disk.kept.keys()], ['other']);
  storage.set('new', { x: 1 });
  assert.deepEqual(storage.get('new'), { x: 1 });
  disk.setItem = () => { throw new Error('QuotaExceeded'); };
  assert.equal(storage.set('more', 2), false);
  assert.equal(storage.get('more'), 2);
});

/** Two windows of one browser: they share a disk, and what one writes the other is told. */
function twoTabs(server = makeServer()) {
  const disk = fakeStorage();
  const time = fakeTime();
  const tabs = ['a', 'b'].map((writer) => {
    const page = makePage(server, { disk, writer, time, window: new EventTarget() });
    page.draft.addEventListener('follow', (e) => { page.text = e.detail.content.answer.text; page.followed = (page.followed ?? 0) + 1; });
    return page;
  });
  const { setItem } = disk;
  disk.setItem = (key, newValue) => {
    setItem(key, newValue);
    const writer = JSON.parse(newValue).value?.content?.writer;
    for (const tab of tabs) if (tab.draft.writer !== writer) tab.window.dispatchEvent(Object.assign(new Event('storage'), { key, newValue }));
  };
  for (const tab of tabs) tab.start(server.opened());
  return { server, disk, time, a: tabs[0], b: tabs[1] };
}

test('an idle second tab follows the first silently, and goes on from there', async () => {
  const { server, time, a, b } = twoTabs();
  a.type('one');
  assert.equal(b.text, 'one', 'before anything is saved');
  await time.pass(2000);
  assert.deepEqual([a.draft.state, b.draft.state], ['saved', 'saved']);
  b.type('one two');
  await time.pass(2000);
  assert.equal(a.text, 'one two');
  a.type('one two three');
  await time.pass(2000);
  assert.equal(server.content.answer.text, 'one two three');
  assert.equal(b.text, 'one two three');
  assert.deepEqual([a.draft.state, b.draft.state], ['saved', 'saved']);
});

test('changing tabs faster than a save takes is no conflict', async () => {
  const { server, time, a, b } = twoTabs();
  a.type('first');
  b.type('first, second');
  a.type('first, second, third');
  await time.pass(20_000);
  assert.equal(server.content.answer.text, 'first, second, third');
  assert.deepEqual([a.draft.state, b.draft.state], ['saved', 'saved']);
  assert.equal(b.text, 'first, second, third');
});

test('a tab that vanishes before it could save is saved by the other', async () => {
  const { server, time, a, b } = twoTabs();
  a.draft.save = () => new Promise(() => {});
  a.type('last words');
  await time.pass(20_000);
  assert.equal(b.text, 'last words');
  assert.equal(server.content.answer.text, 'last words');
});

test('hints shown in an idle tab never get in the way of the one that is typed in', async () => {
  const { server, time, a, b } = twoTabs();
  a.type('one');
  await time.pass(2000);
  for (const text of ['one t', 'one tw', 'one two']) {
    a.type(text);
    b.draft.touch({ typed: false });
    await time.pass(700);
  }
  await time.pass(20_000);
  assert.equal(server.content.answer.text, 'one two');
  assert.deepEqual([a.draft.state, b.draft.state], ['saved', 'saved']);
});

test('two versions written apart are each kept, and one is chosen', async () => {
  const { server, disk, time, a, b } = twoTabs();
  for (const tab of [a, b]) tab.window.dispatchEvent = () => true; // no window is told of the other
  a.type('by a');
  await time.pass(2000);
  b.type('by b');
  await time.pass(2000);
  assert.equal(b.draft.state, 'conflict');
  delete a.window.dispatchEvent;
  delete b.window.dispatchEvent;
  a.type('by a, more');
  b.type('by b, more');
  await time.pass(2000);
  const kept = [...disk.kept].filter(([key]) => key.includes('draft:')).map(([, text]) => JSON.parse(text).value.content.answer.text);
  assert.deepEqual(kept.sort(), ['by a, more', 'by b, more']);
  b.draft.keepMine();
  await time.pass(3000);
  assert.equal(server.content.answer.text, 'by b, more');
  assert.equal(a.text, 'by b, more', 'and the other window goes on from what was chosen');
  assert.deepEqual([a.draft.state, b.draft.state], ['saved', 'saved']);
  assert.equal([...disk.kept.keys()].filter((key) => key.includes('/')).length, 0);
});

test('a submission: announced to the other tab, kept until it is known to have arrived, then forgotten for good', async () => {
  const { disk, time, a, b } = twoTabs();
  const states = [];
  b.draft.addEventListener('submitting', (e) => states.push(e.detail.on));
  a.type('done');
  await time.pass(2000);
  a.draft.submitToMarketplace();
  assert.equal(states.at(-1), true);
  a.draft.cancelSubmission();
  assert.equal(states.at(-1), false, 'it failed');
  assert.match(disk.getItem('deerstalker:draft:a'), /done/);
  a.draft.submitToMarketplace();
  a.draft.forget();
  a.draft.touch();
  await time.pass(5000);
  assert.equal(disk.getItem('deerstalker:draft:a'), null);
});

test('what is kept goes after two weeks, what was submitted after a day', () => {
  const day = 24 * 3600 * 1000;
  const disk = fakeStorage();
  safeStorage(() => disk, () => 0).set('draft:mine', { content: 1 });
  safeStorage(() => disk, () => 0).set('draft:submitted', { content: 2 }, day);
  const names = (at) => { safeStorage(() => disk, () => at); return [...disk.kept.keys()].sort(); };
  assert.deepEqual(names(day), ['deerstalker:draft:mine', 'deerstalker:draft:submitted']);
  assert.deepEqual(names(day + 1), ['deerstalker:draft:mine']);
  assert.deepEqual(names(14 * day), ['deerstalker:draft:mine']);
  assert.deepEqual(names(14 * day + 1), []);
});
