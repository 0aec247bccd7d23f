/** Which of two images is more plausible, why, how certain, and how likely each is. Answers name h1 and h2, not places. */
import { boot } from '../js/hit/page.js';
import { Asks } from '../js/hit/triplet/asks.js';
import { Tiles } from '../js/hit/triplet/tiles.js';
import { words } from './words.js';

const byId = (id) => document.getElementById(id);
const radios = (name) => [...document.querySelectorAll(`input[name="${CSS.escape(name)}"]`)];
const chosen = (name) => radios(name).find((one) => one.checked) ?? null;
const check = (name, value) => { for (const one of radios(name)) one.checked = one.value === String(value ?? ''); };

class PlausibilityTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.tiles = new Tiles();
    this.why = byId('why');
    this.asks = new Asks([...document.querySelectorAll('.ask')], {
      preview,
      isDone: (name) => this.#isDone(name),
      given: (name) => this.#given(name),
      moved: () => {
        this.#look();
        changed();
      },
    });
    const touched = () => {
      this.asks.render();
      changed();
    };
    for (const control of document.querySelectorAll('.asks input')) control.addEventListener('change', touched);
    this.why?.addEventListener('input', touched);
    this.preview = preview;
  }

  /** The draft also has the open question. */
  read() { return { ...this.answer(), ask: this.asks.current }; }

  write(answer) {
    check('choice', answer?.choice);
    check('certainty', answer?.certainty);
    for (const { id } of this.config.unit.slots) check(`rating-${id}`, answer?.ratings?.[id]);
    if (this.why) this.why.value = typeof answer?.why === 'string' ? answer.why : '';
    this.asks.restore(answer?.ask);
    this.#look();
  }

  answer() {
    const { asked, slots } = this.config.unit;
    const ratings = slots.flatMap(({ id }) => (chosen(`rating-${id}`) ? [[id, Number(chosen(`rating-${id}`).value)]] : []));
    const parts = {
      choice: chosen('choice')?.value,
      why: this.why?.value,
      certainty: chosen('certainty')?.value,
      ratings: Object.fromEntries(ratings),
    };
    return Object.fromEntries(asked.filter((name) => parts[name] !== undefined).map((name) => [name, parts[name]]));
  }

  gaps() {
    return this.asks.names.filter((name) => !this.#isDone(name)).map((name) => ({
      key: name, href: `#ask-${name}`, text: this.#gap(name), focus: () => this.#focusOn(name),
    }));
  }

  cents() { return this.config.pay.reward_cents; }

  hintPlace() { return byId('why-hints'); }

  place(field) {
    const name = field.replace(/^ratings\./, '');
    const control = name === 'why' ? this.why : radios(name)[0] ?? radios(`rating-${name}`)[0];
    return control ? { control, name: this.#gap(name), reveal: () => this.asks.goTo(name) } : null;
  }

  // A later question opens only after those before it are answered.
  #focusOn(name) {
    const { names } = this.asks;
    this.asks.goTo(names.slice(0, names.indexOf(name)).find((one) => !this.#isDone(one)) ?? name);
  }

  #isDone(name) { return name === 'why' ? this.why.value.trim() !== '' : (chosen(name) ?? chosen(`rating-${name}`)) !== null; }

  #given(name) {
    if (name === 'why') return this.why.value.trim();
    const radio = chosen(name) ?? chosen(`rating-${name}`);
    return radio === null ? '' : this.#isRating(name) ? words.of5(radio.value) : labelOf(radio);
  }

  #isRating(name) { return this.config.unit.slots.some(({ id }) => id === name); }

  #gap(name) { return this.#isRating(name) ? words.rating(this.tiles.name(name)) : words[name]; }

  // While one image is rated, the other one is away.
  #look() {
    const now = this.asks.current;
    this.tiles.show((place) => place === 'premise' || !this.#isRating(now) || place === now);
    this.tiles.shrink(!this.preview && now !== this.asks.names[0]);
  }
}

/** The words of a choice, without its key. */
function labelOf(radio) {
  const copy = radio.labels[0].cloneNode(true);
  for (const key of copy.querySelectorAll('kbd')) key.remove();
  return copy.textContent.trim().replace(/\s+/g, ' ');
}

boot(new PlausibilityTask());
