/** Which of several images shows a text best, and three questions about it. Answers name an image as its slot does. */
import { boot } from '../js/hit/page.js';
import { Asks } from '../js/hit/triplet/asks.js';
import { Tiles } from '../js/hit/triplet/tiles.js';
import { gettext } from '../js/ui/i18n.js';

const NONE = 'none';
const words = {
  best: gettext('your pick'),
  shows_all: gettext('whether it shows all of the text'),
  same: gettext('whether people and place are the same'),
  broken: gettext('whether anything is broken'),
  chosen: gettext('Your pick'),
};
const radios = (name) => [...document.querySelectorAll(`input[name="${name}"]`)];
const valueOf = (name) => radios(name).find((one) => one.checked)?.value ?? null;
const check = (name, value) => { for (const one of radios(name)) one.checked = one.value === String(value ?? ''); };

class PickTask {
  start({ config, preview, changed }) {
    this.config = config;
    this.preview = preview;
    this.tiles = new Tiles();
    this.asks = new Asks([...document.querySelectorAll('.ask')], {
      preview,
      isDone: (name) => valueOf(name) !== null,
      given: (name) => radios(name).find((one) => one.checked)?.labels[0].querySelector('span').firstChild.textContent.trim() ?? '',
      moved: () => {
        this.#look();
        changed();
      },
    });
    for (const control of document.querySelectorAll('.asks input')) {
      control.addEventListener('change', () => {
        this.#look();
        changed();
      });
    }
  }

  read() { return { ...this.answer(), ask: this.asks.current }; }

  write(answer) {
    check('best', answer?.none === true ? NONE : answer?.best);
    for (const name of this.config.unit.asked) check(name, answer?.[name]);
    this.#look();
    this.asks.restore(answer?.ask);
    this.#look();
  }

  answer() {
    const best = valueOf('best');
    if (best === null) return {};
    if (best === NONE) return { best: null, none: true };
    const given = this.config.unit.asked.map((name) => [name, valueOf(name)]);
    return { best, none: false, ...Object.fromEntries(given.filter(([, value]) => value !== null)) };
  }

  gaps() {
    return this.asks.names.filter((name) => valueOf(name) === null)
      .map((name) => ({ key: name, href: `#ask-${name}`, text: words[name], focus: () => this.#focusOn(name) }));
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    const control = radios(field)[0];
    return control ? { control, name: words[field], reveal: () => this.asks.goTo(field) } : null;
  }

  #focusOn(name) {
    const { names } = this.asks;
    this.asks.goTo(names.slice(0, names.indexOf(name)).find((one) => valueOf(one) === null) ?? name);
  }

  // The questions are about a picked image: without one there are none. The other images step back meanwhile.
  #look() {
    const best = valueOf('best');
    this.asks.only(best === NONE ? ['best'] : null);
    const isAbout = !this.preview && this.asks.current !== 'best' && best !== null && best !== NONE;
    this.tiles.root.classList.toggle('triplet--about', isAbout);
    this.tiles.mark((place) => (place === best ? words.chosen : ''));
    this.tiles.shrink(isAbout);
    this.asks.render();
  }
}

boot(new PickTask());
