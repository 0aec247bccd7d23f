/**
 * Runs before the scripts of a requester's own page. A sandboxed frame shows no dialogs, so that a button whose script
 * calls alert() would seem to do nothing. Pages of Amazon's editor also call two functions of the library that Amazon's
 * site added.
 */
(() => {
  'use strict';
  function showMessage(text) {
    let bar = document.getElementById('page-message');
    if (!bar) {
      bar = document.createElement('div');
      bar.id = 'page-message';
      bar.setAttribute('role', 'alert');
      bar.style.cssText = 'position:fixed;inset:0 0 auto 0;z-index:2147483647;display:flex;gap:16px;align-items:center;'
        + 'padding:12px 16px;background:#fff4d6;color:#221c12;border-bottom:1px solid #8a6d1f;font:16px/1.4 system-ui,sans-serif';
      const message = document.createElement('span');
      message.style.cssText = 'flex:1;white-space:pre-wrap';
      const close = document.createElement('button');
      close.type = 'button';
      close.textContent = 'OK';
      close.style.cssText = 'min-width:44px;min-height:44px;font:inherit';
      close.addEventListener('click', () => bar.remove());
      bar.append(message, close);
      document.documentElement.append(bar);
    }
    bar.firstChild.textContent = text;
  }
  window.alert = (text = '') => showMessage(String(text));
  window.confirm = () => true;
  window.prompt = (text, defaultText = '') => defaultText;
  window.turkGetParam = (name, fallback = '') => new URLSearchParams(location.search).get(name) ?? fallback;
  window.turkSetAssignmentID = () => {}; // the form already has the id
})();
