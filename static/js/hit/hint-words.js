/** Messages of live hints, in the page's language. The server sends rule names and quotes, never sentences. */
import { gettext, pieces } from '../ui/i18n.js';

// Answers are English, whatever the page's language, and so are the words proposed for them.
const THEY = { subject: '“they”', object: '“them”', possessive: '“their”', reflexive: '“themselves”', her: '“them”, “their”' };

/** @returns {string} a box's label as on the photo: "2", or "2a" beside others */
export function boxLabel({ card, params }) {
  if (!(params?.boxes > 1)) return String(card);
  return `${card}${params.box <= 26 ? String.fromCharCode(96 + params.box) : `.${params.box}`}`;
}

// By what the words name that no picture shows.
const NOT_VISIBLE = {
  words: gettext('A picture does not show what somebody says: %(quote)s. What could one see instead?'),
  thoughts: gettext('%(quote)s is in somebody’s mind. What could one see: a face, a gesture, a thing?'),
  smells: gettext('A picture has no smell or taste: %(quote)s. What could one see instead?'),
  sounds: gettext('A picture makes no sound: %(quote)s. What could one see instead?'),
  names: gettext('%(quote)s is a name. Write what one sees, such as “a boy” or “a running shoe”.'),
};

const MESSAGES = {
  no_box: () => [gettext('Nothing is marked for this observation yet. Draw a box around the clue.'), {}],
  profanity: (hint, quote) => [gettext('%(quote)s may offend. Use another word.'), { quote }],
  pronoun: (hint, quote) => [
    gettext('The photo cannot tell us %(quote)s. Try %(they)s, or a noun such as “the cook”. You may keep it.'),
    { quote, they: THEY[hint.params?.form] ?? THEY.subject },
  ],
  repeats_clue: (hint, quote) => [gettext('%(quote)s repeats the clue. What does the clue tell you beyond what is visible?'), { quote }],
  repeats_other: (hint, quote) => [gettext('%(quote)s is nearly the same as observation %(other)s. Infer something else.'), { quote, other: String(hint.other) }],
  contradicts: (hint, quote) => [gettext('%(quote)s may contradict observation %(other)s. Both should be able to be true.'), { quote, other: String(hint.other) }],
  caption_like: (hint, quote) => [gettext('%(quote)s only says what everybody can see. What happened before, why, or what comes next?'), { quote }],
  box_too_large: (hint) => [gettext('Box %(label)s covers nearly the whole photo. Draw it around the clue only.'), { label: boxLabel(hint) }],
  bare_number: (hint, quote) => [gettext('%(quote)s is a number in your text. To mention the object, type it again and press Space.'), { quote }],
  given_name: (hint, quote) => [gettext('Do not use the name %(quote)s. Mention the object by its number.'), { quote }],
  repeats_answer: (hint, quote) => [gettext('%(quote)s repeats the answer. What in the photo leads to it, and what do people know about it?'), { quote }],
  copied_question: (hint, quote) => (hint.other === null
    ? [gettext('%(quote)s is nearly the same as a question that you wrote before. Ask something else.'), { quote }]
    : [gettext('%(quote)s is nearly the same as question %(other)s. Ask something else.'), { quote, other: String(hint.other) }]),
  plain_question: (hint, quote) => [gettext('%(quote)s: a look answers that. Ask why, what for, or what comes next.'), { quote }],
  referring_expression: (hint, quote) => [gettext('Do not describe %(quote)s: mention the object by its number.'), { quote }],
  generic_question: (hint, quote) => [gettext('%(quote)s fits any photo. Mention an object, or ask about what is special here.'), { quote }],
  all_unlikely: () => [gettext('All your answers are unlikely. Is there one that most people would agree with?'), {}],
  small_object: (hint, quote) => [gettext('%(quote)s is hardly visible. Do you mean another object?'), { quote }],
  image_number: (hint, quote) => [gettext('Do not write %(quote)s: others see the images in another order. Say what the image shows.'), { quote }],
  only_looks: (hint, quote) => [gettext('%(quote)s is about how the images look. What happened, and why?'), { quote }],
  repeats_description: (hint, quote) => [gettext('%(quote)s only describes an image. What links it to the context?'), { quote }],
  too_few_words: (hint, quote) => [gettext('%(quote)s is very short. Tell the story in a full sentence.'), { quote }],
  premise_unused: (hint, quote) => [
    hint.params?.both
      ? gettext('%(quote)s, and the other hypothesis, take up nothing of the premise. Would people choose the same without it?')
      : gettext('%(quote)s takes up nothing of the premise. Would people choose the same without it?'),
    { quote },
  ],
  not_visible: (hint, quote) => [NOT_VISIBLE[hint.params?.sense] ?? NOT_VISIBLE.words, { quote }],
  several_differences: () => [gettext('The hypotheses differ in several things. Change only one, so that it decides.'), {}],
  copied_scene: (hint, quote) => [gettext('%(quote)s is nearly a scene that you wrote before. Show another idea.'), { quote }],
  too_many_words: (hint) => [gettext('This is much for one picture. Keep what matters, in %(most)s words at most.'), { most: String(hint.params?.most ?? '') }],
  unclear_pronoun: (hint, quote) => [gettext('Who or what is %(quote)s? Each picture is drawn from its own text: name the person or thing again.'), { quote }],
  box_too_small: (hint) => [gettext('Box %(label)s is hardly larger than a click. Draw it again or delete it.'), { label: boxLabel(hint) }],
};

/**
 * @param {import('./hints.js').Hint} hint
 * @returns {(string|{mark: string})[]|null} the sentence in parts, the quoted words marked; null for an unknown rule
 */
export function hintSentence(hint) {
  if (!Object.hasOwn(MESSAGES, hint.rule)) return null;
  return pieces(...MESSAGES[hint.rule](hint, { mark: hint.quote }));
}

export const words = { ignore: gettext('Ignore') };
