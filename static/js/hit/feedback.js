/**
 * A trainer's feedback on the last attempt: the earlier photo with its boxes, the parts of each card, and the remarks
 * beside them.
 *
 * @typedef {{observation: number|null, part: string|null, box: number|null, text: string}} Remark
 * @typedef {{outcome: 'again'|'complete', summary: string, remarks: Remark[], written_at: string,
 *   image: {url: string, width: number, height: number, alt: string, credit: string}|null,
 *   observations: {index: number, clue: string, inference: string, confidence: number, boxes: object[]}[]}} Feedback
 */
import { BoxStore } from '../boxes/store.js';
import { BoxView, svgElement } from '../boxes/view.js';
import { pixelsPerCss } from '../boxes/transform.js';
import { element, icon } from '../ui/dom.js';
import { gettext, interpolate, language, ngettext } from '../ui/i18n.js';
import { safeStorage } from './storage.js';

const PARTS = ['clue', 'boxes', 'inference', 'confidence'];
const words = {
  title: gettext('Your trainer’s answer'),
  again: gettext('Try again'),
  complete: gettext('You are ready'),
  written: (day) => interpolate(gettext('to your attempt, written on %(day)s'), { day }),
  remarks: (n) => interpolate(ngettext('%(n)s remark', '%(n)s remarks', n), { n }),
  announced: (outcome, remarks) => interpolate(gettext('Your trainer answered your last attempt: %(outcome)s. %(remarks)s, above the photo.'), { outcome, remarks }),
  photo: gettext('Your earlier photo'),
  caption: gettext('Your earlier photo, with the boxes you drew'),
  gone: gettext('The photo of that attempt was taken down later.'),
  whole: gettext('Overall'),
  card: gettext('On this observation'),
  part: {
    clue: gettext('I spy'), boxes: gettext('Boxes'), inference: gettext('It might indicate that'), confidence: gettext('How sure'),
  },
  sure: { 1: gettext('possible'), 2: gettext('likely'), 3: gettext('certain') },
  drawn: (n) => interpolate(ngettext('%(n)s box', '%(n)s boxes', n), { n }),
  remark: (n) => interpolate(gettext('Remark %(n)s:'), { n }),
  box: (label) => interpolate(gettext('Box %(label)s.'), { label }),
  fold: gettext('I have read this; hide it'),
};

/**
 * Shows the feedback in `place`, open until the worker closes it, and announces it.
 * @param {HTMLElement} place @param {Feedback|null} feedback @param {(text: string) => void} announce
 */
export function showFeedback(place, feedback, announce, storage = safeStorage()) {
  place.replaceChildren();
  place.hidden = !feedback;
  if (!feedback) return;
  const key = `folded:${feedback.written_at}`;
  const panel = element('details', { class: 'fb', open: storage.get(key) === null });
  panel.append(summaryLine(feedback), body(feedback, () => fold(panel)));
  panel.addEventListener('toggle', () => (panel.open ? storage.remove(key) : storage.set(key, true)));
  place.append(panel);
  if (panel.open) announce(words.announced(words[feedback.outcome], words.remarks(feedback.remarks.length)));
}

/** @param {Remark[]} remarks @returns {(Remark & {number: number})[]} in the order in which the panel shows them */
export function numbered(remarks) {
  const rank = ({ observation, part }) => (observation ?? 0) * 10 + (part === null ? 9 : PARTS.indexOf(part));
  const sorted = remarks.map((remark, place) => ({ remark, place }));
  sorted.sort((a, b) => rank(a.remark) - rank(b.remark) || a.place - b.place);
  return sorted.map(({ remark }, i) => ({ ...remark, number: i + 1 }));
}

function summaryLine({ outcome, written_at, remarks }) {
  // The English of these pages is British: the day before the month.
  const day = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { day: 'numeric', month: 'long' }).format(new Date(written_at));
  const ready = outcome === 'complete';
  return element('summary', {},
    element('b', { text: words.title }), ' ',
    element('span', { class: 'muted', text: words.written(day) }), ' ',
    element('span', { class: `badge badge--${ready ? 'ok' : 'info'}` }, icon(ready ? 'ok' : 'sync'), words[outcome]), ' ',
    element('span', { class: 'badge num', text: words.remarks(remarks.length) }));
}

function body({ image, observations, summary, remarks }, onRead) {
  const all = numbered(remarks);
  const photo = image ? earlierPhoto(image, observations) : null;
  const of = (observation, part) => all.filter((remark) => remark.observation === observation && remark.part === part);
  const cards = observations.map((observation) => card(observation, of, photo?.store));
  return element('div', { class: 'fb-b' },
    photo ? photo.figure : element('p', { class: 'fb-photo muted', text: words.gone }),
    element('div', { class: 'fb-texts' },
      ...(summary ? [element('p', { class: 'fb-summary', text: summary })] : []),
      ...(of(null, null).length ? [line(words.whole, null, of(null, null))] : []),
      ...cards,
      element('button', { type: 'button', class: 'btn btn--small', text: words.fold, on: { click: onRead } })));
}

function card(observation, of, store) {
  const { index, clue, inference, confidence, boxes } = observation;
  const texts = { clue, inference, boxes: words.drawn(boxes.length), confidence: words.sure[confidence] };
  const label = (remark) => (remark.box === null ? '' : store?.label(store.of(index)[remark.box - 1]) ?? String(remark.box));
  // Clue and inference have a line each; the other parts only if a remark is about them.
  const shownParts = PARTS.filter((part) => part === 'clue' || part === 'inference' || of(index, part).length);
  const rest = PARTS.filter((part) => !shownParts.includes(part)).map((part) => texts[part]).join(', ');
  const made = element('section', { class: `fb-card obs obs-${index}`, 'aria-labelledby': `fb-${index}` },
    element('h2', { id: `fb-${index}` }, element('span', { class: 'dot', 'aria-hidden': 'true', text: String(index) }), element('span', { class: 'sr', text: interpolate(gettext('Observation %(n)s'), { n: index }) })),
    element('div', { class: 'fb-lines' },
      ...shownParts.map((part) => line(words.part[part], texts[part], of(index, part), label)),
      ...(rest ? [line(rest, '', [])] : []),
      ...(of(index, null).length ? [line(words.card, null, of(index, null))] : [])));
  const show = (obs) => () => store?.setActive(obs);
  made.addEventListener('pointerenter', show(index));
  made.addEventListener('pointerleave', show(null));
  return made;
}

function line(name, text, remarks, label = () => '') {
  return element('div', { class: `fb-line${remarks.length ? ' fb-line--remarked' : ''}` },
    element('p', { class: 'fb-text' }, ...(name ? [element('span', { class: 'muted', text: name }), ' '] : []), ...(text ? [element('span', { text })] : [])),
    ...(remarks.length ? [element('ul', { class: 'fb-remarks' }, ...remarks.map((remark) => remarkItem(remark, label(remark))))] : []));
}

function remarkItem(remark, box) {
  return element('li', {},
    element('span', { class: 'sr', text: words.remark(remark.number) }),
    element('span', { class: 'fb-n num', 'aria-hidden': 'true', text: String(remark.number) }),
    element('span', {}, ...(box ? [element('b', { text: words.box(box) }), ' '] : []), remark.text));
}

function earlierPhoto(image, observations) {
  const { width, height, url } = image;
  const svg = svgElement('svg', { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': image.alt || words.photo });
  svg.append(svgElement('image', { href: url, width, height }));
  const stage = element('div', { class: 'stage' }, svg);
  const store = new BoxStore({ width, height }, { min: 1 });
  const view = new BoxView(svg, store, { readOnly: true });
  store.load(observations.flatMap(({ index, boxes }) => boxes.map((box) => ({ obs: index, box }))));
  new ResizeObserver(() => {
    const shown = svg.getBoundingClientRect();
    const k = Math.max(pixelsPerCss(shown.width, width), pixelsPerCss(shown.height, height));
    stage.style.setProperty('--k', String(k));
    view.setScale(k);
  }).observe(stage);
  const caption = element('figcaption', { class: 'muted', text: words.caption });
  if (image.credit) caption.append(element('br'), image.credit);
  return { store, figure: element('figure', { class: 'fb-photo' }, stage, caption) };
}

function fold(panel) {
  panel.open = false;
  panel.querySelector('summary').focus();
}
