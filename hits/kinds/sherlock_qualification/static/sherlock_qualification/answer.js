/**
 * The answer to the qualification task and its gaps. Pure functions.
 *
 * @typedef {{clue: string, inference: string, confidence: 1|2|3|null}} Pair
 * @typedef {{image: number, description: string, pairs: Pair[]}} Photo
 * @typedef {{question: string, choice: number}} Choice
 * @typedef {{images: Photo[], exam: Choice[]}} Answer
 */
export const FIELDS = Object.freeze(['clue', 'inference', 'confidence']);

/** @returns {string} one line without repeated spaces */
export const tidy = (text) => String(text ?? '').replace(/\s+/g, ' ').trim();

// As the server counts (kind.py): a full stop after three letters or fewer may end an abbreviation.
const SENTENCE_END = /(?:[.!?…]*[!?…][.!?…]*|(?<=[\p{L}\p{N}]{4})\.+|(?<=\p{N})\.+)(?=["'”’)]*\s+\S)/gu;

/** @param {string} text @returns {number} the number of sentences; too low if an abbreviation hides an end, never too high */
export function countSentences(text) {
  const line = tidy(text);
  return line ? [...line.matchAll(SENTENCE_END)].length + 1 : 0;
}

/** @param {Pair} pair @returns {string[]} names from FIELDS that are missing */
export function missing(pair) {
  const has = { clue: tidy(pair.clue) !== '', inference: tidy(pair.inference) !== '', confidence: [1, 2, 3].includes(pair.confidence) };
  return FIELDS.filter((part) => !has[part]);
}

export const isComplete = (pair) => missing(pair).length === 0;
export const isEmpty = (pair) => missing(pair).length === FIELDS.length;

/** @param {Photo} photo @returns {'missing'|'long'|null} what is wrong with the description */
export function descriptionGap(photo, maxSentences) {
  const count = countSentences(photo.description);
  if (count === 0) return 'missing';
  return count > maxSentences ? 'long' : null;
}

/** @returns {'empty'|'begun'|'complete'} the progress of a photo */
export function photoState(photo, maxSentences) {
  const gap = descriptionGap(photo, maxSentences);
  if (gap === null && photo.pairs.every(isComplete)) return 'complete';
  return gap === 'missing' && photo.pairs.every(isEmpty) ? 'empty' : 'begun';
}

/**
 * All gaps, in the order of the page. An untouched photo is one gap, not four.
 * @param {Answer} answer @param {string[]} questions ids @param {number} maxSentences maximum of a description
 * @returns {({photo: number, what: 'photo'|'missing'|'long'} | {photo: number, pair: number, fields: string[]}
 *   | {question: number} | {questions: number})[]} photos, pairs and questions counted from 0
 */
export function missingFrom(answer, questions, maxSentences) {
  const gaps = answer.images.flatMap((photo, at) => {
    const state = photoState(photo, maxSentences);
    if (state === 'complete') return [];
    // The first photo is listed field by field, so that the bar shows what a photo needs.
    if (state === 'empty' && at > 0) return [{ photo: at, what: 'photo' }];
    const described = descriptionGap(photo, maxSentences);
    return [
      ...(described ? [{ photo: at, what: described }] : []),
      ...photo.pairs.flatMap((pair, index) => (isComplete(pair) ? [] : [{ photo: at, pair: index, fields: missing(pair) }])),
    ];
  });
  const answered = new Set(answer.exam.map((row) => row.question));
  const open = questions.flatMap((id, at) => (answered.has(id) ? [] : [at]));
  if (open.length > 1 && open.length === questions.length) return [...gaps, { questions: open.length }];
  return [...gaps, ...open.map((question) => ({ question }))];
}

/** @param {Answer} answer @returns {Answer} in the server's format, if nothing is missing */
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
