/**
 * Who belongs to whom: at most one part for each sentence, at most one sentence for each part. No page here.
 *
 * @typedef {{inference: string, region: string}} Match
 */
export class Matching {
  #inferences;
  #regions;
  #now = new Map();
  #past = [];
  #future = [];

  /** @param {string[]} inferences ids in the order of the page @param {string[]} regions */
  constructor(inferences, regions) {
    this.#inferences = inferences;
    this.#regions = new Set(regions);
  }

  /** @returns {string|null} the part of a sentence */
  regionOf(inference) { return this.#now.get(inference) ?? null; }

  /** @returns {string|null} the sentence that a part has */
  inferenceOf(region) { return this.#inferences.find((one) => this.#now.get(one) === region) ?? null; }

  /** @returns {Match[]} in the order of the sentences */
  get matches() {
    return this.#inferences.filter((one) => this.#now.has(one)).map((one) => ({ inference: one, region: this.#now.get(one) }));
  }

  get done() { return this.#inferences.map((one) => this.#now.has(one)); }

  /** @returns {number} index of the next sentence without a part after `from`, wrapping round; -1 when none is left */
  next(from) {
    const { done } = this;
    for (let step = 1; step <= done.length; step += 1) {
      const at = (from + step) % done.length;
      if (!done[at]) return at;
    }
    return -1;
  }

  /**
   * Gives a sentence a part. A sentence that had the part gets in exchange what this one had, or nothing.
   * @returns {{changed: boolean, other: string|null}} other: the sentence that lost the part
   */
  assign(inference, region) {
    if (!this.#inferences.includes(inference) || !this.#regions.has(region)) return { changed: false, other: null };
    if (this.regionOf(inference) === region) return { changed: false, other: null };
    const [had, other] = [this.regionOf(inference), this.inferenceOf(region)];
    this.#keep();
    this.#now.set(inference, region);
    if (other !== null && had !== null) this.#now.set(other, had);
    else if (other !== null) this.#now.delete(other);
    return { changed: true, other };
  }

  /** Takes a sentence's part away. @returns {boolean} whether it had one */
  clear(inference) {
    if (!this.#now.has(inference)) return false;
    this.#keep();
    this.#now.delete(inference);
    return true;
  }

  /** Shows earlier work; whatever is not one to one is left out, and there is nothing to undo. */
  load(matches) {
    this.#now = new Map();
    this.#past = [];
    this.#future = [];
    for (const row of Array.isArray(matches) ? matches : []) {
      const known = this.#inferences.includes(row?.inference) && this.#regions.has(row?.region);
      if (known && !this.#now.has(row.inference) && this.inferenceOf(row.region) === null) this.#now.set(row.inference, row.region);
    }
  }

  get canUndo() { return this.#past.length > 0; }

  /** @returns {boolean} whether there was something to undo */
  undo() { return this.#step(this.#past, this.#future); }

  /** @returns {boolean} whether there was something to do again */
  redo() { return this.#step(this.#future, this.#past); }

  #step(from, to) {
    if (from.length === 0) return false;
    to.push(this.#now);
    this.#now = from.pop();
    return true;
  }

  #keep() {
    this.#past.push(new Map(this.#now));
    this.#future = [];
  }
}
