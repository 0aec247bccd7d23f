import test from 'node:test';
import assert from 'node:assert/strict';
import { ApiError } from '../../static/js/hit/api.js';
import { LiveHints, keyOf } from '../../static/js/hit/hints.js';
import { boxLabel, hintSentence } from '../../static/js/hit/hint-words.js';
import { fakeTime, settle } from './helpers/random.js';

const RULES = ['pronoun', 'no_box', 'caption_like'];
const hint = (over = {}) => ({ rule: 'pronoun', card: 1, field: 'inference', quote: 'she', start: 0, end: 3, other: null, params: { form: 'subject' }, ...over });

function makePage({ rules = RULES, online = () => true, visible = () => true } = {}) {
  const time = fakeTime();
  const page = { time, asked: [], shown: new Map(), changes: 0, text: '', answer: async () => ({ hints: [] }) };
  page.hints = new LiveHints({
    rules,
    read: () => ({ text: page.text }),
    ask: (answer) => { page.asked.push(answer.text); return page.answer(answer); },
    show: (card, hints) => { page.shown.set(card, hints); return visible(card) ? hints : []; },
    changed: () => { page.changes += 1; },
    online,
    now: time.now, setTimer: time.setTimer, clearTimer: time.clearTimer,
  });
  page.type = (text) => { page.text = text; page.hints.touch(); };
  page.quotes = (card) => (page.shown.get(card) ?? []).map((h) => h.quote);
  return page;
}

test('asks once, 700 ms after the last change', async () => {
  const page = makePage();
  page.type('s');
  await page.time.pass(600);
  page.type('she');
  await page.time.pass(699);
  assert.deepEqual(page.asked, []);
  await page.time.pass(1);
  assert.deepEqual(page.asked, ['she']);
  await page.time.pass(60_000);
  assert.deepEqual(page.asked, ['she'], 'an idle page asks nothing');
});

test('one request at a time, and a stale answer is dropped', async () => {
  const page = makePage();
  const waiting = [];
  page.answer = () => new Promise((resolve) => { waiting.push(resolve); });
  page.type('she');
  await page.time.pass(700);
  page.type('they');
  await page.time.pass(5000);
  assert.equal(page.asked.length, 1, 'the second waits for the first');
  waiting[0]({ hints: [hint()] });
  await settle();
  assert.equal(page.shown.size, 0, 'what it said is about a text that is gone');
  await page.time.pass(1);
  assert.deepEqual(page.asked, ['she', 'they']);
  waiting[1]({ hints: [] });
  await settle();
  assert.deepEqual(page.quotes(1), []);
});

test('a kind without rules never asks, and an offline page neither', async () => {
  const none = makePage({ rules: [] });
  none.type('she');
  await none.time.pass(10_000);
  let connected = false;
  const page = makePage({ online: () => connected });
  page.type('she');
  await page.time.pass(10_000);
  assert.deepEqual([...none.asked, ...page.asked], []);
  connected = true;
  page.type('she is');
  await page.time.pass(700);
  assert.deepEqual(page.asked, ['she is']);
});

test('after a failure it waits, after a refusal it stays silent', async () => {
  const page = makePage();
  page.answer = async () => { throw new ApiError('busy', 429, null, 20); };
  page.type('a');
  await page.time.pass(700);
  page.answer = async () => ({ hints: [hint()] });
  page.type('she');
  await page.time.pass(15_000);
  assert.equal(page.asked.length, 1, 'the server asked for 20 s');
  await page.time.pass(6000);
  assert.deepEqual(page.asked, ['a', 'she']);
  assert.deepEqual(page.quotes(1), ['she']);
  page.answer = async () => { throw new ApiError('expired', 401); };
  page.type('she said');
  await page.time.pass(700);
  page.type('she says');
  await page.time.pass(60_000);
  assert.equal(page.asked.length, 3);
});

test('an answer that is none is no hint', async () => {
  const page = makePage();
  page.answer = async () => ({});
  page.type('she');
  await page.time.pass(700);
  assert.equal(page.shown.size, 0);
});

test('two a card at most; a dismissed one makes room, stays away, and is kept for the draft', async () => {
  const page = makePage();
  const three = [hint(), hint({ quote: 'him' }), hint({ rule: 'caption_like', quote: 'A man is standing' })];
  page.answer = async () => ({ hints: [...three, hint({ card: 2, quote: 'his' })] });
  page.type('x');
  await page.time.pass(700);
  assert.deepEqual(page.quotes(1), ['she', 'him']);
  assert.deepEqual(page.quotes(2), ['his']);
  page.hints.dismiss(three[0]);
  assert.equal(page.changes, 1);
  assert.deepEqual(page.quotes(1), ['him', 'A man is standing']);
  page.answer = async () => ({ hints: [hint({ quote: 'She' })] });
  page.type('She');
  await page.time.pass(700);
  assert.deepEqual(page.quotes(1), [], 'the same word with a capital is the same hint');
  const reloaded = makePage();
  reloaded.hints.restore(JSON.parse(JSON.stringify(page.hints.kept())));
  reloaded.answer = async () => ({ hints: three });
  reloaded.type('x');
  await reloaded.time.pass(700);
  assert.deepEqual(reloaded.quotes(1), ['him', 'A man is standing']);
});

test('the report tells what was seen, dismissed and mended', async () => {
  const page = makePage({ visible: (card) => card === 1 });
  page.answer = async () => ({ hints: [hint(), hint({ quote: 'him' }), hint({ card: 2, quote: 'hers' })] });
  page.type('x');
  await page.time.pass(700);
  page.hints.dismiss(hint({ quote: 'him' }));
  page.answer = async () => ({ hints: [hint({ quote: 'him' }), hint({ card: 2, quote: 'hers' })] });
  page.type('y');
  await page.time.pass(700);
  const row = { rule: 'pronoun', card: 1, field: 'inference' };
  assert.deepEqual(page.hints.report(), [
    { ...row, quote: 'she', dismissed: false, fixed: true },
    { ...row, quote: 'him', dismissed: true, fixed: false },
  ], 'what waited in a closed card was never shown');
  const reloaded = makePage({ online: () => false });
  reloaded.hints.restore(page.hints.kept());
  assert.deepEqual(reloaded.hints.report(), page.hints.report(), 'a reload without a server changes no verdict');
});

test('a hint in a closed card counts once the card is opened', async () => {
  let open = false;
  const page = makePage({ visible: () => open });
  page.answer = async () => ({ hints: [hint()] });
  page.type('x');
  await page.time.pass(700);
  assert.equal(page.hints.report().length, 0);
  open = true;
  page.hints.render();
  assert.equal(page.hints.report().length, 1);
});

test('the report never grows past what the server takes, and nonsense in a draft does no harm', async () => {
  const page = makePage();
  page.answer = async ({ text }) => ({ hints: [hint({ quote: `${text}${'😀'.repeat(300)}` })] });
  for (let n = 0; n < 130; n += 1) {
    page.type(`${n} `);
    await page.time.pass(700);
  }
  const rows = page.hints.report();
  assert.equal(rows.length, 100);
  assert.ok(rows.every((row) => [...row.quote].length === 200));
  page.hints.dismiss(hint({ quote: 'she' }));
  assert.ok(JSON.stringify(page.hints.kept()).length <= 8000, 'the draft has room for the work');
  assert.equal(page.hints.kept().at(-1).quote, 'she', 'what was dismissed is kept before anything else');
  for (const nonsense of [null, 3, 'x', {}, [null, 3, {}, [], { quote: 3 }]]) {
    makePage().hints.restore(nonsense);
  }
});

test('every rule has words, and marks what it quotes', () => {
  const all = ['no_box', 'profanity', 'pronoun', 'repeats_clue', 'repeats_other', 'contradicts', 'caption_like', 'box_too_large', 'box_too_small'];
  for (const rule of all) {
    const parts = hintSentence(hint({ rule, other: 2, params: { box: 1, boxes: 2 } }));
    const text = parts.map((p) => p.mark ?? p).join('');
    assert.ok(text.length > 20 && !text.includes('%(') && !text.includes('undefined'), text);
    const quotes = ['no_box', 'box_too_large', 'box_too_small'].includes(rule) ? [] : [{ mark: 'she' }];
    assert.deepEqual(parts.filter((p) => typeof p !== 'string'), quotes);
  }
  assert.equal(hintSentence(hint({ rule: 'a_rule_of_tomorrow' })), null);
  assert.equal(hintSentence(hint({ rule: 'constructor' })), null);
  assert.ok(hintSentence(hint({ params: { form: 'her' } })).join('').includes('“them”, “their”'));
});

test('nleye: every rule about scenes has words for each of its forms', () => {
  const quoting = [
    ...[true, false].map((both) => ['premise_unused', { both }]),
    ...['words', 'thoughts', 'smells', 'sounds', 'names'].map((sense) => ['not_visible', { sense }]),
    ['copied_scene', {}],
    ['unclear_pronoun', {}],
  ];
  const sentences = quoting.map(([rule, params]) => hintSentence(hint({ rule, params })));
  for (const parts of sentences) assert.deepEqual(parts.filter((part) => typeof part !== 'string'), [{ mark: 'she' }]);
  for (const [rule, params] of [['several_differences', {}], ['too_many_words', { most: 40 }]]) {
    const parts = hintSentence(hint({ rule, quote: '', params }));
    sentences.push(parts);
    assert.ok(parts.every((part) => typeof part === 'string'), 'it quotes nothing');
  }
  const texts = sentences.map((parts) => parts.map((part) => part.mark ?? part).join(''));
  assert.equal(new Set(texts).size, texts.length);
  for (const text of texts) assert.ok(text.length > 20 && !text.includes('%(') && !text.includes('undefined'), text);
  assert.ok(texts.at(-1).includes('40 words'));
});

test('boxes are named as on the photo', () => {
  assert.equal(boxLabel({ card: 2, params: { box: 1, boxes: 1 } }), '2');
  assert.equal(boxLabel({ card: 2, params: { box: 3, boxes: 4 } }), '2c');
});

test('a key tells rule, card and words apart', () => {
  const keys = [hint(), hint({ card: 2 }), hint({ quote: 'her' }), hint({ rule: 'profanity' })].map(keyOf);
  assert.equal(new Set(keys).size, 4);
  assert.equal(keyOf(hint({ other: 3, start: 9 })), keyOf(hint()));
});
