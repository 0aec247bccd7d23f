/** Dragging a card with mouse, pen or finger, by pointer events: the browser's own drag does not know touch. */
import { element } from '../js/ui/dom.js';

const FAR = 6; // CSS pixels before a press becomes a drag

/**
 * @param {HTMLElement} handle what is taken hold of
 * @param {{enabled: () => boolean, byTouch: boolean, label: () => string, over: (id: string|null) => void,
 *   drop: (id: string) => void, taken: (on: boolean) => void}} options
 *   byTouch: whether a finger drags here too (elsewhere it scrolls); over: the part below the pointer; drop: on a part
 */
export function draggable(handle, { enabled, byTouch, label, over, drop, taken }) {
  let drag = null;

  const end = (dropped) => {
    if (!drag) return;
    const { ghost, region } = drag;
    drag = null;
    ghost?.remove();
    if (!ghost) return;
    over(null);
    taken(false);
    if (dropped && region) drop(region);
  };

  handle.addEventListener('pointerdown', (e) => {
    if (e.button !== 0 || !e.isPrimary || !enabled() || (e.pointerType === 'touch' && !byTouch)) return;
    drag = { id: e.pointerId, x: e.clientX, y: e.clientY, ghost: null, region: null };
  });
  // On the document: the pointer leaves the handle at once.
  document.addEventListener('pointermove', (e) => {
    if (!drag || e.pointerId !== drag.id) return;
    if (!drag.ghost) {
      if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < FAR) return;
      drag.ghost = element('div', { class: 'ghost', 'aria-hidden': true, text: label() });
      document.body.append(drag.ghost);
      taken(true);
    }
    e.preventDefault();
    drag.ghost.style.transform = `translate(${e.clientX + 12}px, ${e.clientY + 12}px)`;
    const region = document.elementFromPoint(e.clientX, e.clientY)?.closest('[data-region]')?.dataset.region ?? null;
    if (region !== drag.region) over(region);
    drag.region = region;
  });
  document.addEventListener('pointerup', (e) => { if (e.pointerId === drag?.id) end(true); });
  document.addEventListener('pointercancel', (e) => { if (e.pointerId === drag?.id) end(false); });
  document.addEventListener('keydown', (e) => {
    if (e.key !== 'Escape' || !drag?.ghost) return;
    e.preventDefault();
    end(false);
  });
}
