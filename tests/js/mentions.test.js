import test from 'node:test';
import assert from 'node:assert/strict';
import { MERGE_MS, MentionModel } from '../../static/js/mentions/model.js';
import {
  MARK, copyText, countMentions, countWords, displayText, flatten, joinGroup, joined, lengthOf, parse, plainLine, replace, slice, tagAt, tagOf, tidy, unflatten,
} from '../../static/js/mentions/segments.js';
import { fieldProblem, isBlank, missingMentions, tripletProblems } from '../../static/js/mentions/rules.js';
import { matching, suggestionFor } from '../../static/js/mentions/suggest.js';
import { isInside, objectsAt, placeNumbers } from '../../static/js/mentions/objects.js';
import { generator } from './helpers/random.js';

const NAMES = ['person', 'person', 'dog', 'dining table', 'cup'];
const tag = (...objects) => ({ objects });
const WHY = ['Why does ', tag(0), ' look at ', tag(2), '?'];
const limits = { words: { question: [4, 40], answer: [3, 40], rationale: [5, 80] }, characters: 400, likelihoods: ['likely', 'possible', 'unlikely'] };

function modelOf(segments, clock = { now: 0 }) {
  const model = new MentionModel({ now: () => clock.now });
  model.load(segments);
  return model;
}

test('positions count letters and tags', () => {
  assert.equal(lengthOf(WHY), 'Why does '.length + 1 + ' look at '.length + 1 + 1);
  assert.deepEqual(unflatten(flatten(WHY)), WHY);
  assert.deepEqual(slice(WHY, 4, 12), ['does ', tag(0), ' l']);
  assert.deepEqual(tagAt(WHY, 9), tag(0));
  assert.equal(tagAt(WHY, 8), null);
  assert.deepEqual(replace(WHY, 9, 10, ['somebody']), ['Why does somebody look at ', tag(2), '?']);
  assert.deepEqual(replace([tag(0), tag(1)], 1, 1, ['x']), [tag(0), 'x', tag(1)]);
});

test('strings side by side are joined, and a mark in a text is no tag', () => {
  assert.deepEqual(joined(['a', '', 'b', tag(1), '']), ['ab', tag(1)]);
  assert.deepEqual(joined([`a${MARK}b`]), ['ab']);
  assert.deepEqual(tagOf([2, 0, 2]), tag(0, 2));
});

test('a text is displayed with class and number, and copied so that it can be pasted', () => {
  const text = [tag(0, 2), ' and ', tag(1), "'s cup"];
  assert.equal(displayText(text, NAMES), "person 1 and dog 3 and person 2's cup");
  assert.equal(copyText(text, NAMES), "[person 1 and dog 3] and [person 2]'s cup");
  assert.deepEqual(parse(copyText(text, NAMES), NAMES), text);
  assert.deepEqual(parse('[Dining Table 4] [person 9] [x]', NAMES), [tag(3), ' [person 9] [x]']);
  assert.deepEqual(parse('two\nlines\tand\u0007 a bell\u200B', NAMES), ['two lines and a bell']);
  assert.equal(plainLine(`a${MARK}b`), 'ab');
});

test('the stored text has single spaces, none at its ends', () => {
  assert.deepEqual(tidy(['  Why  ', tag(1), ' \u00A0 ']), ['Why ', tag(1)]);
  assert.deepEqual(tidy([' ', tag(1), ' ', tag(0), ' ']), [tag(1), ' ', tag(0)]);
  assert.deepEqual(tidy(['  ']), []);
  assert.deepEqual(tidy(['e\u0301']), ['é']);
});

test('words are runs of letters, digits and apostrophes, and each tag is one', () => {
  assert.equal(countWords(WHY), 6);
  assert.equal(countWords([tag(0), "'s coat isn't 2.5"]), 6);
  assert.equal(countWords(["don't — can’t 'tis rock'n'roll"]), 4);
  assert.equal(countMentions([tag(0, 1), ' and ', tag(1)]), 3);
});

test('a second object right after "and" or a comma joins the group', () => {
  const group = (joint) => joinGroup([tag(2), joint, tag(0), ' x'], joint.length + 2)?.segments;
  for (const joint of [' and ', ', ', ',', ' & ']) assert.deepEqual(group(joint), [tag(0, 2), ' x'], joint);
  for (const joint of [' or ', ' ', ' and the ', '. ', ', and ', ' , and ']) assert.equal(group(joint), undefined, joint);
  assert.deepEqual(joinGroup([tag(1, 2), ', and ', tag(0)], 8)?.segments, [tag(0, 1, 2)], 'a list, not a clause');
  assert.equal(joinGroup(['and ', tag(0)], 5), null);
});

test('a tag beside the caret is selected first and then removed', () => {
  const model = modelOf(WHY);
  model.select(10);
  assert.ok(model.remove(-1) && model.selectsTag);
  assert.deepEqual(model.segments, WHY);
  assert.ok(model.remove(-1));
  assert.equal(displayText(model.segments, NAMES), 'Why does  look at dog 3?');
  assert.equal(model.remove(-1), false, 'letters are the browser\'s');
  model.undo();
  assert.deepEqual(model.segments, WHY);
  model.select(9);
  assert.ok(model.remove(1) && model.selectsTag);
});

test('the caret walks over a tag in two steps, and the selection is extended in one', () => {
  const model = modelOf(WHY);
  model.select(9);
  assert.ok(model.walk(1) && model.selectsTag);
  assert.ok(model.walk(1));
  assert.deepEqual([model.anchor, model.focus], [10, 10]);
  assert.equal(model.walk(1), false);
  assert.ok(model.walk(-1) && model.walk(-1));
  assert.deepEqual([model.anchor, model.focus], [9, 9]);
  assert.ok(model.walk(1, { extend: true }));
  assert.deepEqual([model.anchor, model.focus], [9, 10]);
});

test('typing in one go is one undo step, a pause or another place begins the next', () => {
  const clock = { now: 0 };
  const model = modelOf([], clock);
  const type = (text) => model.insert([text], 'typing');
  type('a');
  type('b');
  clock.now += MERGE_MS + 1;
  type('c');
  model.select(0);
  type('d');
  const steps = [];
  while (model.undo()) steps.push(displayText(model.segments, NAMES));
  assert.deepEqual(steps, ['abc', 'ab', '']);
  while (model.redo());
  assert.equal(displayText(model.segments, NAMES), 'dabc');
});

test('a joined group is undone before its tag', () => {
  const model = modelOf([tag(0), ' and ']);
  model.insertTag([1]);
  assert.deepEqual(model.segments, [tag(0, 1)]);
  model.undo();
  assert.deepEqual(model.segments, [tag(0), ' and ', tag(1)]);
  model.undo();
  assert.deepEqual(model.segments, [tag(0), ' and ']);
});

test('words and tags are kept apart by a space', () => {
  const model = modelOf(['ask']);
  model.insertTag([0]);
  assert.deepEqual(model.segments, ['ask ', tag(0)]);
  model.replaceAll(['ask ', tag(0), 'now'], 8, 'typing');
  model.spaceWord(5);
  assert.deepEqual(model.segments, ['ask ', tag(0), ' now']);
  assert.equal(model.focus, 9);
  model.spaceWord(0);
  assert.deepEqual(model.segments[0], ' ask ');
});

test('random edits: undo restores every state, redo every later one, and texts stay in their one form', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = generator(seed);
    const model = modelOf([]);
    const states = [];
    for (let step = 0; step < 30; step += 1) {
      const before = JSON.stringify(model.segments);
      model.select(random.int(0, model.length), random.int(0, model.length));
      const act = random.int(0, 3);
      if (act === 0) model.insert([random.pick(['a', ' and ', 'why?', ''])]);
      else if (act === 1) model.insertTag([random.int(0, 4)]);
      else if (act === 2) model.remove(random.pick([-1, 1]));
      else model.replaceAll(random.pick([[...model.segments, 'x'], model.segments]), 0);
      if (JSON.stringify(model.segments) !== before) states.push(before);
      assert.deepEqual([...model.segments], joined(model.segments));
      assert.ok(model.from >= 0 && model.to <= model.length);
    }
    const last = JSON.stringify(model.segments);
    const seen = new Set([last]);
    while (model.undo()) seen.add(JSON.stringify(model.segments));
    assert.equal(JSON.stringify(model.segments), '[]');
    while (model.redo());
    assert.equal(JSON.stringify(model.segments), last);
    for (const state of states) assert.ok(seen.has(state), `seed ${seed}: ${state}`);
  }
});

test('a number suggests its object, unless it is part of a time, a measure or a word', () => {
  const kind = (before) => suggestionFor(before, NAMES);
  assert.deepEqual(kind('Why does 3'), { kind: 'number', from: 9, options: [2] });
  assert.deepEqual(kind('5'), { kind: 'number', from: 0, options: [4] });
  assert.deepEqual(kind(`${MARK} and 1`), { kind: 'number', from: 6, options: [0] });
  for (const before of ['at 10:3', '2.5', 'no-3', 'x3', '$3', '9', '0', '03', 'Why 3 ', `it's3`]) assert.equal(kind(before), null, before);
});

test('a bracket or @ lists the objects that begin with what follows', () => {
  assert.deepEqual(suggestionFor('Why [', NAMES), { kind: 'list', from: 4, options: [0, 1, 2, 3, 4] });
  assert.deepEqual(suggestionFor('@d', NAMES), { kind: 'list', from: 0, options: [2, 3] });
  assert.deepEqual(suggestionFor('@person 2', NAMES), { kind: 'list', from: 0, options: [1] });
  assert.equal(suggestionFor('@zebra', NAMES), null);
  assert.equal(suggestionFor('a@b', NAMES), null, 'an address is no mention');
  assert.deepEqual(matching('tab', NAMES), [3]);
  assert.deepEqual(matching('5', NAMES), [4]);
});

test('a press picks the outline first, the smallest first, and what only the box covers last', () => {
  const objects = [
    { name: 'person', box: { left: 0, top: 0, width: 100, height: 100 }, polygons: [[[0, 0], [100, 0], [0, 100]]] },
    { name: 'cup', box: { left: 40, top: 40, width: 40, height: 40 }, polygons: [] },
    { name: 'dog', box: { left: 300, top: 0, width: 10, height: 10 }, polygons: [] },
  ];
  assert.deepEqual(objectsAt(objects, { x: 45, y: 45 }), [1, 0]);
  assert.deepEqual(objectsAt(objects, { x: 78, y: 78 }), [1, 0], 'outside the outline, inside the box');
  assert.deepEqual(objectsAt(objects, { x: 90, y: 90 }), [0]);
  assert.deepEqual(objectsAt(objects, { x: 200, y: 200 }), []);
  assert.ok(isInside([[0, 0], [4, 0], [4, 4], [0, 4]], { x: 2, y: 3.5 }));
});

test('numbers of objects at one place do not cover each other', () => {
  const size = { width: 200, height: 200 };
  const objects = Array.from({ length: 4 }, () => ({ name: 'person', box: { left: 20, top: 20, width: 150, height: 150 }, polygons: [] }));
  const places = placeNumbers(objects, 1, size);
  for (const [at, a] of places.entries()) {
    assert.ok(a.x >= 0 && a.y >= 0 && a.x + a.width <= size.width && a.y + a.height <= size.height);
    for (const b of places.slice(at + 1)) assert.ok(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y);
  }
});

test('each field has its least and most words, and the whole its mentions', () => {
  const problem = (segments, field) => fieldProblem(segments, field, limits, NAMES)?.code ?? null;
  assert.equal(problem(['one two three'], 'question'), 'few');
  assert.equal(problem(['one two three'], 'answer'), null);
  assert.equal(problem([Array(41).fill('x').join(' ')], 'question'), 'many');
  assert.equal(problem([`one two three four ${'x'.repeat(390)}`], 'question'), 'long');
  assert.equal(problem([tag(9), ' two three four'], 'question'), 'tag');
  assert.equal(problem(['one two three four\u0007'], 'question'), 'control');
  const whole = { question: WHY, answer: ['They are friends.'], rationale: ['They look at each other.'], likelihood: 'likely' };
  assert.deepEqual(tripletProblems(whole, limits, NAMES), []);
  assert.deepEqual(tripletProblems({ ...whole, likelihood: null }, limits, NAMES), [{ field: 'likelihood', code: 'likelihood' }]);
  assert.equal(missingMentions([whole, { ...whole, question: ['x'] }]), 0, 'one on average');
  assert.equal(missingMentions([{ ...whole, question: ['x'] }, { ...whole, question: [tag(0)] }]), 1);
  assert.ok(isBlank({ question: [' '], answer: [], rationale: [], likelihood: null }));
});
