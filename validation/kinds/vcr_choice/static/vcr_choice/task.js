/** One of four responses to a question about a photo. Answers name a choice by its index in the unit, not by its place. */
import { boot } from '../js/hit/page.js';
import { RatingRows, valueOf } from '../js/hit/ratings.js';
import { MentionReader } from '../js/mentions/reader.js';
import { gettext } from '../js/ui/i18n.js';

const byId = (id) => document.getElementById(id);
const words = { gap: gettext('choose one of the four'), choice: gettext('Choice'), several: gettext('Another one is right') };

class ChoiceTask {
  start({ config, announce, preview, changed }) {
    this.config = config;
    this.reader = new MentionReader({ objects: config.unit.objects, announce });
    this.choices = byId('choices');
    this.several = byId('several');
    this.rows = new RatingRows([this.choices], { preview, changed });
    this.several?.addEventListener('change', changed);
  }

  read() {
    const chosen = valueOf(this.choices);
    return { ...(chosen === null ? {} : { choice: Number(chosen) }), ...(this.several ? { several: this.several.checked } : {}) };
  }

  write(answer) {
    this.rows.set(0, answer?.choice ?? null);
    if (this.several) this.several.checked = answer?.several === true;
  }

  answer() { return this.read(); }

  gaps() {
    return valueOf(this.choices) === null ? [{ key: 'choice', href: '#choices', text: words.gap, focus: () => this.rows.goTo(0) }] : [];
  }

  cents() { return this.config.pay.reward_cents; }

  place(field) {
    if (field === 'several' && this.several) return { control: this.several, name: words.several };
    return field === 'choice' ? { control: this.choices.querySelector('input'), name: words.choice } : null;
  }
}

boot(new ChoiceTask());
