/** One checkbox: the worker confirms that the work was theirs. */
import { boot } from '../js/hit/page.js';
import { PlainForm } from '../js/hit/plain-form.js';

boot(new PlainForm());
