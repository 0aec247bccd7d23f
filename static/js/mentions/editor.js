/**
 * The photo with its objects, the list of objects, and the text fields of a page: what is pressed in one is mentioned in
 * the field that had focus last, and what is pointed at in one is lit in all.
 */
import { setText } from '../ui/dom.js';
import { MentionField } from './field.js';
import { showPhoto } from './photo-tools.js';
import { objectLabel } from './segments.js';
import { ObjectStrip, keepAboveKeyboard } from './strip.js';
import { Suggestions } from './suggest.js';
import { words } from './words.js';

export class MentionEditor {
  #fields = [];
  #last = null;
  #picked = null;
  #picking = false;

  /**
   * @param {{objects: import('./objects.js').DetectedObject[], announce: (text: string) => void, readOnly: boolean,
   *   current: () => MentionField, roomHeight: () => number}} page
   *   current: the field to write into before any had focus; roomHeight: the photo's maximum height in CSS pixels
   */
  constructor({ objects, announce, readOnly, current, roomHeight }) {
    Object.assign(this, { announce, readOnly, current });
    this.names = objects.map(({ name }) => name);
    const byId = (id) => document.getElementById(id);
    const point = (object) => this.#light(object === null ? [] : [object]);
    const pick = (object, at, count, again) => this.#pick(object, { at, count, again });
    Object.assign(this, showPhoto(objects, { announce, roomHeight, point, pick }));
    this.strip = new ObjectStrip(byId('objects'), this.names, { point, pick: (object) => this.#pick(object) });
    this.suggestions = new Suggestions(byId('suggestions'), this.names, { announce, point });
    if (readOnly) this.strip.disable();
    keepAboveKeyboard(byId('strip'));
  }

  /** Makes a text field of an element. @param {HTMLElement} root @returns {MentionField} */
  field(root) {
    const field = new MentionField(root, this.names);
    this.#fields.push(field);
    if (this.readOnly) field.disable();
    this.suggestions.watch(field);
    const take = () => { this.#last = field; };
    // Who goes back from a later field to the list of objects passes this one by.
    field.root.addEventListener('focus', (e) => this.#comesFromLater(field, e.relatedTarget) || take());
    field.root.addEventListener('mousedown', take);
    field.addEventListener('change', take);
    field.addEventListener('point', (e) => this.#light(e.detail.objects ?? []));
    field.addEventListener('change', () => this.#picking || this.photo.forget());
    return field;
  }

  /** Forgets which field had focus, for example because its card was closed. */
  leave(field) {
    if (this.#last === field) this.#last = null;
  }

  #comesFromLater({ root }, other) {
    return this.#fields.some((field) => field.root === other) && (root.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  }

  #pick(object, { at = 1, count = 1, again = false } = {}) {
    if (this.readOnly) return;
    const field = this.#last ?? this.current();
    this.suggestions.close();
    field.focus();
    // Another press at one place means the next object there: it takes the place of the one before.
    if (again && this.#picked?.field === field) while (field.model.steps > this.#picked.steps) field.model.undo();
    this.#picked = { field, steps: field.model.steps };
    this.#picking = true;
    field.insertTag([object]);
    this.#picking = false;
    const label = objectLabel(this.names, object);
    const text = count > 1 ? words.picked(label, at, count) : words.inserted(label);
    this.announce(text);
    setText(document.getElementById('hint'), text);
  }

  #light(objects) {
    this.photo.light(objects);
    this.strip.light(objects);
    for (const field of this.#fields) field.light(objects[0] ?? null);
  }
}
