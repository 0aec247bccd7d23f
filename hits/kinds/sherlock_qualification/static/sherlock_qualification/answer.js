/**
 * What an answer to the qualification is made of, and what is still missing from it. Pure.
 *
 * @typedef {{clue: string, inference: string, confidence: 1|2|3|null}} Pair
 * @typedef {{image: number, description: string, pairs: Pair[]}} Photo
 * @typedef {{question: string, choice: number}} Choice
 * @typedef {{images: Photo[], exam: Choice[]}} Answer
 */
export const PARTS = Object.freeze(['clue', 'inference', 'confidence']);

/** @returns {string} one line, no doubled spaces */
export const tidy = (text) => String(text ?? '').replace(/\s+/g, ' ').trim();

// As the server counts (kind.py): a full stop after three letters or fewer may end an abbreviation.
const SENTENCE_END = /(?:[.!?…]*[!?…][.!?…]*|(?<=[\p{L}\p{N}]{4})\.+|(?<=\p{N})\.+)(?=["'”’)]*\s+\S)/gu;

/** @param {string} text @returns {number} sentences, rather one too few than one too many */
export function sentences(text) {
  const line = tidy(text);
  return line ? [...line.matchAll(SENTENCE_END)].length + 1 : 0;
}

/** @param {Pair} pair @returns {string[]} names from PARTS that are still missing */
export function missing(pair) {
  const has = { clue: tidy(pair.clue) !== '', inference: tidy(pair.inference) !== '', confidence: [1, 2, 3].includes(pair.confidence) };
  return PARTS.filter((part) => !has[part]);
}

export const isComplete = (pair) => missing(pair).length === 0;
export const isEmpty = (pair) => missing(pair).length === PARTS.length;

/** @param {Photo} photo @returns {'missing'|'long'|null} what is wrong with the description */
export function descriptionGap(photo, most) {
  const count = sentences(photo.description);
  if (count === 0) return 'missing';
  return count > most ? 'long' : null;
}

/** @returns {'empty'|'begun'|'complete'} how far a photo is */
export function photoState(photo, most) {
  const gap = descriptionGap(photo, most);
  if (gap === null && photo.pairs.every(isComplete)) return 'complete';
  return gap === 'missing' && photo.pairs.every(isEmpty) ? 'empty' : 'begun';
}

/**
 * Everything that is missing, in the order of the page. A photo that nobody began is one thing, not four.
 * @param {Answer} answer @param {string[]} questions their ids @param {number} most sentences of a description
 * @returns {({photo: number, what: 'photo'|'missing'|'long'} | {photo: number, pair: number, parts: string[]}
 *   | {question: number} | {questions: number})[]} photos, pairs and questions counted from 0
 */
export function missingFrom(answer, questions, most) {
  const gaps = answer.images.flatMap((photo, at) => {
    const state = photoState(photo, most);
    if (state === 'complete') return [];
    // The photo that one begins with is listed part by part: so the bar says what a photo asks for.
    if (state === 'empty' && at > 0) return [{ photo: at, what: 'photo' }];
    const described = descriptionGap(photo, most);
    return [
      ...(described ? [{ photo: at, what: described }] : []),
      ...photo.pairs.flatMap((pair, place) => (isComplete(pair) ? [] : [{ photo: at, pair: place, parts: missing(pair) }])),
    ];
  });
  const answered = new Set(answer.exam.map((row) => row.question));
  const open = questions.flatMap((id, at) => (answered.has(id) ? [] : [at]));
  if (open.length > 1 && open.length === questions.length) return [...gaps, { questions: open.length }];
  return [...gaps, ...open.map((question) => ({ question }))];
}

/** @param {Answer} answer @returns {Answer} as the server wants it, once nothing is missing */
export function toAnswer(answer) {
  return {
    images: answer.images.map(({ image, description, pairs }) => ({
      image,
      description: tidy(description),
      pairs: pairs.map(({ clue, inference, confidence }) => ({ clue: tidy(clue), inference: tidy(inference), confidence })),
    })),
    exam: answer.exam.map(({ question, choice }) => ({ question, choice })),
  };
}
