// Keeps the page live: asks whether anything was polled, and then takes over what the server renders.
// Without this script the page is complete, only still.
const ASK_MS = 3_000;
const STATUS = '/api/status';
/** What a person sees at an address; a program may get JSON there. */
const PAGE = { cache: 'no-store', headers: { accept: 'text/html' } };

let shown = '';

async function refresh() {
  const { ok, headers } = await fetch(STATUS, { method: 'HEAD', cache: 'no-store' });
  if (!ok) throw new Error('no status');
  const version = headers.get('etag') ?? '';
  if (shown !== '' && version !== shown) {
    const answer = await fetch(location.href, PAGE);
    if (!answer.ok) throw new Error('no page');
    take(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  }
  shown = version;
}

/** Replaces what has changed and leaves alone what has not: focus, selection and scrolling stay. */
function take(page) {
  document.title = page.title;
  for (const id of ['main', 'at']) {
    const [before, after] = [document, page].map((one) => one.getElementById(id));
    if (before !== null && after !== null) adopt(before, after);
  }
}

function adopt(before, after) {
  if (before.isEqualNode(after)) return;
  const isAlike =
    before.nodeName === after.nodeName && before.childNodes.length === after.childNodes.length;
  if (!isAlike || before.nodeType !== Node.ELEMENT_NODE) {
    before.replaceWith(after.cloneNode(true));
    return;
  }
  for (const name of before.getAttributeNames()) {
    // What a person has unfolded stays so.
    if (name !== 'open' && !after.hasAttribute(name)) before.removeAttribute(name);
  }
  for (const { name, value } of after.attributes) before.setAttribute(name, value);
  const children = [...after.childNodes];
  for (const [index, child] of [...before.childNodes].entries()) adopt(child, children[index]);
}

/** Every moment on the page is shown as the time since it, or until it. */
function sayAges() {
  for (const time of document.querySelectorAll('time')) {
    const seconds = Math.abs(Date.now() - clockAheadMs - Date.parse(time.dateTime)) / 1000;
    time.textContent = sayDuration(Math.round(seconds));
  }
}

function sayDuration(seconds) {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0 s';
  const [name, size] = units[first];
  const [nextName, nextSize] = units[first + 1] ?? ['', seconds + 1];
  const next = Math.floor((seconds % size) / nextSize);
  return `${Math.floor(seconds / size)} ${name}${next > 0 ? ` ${next} ${nextName}` : ''}`;
}

async function follow() {
  const live = document.getElementById('live');
  try {
    if (!document.hidden) await refresh();
    if (live.textContent !== 'Live.') live.textContent = 'Live.';
  } catch {
    live.textContent = 'The exporter does not answer: what is shown gets older.';
  }
  setTimeout(follow, ASK_MS);
}

function tick() {
  sayAges();
  setTimeout(tick, 1000);
}

/** How far this clock is ahead of the exporter's; ages are by the exporter's. */
const clockAheadMs = Date.now() - Date.parse(document.getElementById('at').value);
void follow();
tick();
