/** One tick: the work was mine. */
import { boot } from '../js/hit/page.js';
import { PlainForm } from '../js/hit/plain-form.js';

boot(new PlainForm());
