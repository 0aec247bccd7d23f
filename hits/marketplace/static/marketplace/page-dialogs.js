/**
 * Stands in front of a requester's own page, before any of its scripts. A frame without rights shows no dialogs, and an
 * alert that nobody sees leaves the worker with a button that does nothing. Pages of Amazon's editor also call two
 * functions of its own library, which its site put there.
 */
(() => {
  'use strict';
  function say(text) {
    let bar = document.getElementById('said-by-the-page');
    if (!bar) {
      bar = document.createElement('div');
      bar.id = 'said-by-the-page';
      bar.setAttribute('role', 'alert');
      bar.style.cssText = 'position:fixed;inset:0 0 auto 0;z-index:2147483647;display:flex;gap:16px;align-items:center;'
        + 'padding:12px 16px;background:#fff4d6;color:#221c12;border-bottom:1px solid #8a6d1f;font:16px/1.4 system-ui,sans-serif';
      const words = document.createElement('span');
      words.style.cssText = 'flex:1;white-space:pre-wrap';
      const close = document.createElement('button');
      close.type = 'button';
      close.textContent = 'OK';
      close.style.cssText = 'min-width:44px;min-height:44px;font:inherit';
      close.addEventListener('click', () => bar.remove());
      bar.append(words, close);
      document.documentElement.append(bar);
    }
    bar.firstChild.textContent = text;
  }
  window.alert = (text = '') => say(String(text));
  window.confirm = () => true;
  window.prompt = (text, given = '') => given;
  window.turkGetParam = (name, otherwise = '') => new URLSearchParams(location.search).get(name) ?? otherwise;
  window.turkSetAssignmentID = () => {}; // the form carries the id already
})();
