/**
 * The parts of an observation, and whether it is complete. Pure functions.
 *
 * @typedef {{left: number, top: number, width: number, height: number}} Box
 * @typedef {{index: number, bonus: boolean, clue: string, inference: string, confidence: 1|2|3|null, boxes: Box[]}} Observation
 */
/** The four parts of an observation in the order of the card. */
export const PARTS = Object.freeze(['clue', 'box', 'inference', 'confidence']);

/** @returns {string} one line without repeated spaces */
export const tidy = (text) => String(text ?? '').replace(/\s+/g, ' ').trim();

/** @param {Observation} o @returns {string[]} names from PARTS that are still missing */
export function missing(o) {
  const has = {
    clue: tidy(o.clue) !== '', box: o.boxes.length > 0, inference: tidy(o.inference) !== '', confidence: [1, 2, 3].includes(o.confidence),
  };
  return PARTS.filter((part) => !has[part]);
}

/** @param {Observation} o @returns {boolean} */
export const isEmpty = (o) => missing(o).length === PARTS.length;
/** @param {Observation} o @returns {boolean} */
export const isComplete = (o) => missing(o).length === 0;

/** @param {Observation[]} observations @returns {Observation[]} those that prevent a submission; a bonus observation is complete or empty */
export function unfinished(observations) {
  return observations.filter((o) => (o.bonus ? !isEmpty(o) && !isComplete(o) : !isComplete(o)));
}

/** @param {Observation[]} observations @returns {{observations: Observation[]}} the answer for the server */
export function toAnswer(observations) {
  return {
    observations: observations.filter((o) => !o.bonus || !isEmpty(o)).map((o) => ({
      index: o.index,
      clue: tidy(o.clue),
      inference: tidy(o.inference),
      confidence: o.confidence,
      boxes: o.boxes.map(({ left, top, width, height }) => ({ left, top, width, height })),
    })),
  };
}

/** @param {Observation[]} observations @returns {number} complete bonus observations */
export const bonuses = (observations) => observations.filter((o) => o.bonus && isComplete(o)).length;
