/**
 * The matching as data: at most one part for each sentence, and at most one sentence for each part. Independent of the page.
 *
 * @typedef {{inference: string, region: string}} Match
 */
export class Matching {
  #inferences;
  #regions;
  #regionByInference = new Map();
  #undoStack = [];
  #redoStack = [];

  /** @param {string[]} inferences ids in the order of the page @param {string[]} regions */
  constructor(inferences, regions) {
    this.#inferences = inferences;
    this.#regions = new Set(regions);
  }

  /** @returns {string|null} the part of a sentence */
  regionOf(inference) { return this.#regionByInference.get(inference) ?? null; }

  /** @returns {string|null} the sentence of a part */
  inferenceOf(region) { return this.#inferences.find((id) => this.#regionByInference.get(id) === region) ?? null; }

  /** @returns {Match[]} in the order of the sentences */
  get matches() {
    return this.#inferences.filter((id) => this.#regionByInference.has(id)).map((id) => ({ inference: id, region: this.#regionByInference.get(id) }));
  }

  get done() { return this.#inferences.map((id) => this.#regionByInference.has(id)); }

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
   * Gives a sentence a part. If another sentence had the part, it gets this sentence's earlier part, or none.
   * @returns {{changed: boolean, other: string|null}} other: the sentence that lost the part
   */
  assign(inference, region) {
    if (!this.#inferences.includes(inference) || !this.#regions.has(region)) return { changed: false, other: null };
    if (this.regionOf(inference) === region) return { changed: false, other: null };
    const [had, other] = [this.regionOf(inference), this.inferenceOf(region)];
    this.#saveForUndo();
    this.#regionByInference.set(inference, region);
    if (other !== null && had !== null) this.#regionByInference.set(other, had);
    else if (other !== null) this.#regionByInference.delete(other);
    return { changed: true, other };
  }

  /** Removes a sentence's part. @returns {boolean} whether it had one */
  clear(inference) {
    if (!this.#regionByInference.has(inference)) return false;
    this.#saveForUndo();
    this.#regionByInference.delete(inference);
    return true;
  }

  /** Loads a saved matching without the matches that are not one to one; it cannot be undone. */
  load(matches) {
    this.#regionByInference = new Map();
    this.#undoStack = [];
    this.#redoStack = [];
    for (const row of Array.isArray(matches) ? matches : []) {
      const known = this.#inferences.includes(row?.inference) && this.#regions.has(row?.region);
      if (known && !this.#regionByInference.has(row.inference) && this.inferenceOf(row.region) === null) this.#regionByInference.set(row.inference, row.region);
    }
  }

  get canUndo() { return this.#undoStack.length > 0; }

  /** @returns {boolean} whether there was something to undo */
  undo() { return this.#step(this.#undoStack, this.#redoStack); }

  /** @returns {boolean} whether there was something to redo */
  redo() { return this.#step(this.#redoStack, this.#undoStack); }

  #step(from, to) {
    if (from.length === 0) return false;
    to.push(this.#regionByInference);
    this.#regionByInference = from.pop();
    return true;
  }

  #saveForUndo() {
    this.#undoStack.push(new Map(this.#regionByInference));
    this.#redoStack = [];
  }
}
