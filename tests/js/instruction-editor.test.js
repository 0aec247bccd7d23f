import test from 'node:test';
import assert from 'node:assert/strict';
import { debounce, isEdited, renumbered, sameText, typed } from '../../static/js/ui/instruction-editor.js';
import { fakeTime, settle } from './helpers/random.js';

test('what somebody typed is kept without the page’s own fields', () => {
  const values = typed([['csrfmiddlewaretoken', 'x'], ['step', 'publish'], ['body', 'Look.'], ['examples-0-good', 'g']]);
  assert.deepEqual(values, { body: 'Look.', 'examples-0-good': 'g' });
});

test('wrapping, the note and the counters make no other text; a word and a further example do', () => {
  const start = { body: 'Look.\r\nTwice.', note: '', based_on: '1', 'examples-TOTAL_FORMS': '1' };
  assert.ok(sameText(start, { body: ' Look.\nTwice. \n', note: 'Clearer', based_on: '2', 'examples-TOTAL_FORMS': '2', 'examples-1-good': '' }));
  assert.ok(!sameText(start, { ...start, body: 'Look.\nThrice.' }));
  assert.ok(!sameText(start, { ...start, 'examples-1-good': 'g' }));
});

test('a row’s names and ids move on, and nothing else does', () => {
  assert.equal(renumbered('id_examples-2-good_helptext', 3), 'id_examples-3-good_helptext');
  assert.equal(renumbered('body', 3), 'body');
});

test('a field is edited when it no longer has the value with which the page came', () => {
  const select = (selectedIndex, ...chosen) => ({ tagName: 'SELECT', type: 'select-one', size: 0, selectedIndex, options: chosen.map((defaultSelected) => ({ defaultSelected })) });
  const untouched = [
    { tagName: 'TEXTAREA', type: 'textarea', value: 'Look.', defaultValue: 'Look.' },
    { tagName: 'INPUT', type: 'checkbox', checked: true, defaultChecked: true, value: 'on' },
    { tagName: 'INPUT', type: 'hidden', value: '2', defaultValue: '1' },
    select(0, false, false),
    select(1, false, true),
  ];
  assert.deepEqual(untouched.map(isEdited), untouched.map(() => false));
  const edited = [
    { tagName: 'TEXTAREA', type: 'textarea', value: 'Look twice.', defaultValue: 'Look.' },
    { tagName: 'INPUT', type: 'checkbox', checked: false, defaultChecked: true, value: 'on' },
    select(1, false, false),
    select(0, false, true),
  ];
  assert.deepEqual(edited.map(isEdited), edited.map(() => true));
});

test('many changes make one call after the pause, and one more for what came meanwhile', async () => {
  const time = fakeTime();
  let calls = 0, release;
  const job = () => { calls += 1; return new Promise((resolve) => { release = resolve; }); };
  const quiet = debounce(job, 400, { setTimer: time.setTimer, clearTimer: time.clearTimer });
  for (let i = 0; i < 5; i += 1) quiet.soon();
  assert.equal(calls, 0);
  await time.pass(400);
  assert.equal(calls, 1);
  quiet.now();
  quiet.now();
  assert.equal(calls, 1);
  release();
  await settle();
  assert.equal(calls, 2);
});

test('leaving does at once what was put off, and nothing where nothing was', async () => {
  const time = fakeTime();
  let calls = 0;
  const quiet = debounce(() => { calls += 1; }, 300, { setTimer: time.setTimer, clearTimer: time.clearTimer });
  quiet.flush();
  assert.equal(calls, 0);
  quiet.soon();
  quiet.flush();
  assert.equal(calls, 1);
  await time.pass(300);
  assert.equal(calls, 1);
});
