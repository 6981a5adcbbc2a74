// Keeps the page live: polls for changes, and then applies what the server rendered.
// Without this script the page is complete, but does not update.
// The server puts the function formatDuration before this text.
/* global formatDuration */
const INTERVAL_MS = 3_000;
/** Relative to this script, since a proxy may serve the exporter below any path. */
const STATUS = new URL('../api/status', document.currentScript.src);
/** An exporter that is stopped or cut off keeps the connection and says nothing. */
const TIMEOUT_MS = 10_000;

let shown = '';

async function refresh() {
  const options = { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) };
  const { ok, headers } = await fetch(STATUS, { ...options, method: 'HEAD' });
  if (!ok) throw new Error('no status');
  const version = headers.get('etag') ?? '';
  if (shown !== '' && version !== shown) {
    // Browsers get a page where programs get JSON.
    const response = await fetch(location.href, { ...options, headers: { accept: 'text/html' } });
    if (!response.ok) throw new Error('no page');
    apply(new DOMParser().parseFromString(await response.text(), 'text/html'));
  }
  shown = version;
}

/** Replaces only what has changed: focus, selection and scroll position stay. */
function apply(page) {
  document.title = page.title;
  for (const id of ['main', 'at']) {
    const [before, after] = [document, page].map((one) => one.getElementById(id));
    if (before !== null && after !== null) patch(before, after);
  }
}

function patch(before, after) {
  if (before.isEqualNode(after)) return;
  const isAlike =
    before.nodeName === after.nodeName && before.childNodes.length === after.childNodes.length;
  if (!isAlike || before.nodeType !== Node.ELEMENT_NODE) {
    before.replaceWith(after.cloneNode(true));
    return;
  }
  for (const name of before.getAttributeNames()) {
    // What a person has unfolded stays unfolded.
    if (name !== 'open' && !after.hasAttribute(name)) before.removeAttribute(name);
  }
  for (const { name, value } of after.attributes) before.setAttribute(name, value);
  const children = [...after.childNodes];
  for (const [index, child] of [...before.childNodes].entries()) patch(child, children[index]);
}

/** Every time on the page is shown as the duration since or until then. */
function updateTimes() {
  for (const time of document.querySelectorAll('time')) {
    const seconds = Math.abs(Date.now() - clockAheadMs - Date.parse(time.dateTime)) / 1000;
    time.textContent = formatDuration(Math.round(seconds));
  }
  setTimeout(updateTimes, 1000);
}

/** Copies the command before a button. Without https browsers offer no clipboard: then it is selected, and copied as such. */
async function copyCommand({ target }) {
  if (!target.classList.contains('copy')) return;
  const command = target.previousElementSibling;
  getSelection().selectAllChildren(command);
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(command.textContent);
    else document.execCommand('copy');
    target.textContent = 'copied';
  } catch {
    target.textContent = 'selected';
  }
  setTimeout(() => (target.textContent = 'copy'), 2000);
}

async function follow() {
  const live = document.getElementById('live');
  try {
    if (!document.hidden) await refresh();
    if (live.textContent !== 'Live.') live.textContent = 'Live.';
  } catch {
    live.textContent = 'The exporter does not respond: this page is out of date.';
  }
  setTimeout(() => void follow(), INTERVAL_MS);
}

/** How far this clock is ahead of the exporter's, which all times are from. */
const clockAheadMs = Date.now() - Date.parse(document.getElementById('at').value);
document.documentElement.classList.add('scripted');
document.addEventListener('click', (event) => void copyCommand(event));
void follow();
updateTimes();
