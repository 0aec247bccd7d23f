/** The parts of the photo with their letters; small ones are above large ones, so that each can be clicked. */
import { area } from '../js/boxes/geometry.js';
import { svgElement, tabPlace } from '../js/boxes/view.js';

/**
 * @typedef {{id: string, letter: string, colour: number, boxes: import('../js/boxes/geometry.js').Box[]}} Region
 */
export class Regions {
  #groups = new Map();
  #tabs = [];

  /** @param {SVGSVGElement} svg @param {HTMLElement} stage @param {Region[]} regions @param {{width: number, height: number}} size */
  constructor(svg, stage, regions, size) {
    Object.assign(this, { svg, stage, size });
    const boxes = regions.flatMap((region) => region.boxes.map((box) => ({ region, box })));
    for (const region of regions) this.#groups.set(region.id, []);
    for (const { region, box } of boxes.sort((a, b) => area(b.box) - area(a.box))) this.#draw(region, box);
    // Letters are above all boxes.
    svg.append(...this.#tabs.map(({ group }) => group));
    new ResizeObserver(() => this.placeLetters()).observe(stage);
    stage.addEventListener('stage:measure', () => this.placeLetters());
    this.placeLetters();
  }

  /** Highlights a part, or none. */
  highlight(id) {
    this.stage.classList.toggle('stage--lit', id !== null);
    for (const [region, groups] of this.#groups) {
      for (const group of groups) group.classList.toggle('region--lit', region === id);
    }
  }

  /** Sets a part's label for screen readers: its letter and its sentence. */
  setLabel(id, text) {
    for (const group of this.#groups.get(id) ?? []) if (group.getAttribute('role')) group.setAttribute('aria-label', text);
  }

  /** Places the letters side by side, in the same size at any width of the photo. */
  placeLetters() {
    const [shown, view] = [this.svg.getBoundingClientRect(), this.svg.viewBox.baseVal];
    const k = shown.width > 0 ? Math.max(view.width / shown.width, view.height / Math.max(1, shown.height)) : 1;
    this.stage.style.setProperty('--k', String(k));
    const taken = [];
    for (const { group, box, label } of this.#tabs) {
      const tab = tabPlace(box, label, k, this.size);
      const rect = freePosition({ x: box.left / k + tab.dx, y: box.top / k + tab.dy, width: tab.width, height: tab.height }, taken, this.size.width / k);
      taken.push(rect);
      group.setAttribute('transform', `translate(${rect.x * k} ${rect.y * k})`);
    }
  }

  #draw(region, box) {
    const place = { x: box.left, y: box.top, width: box.width, height: box.height, rx: 2 };
    const group = svgElement('g', { class: `region box obs obs-${region.colour}`, 'data-region': region.id, role: 'img', 'aria-label': region.letter });
    group.append(svgElement('rect', { class: 'halo', ...place }), svgElement('rect', { class: 'line hit', ...place }));
    this.svg.append(group);
    const letter = svgElement('g', { class: `region box obs obs-${region.colour}`, 'data-region': region.id, 'aria-hidden': 'true' });
    const tab = svgElement('g', { class: 'tag' });
    const { width, height } = tabPlace(box, region.letter, 1, this.size);
    const text = svgElement('text', { x: width / 2, y: 16 });
    text.textContent = region.letter;
    tab.append(svgElement('path', { d: `M0 0h${width}v${height}h${-width}z` }), text);
    letter.append(tab);
    this.#tabs.push({ group: letter, box, label: region.letter });
    this.#groups.get(region.id).push(group, letter);
  }
}

// Letters of boxes with the same corner are placed side by side.
function freePosition(rect, taken, width) {
  const hit = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  const tries = [rect, ...taken.filter((t) => hit(rect, t)).flatMap((t) => [{ ...rect, x: t.x + t.width + 2 }, { ...rect, x: t.x - rect.width - 2 }, { ...rect, y: t.y + t.height + 2 }])];
  return tries.find((t) => t.x >= 0 && t.x + t.width <= width && !taken.some((other) => hit(t, other))) ?? rect;
}
