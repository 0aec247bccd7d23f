/** A photo with numbered boxes, drawn anew for each card. */
import { pixelsPerCss } from '../../js/boxes/transform.js';
import { svgElement } from '../../js/boxes/view.js';
import { ObjectPhoto } from '../../js/mentions/objects.js';
import { element } from '../../js/ui/dom.js';

export class MarkedPhoto {
  #shown = null;

  /** @param {HTMLElement} place whose content is replaced by the photo */
  constructor(place) {
    this.place = place;
    this.stage = element('div', { class: 'stage' });
    new ResizeObserver(() => this.#measure()).observe(place);
  }

  /** @param {{url: string, alt: string, width: number, height: number}} image @param {{boxes: object[], label: string}[]} marks */
  show({ url, alt, width, height }, marks) {
    const key = JSON.stringify([url, marks]);
    if (this.#shown?.key === key) return;
    const svg = svgElement('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': alt || 'Photo with numbered objects' });
    svg.append(svgElement('image', { href: url, width, height }));
    const objects = marks.map(({ boxes, label }) => ({ name: label, box: boxes[0], polygons: [] }));
    this.#shown = { key, svg, width, photo: new ObjectPhoto(svg, objects, { pick: () => {}, point: () => {} }) };
    this.#shown.photo.showAll(true);
    this.stage.replaceChildren(svg);
    this.place.replaceChildren(this.stage);
    this.#measure();
  }

  #measure() {
    if (!this.#shown) return;
    const { svg, width, photo } = this.#shown;
    photo.setScale(pixelsPerCss(svg.getBoundingClientRect().width, width));
  }
}
