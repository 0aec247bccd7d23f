/**
 * Texts with object tags, as pure data. Segments are the server's (hits/domain/tagged_text.py): strings, and tags
 * `{objects: [0, 2]}` with indices from 0, sorted and distinct. No two strings stand side by side.
 *
 * A position counts the UTF-16 units of strings, and one for each tag. So a text is a string in which MARK stands for
 * each tag, plus the list of tags.
 *
 * @typedef {{objects: number[]}} Tag
 * @typedef {string|Tag} Segment
 * @typedef {{text: string, tags: Tag[]}} Flat
 */
export const MARK = '\uFFFC';
// As Python's str.isspace() and \s, which differ from JavaScript's \s.
const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const CONTROLS = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}]/gu;
const WORD = /[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}'’])*/gu;
/** What joins a tag to the tag before it: "1 and 2", "1, 2"; and what joins it to a group alone: "1, 2, and 3". */
const JOINT = new RegExp(`${MARK} ?(?:,|and|&|(, ?and)) ?${MARK}$`, 'u');

const isText = (segment) => typeof segment === 'string';

/** @param {number[]} objects @returns {Tag} */
export const tagOf = (objects) => ({ objects: [...new Set(objects)].sort((a, b) => a - b) });

/** @param {Segment[]} segments @returns {Flat} */
export function flatten(segments) {
  return { text: segments.map((s) => (isText(s) ? s.replaceAll(MARK, '') : MARK)).join(''), tags: segments.filter((s) => !isText(s)) };
}

/** @param {Flat} flat @returns {Segment[]} without empty strings */
export function unflatten({ text, tags }) {
  const pieces = text.split(MARK);
  return pieces.flatMap((piece, at) => [...(piece ? [piece] : []), ...(at < tags.length ? [tags[at]] : [])]);
}

/** @returns {Segment[]} segments that are joined and have no empty strings, whatever the input's order was */
export const joined = (segments) => unflatten(flatten(segments));

/** @param {Segment[]} segments @returns {number} the last position */
export const lengthOf = (segments) => flatten(segments).text.length;

/** @returns {Segment[]} the part between two positions */
export function slice(segments, from, to) {
  const { text, tags } = flatten(segments);
  return unflatten({ text: text.slice(from, to), tags: tags.slice(marksIn(text.slice(0, from)), marksIn(text.slice(0, to))) });
}

/** @returns {Segment[]} segments with the part between two positions replaced by others */
export function replace(segments, from, to, inserted) {
  return joined([...slice(segments, 0, from), ...inserted, ...slice(segments, to, Infinity)]);
}

const marksIn = (text) => text.split(MARK).length - 1;

/** @returns {Tag|null} the tag between a position and the next one */
export function tagAt(segments, position) {
  const { text, tags } = flatten(segments);
  return text[position] === MARK ? tags[marksIn(text.slice(0, position))] : null;
}

/** @param {string} name of the object's class @param {number} index from 0 @returns {string} "person 3" */
export const objectLabel = (names, index) => `${names[index]} ${index + 1}`;

/** @returns {string} words as a sentence lists them: "a", "a and b", "a, b and c"; the texts are English */
const listed = (words) => (words.length < 3 ? words : [words.slice(0, -1).join(', '), words.at(-1)]).join(' and ');

/** @param {Tag} tag @param {string[]} names of all objects @returns {string} "person 1 and dog 2" */
export const tagLabel = (tag, names) => listed(tag.objects.map((index) => objectLabel(names, index)));

/** @returns {string} the text as people read it */
export const displayText = (segments, names) => segments.map((s) => (isText(s) ? s : tagLabel(s, names))).join('');

/** @returns {string} the text as it is copied: tags in brackets, so that `parse` reads them back */
export const copyText = (segments, names) => segments.map((s) => (isText(s) ? s : `[${tagLabel(s, names)}]`)).join('');

/** @param {string} text on one or several lines @param {string[]} names @returns {Segment[]} "[person 3]" becomes a tag if there is such an object */
export function parse(text, names) {
  const labels = new Map(names.map((_, index) => [objectLabel(names, index).toLowerCase(), index]));
  return joined(plainLine(text).split(/(\[[^[\]]*\])/).map((piece) => {
    if (!/^\[.*\]$/.test(piece)) return piece;
    const objects = piece.slice(1, -1).toLowerCase().split(/, | and /).map((label) => labels.get(label.trim()));
    return objects.every((index) => index !== undefined) ? tagOf(objects) : piece;
  }));
}

/** @returns {string} pasted text on one line, without control characters and invisible separators */
export function plainLine(text) {
  return text.replace(SPACES, ' ').replace(CONTROLS, '').replace(/[\u200B\uFEFF\uFFFC]/g, '');
}

/** @returns {Segment[]} the text as the server stores it: NFC, single spaces, none at the ends */
export function tidy(segments) {
  const clean = joined(segments).map((s) => (isText(s) ? s.normalize('NFC').replace(SPACES, ' ') : tagOf(s.objects)));
  if (isText(clean[0] ?? 0)) clean[0] = clean[0].replace(/^ /, '');
  if (isText(clean.at(-1) ?? 0)) clean[clean.length - 1] = clean.at(-1).replace(/ $/, '');
  return clean.filter((s) => s !== '');
}

/** @returns {number} words: runs of letters, digits and apostrophes, and each tag as one word */
export const countWords = (segments) => segments.reduce((sum, s) => sum + (isText(s) ? (s.match(WORD) ?? []).length : 1), 0);

/** @returns {number} mentioned objects, with repetitions */
export const countMentions = (segments) => segments.reduce((sum, s) => sum + (isText(s) ? 0 : s.objects.length), 0);

/** @returns {boolean} whether a text has characters that the server refuses */
export const hasControls = (segments) => segments.some((s) => isText(s) && (s.replace(SPACES, '').match(CONTROLS) ?? []).length > 0);

/** @returns {number} the length of the displayed text in code points, as the server counts */
export const countCharacters = (segments, names) => [...displayText(segments, names)].length;

/**
 * Makes one group of a tag and the tag before it, if only "and" or a comma is between them. After one object, ", and"
 * begins a clause: "he looks at 4, and 3 waves".
 * @param {Segment[]} segments @param {number} position behind the second tag
 * @returns {{segments: Segment[], position: number}|null} null if there is nothing to join
 */
export function joinGroup(segments, position) {
  const { text } = flatten(segments);
  const joint = JOINT.exec(text.slice(0, position));
  if (!joint) return null;
  const [first, second] = [tagAt(segments, joint.index), tagAt(segments, position - 1)];
  if (joint[1] && first.objects.length === 1) return null;
  const group = tagOf([...first.objects, ...second.objects]);
  return { segments: replace(segments, joint.index, position, [group]), position: joint.index + 1 };
}
