import { html, type Html } from './html.ts';
import type { AssistantStatus } from '../assistant.ts';
import { age, mark } from './marks.ts';
import type { SessionsStatus } from '../sessions.ts';
import { sayDuration, sayNumber } from '../words.ts';

const MAX_ROWS = 10;
/** From here on a transaction is old. */
const OLD_SECONDS = 300;

/** Sessions by state, and the applications whose transactions are oldest. */
export function sessionTables(sessions: SessionsStatus): Html {
  const { active, idleInTransaction, idle, applications } = sessions;
  return html`${stateBar(active, idleInTransaction, idle)}
    <div
      class="scroll"
      tabindex="0"
      role="region"
      aria-label="Applications with the oldest transactions"
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Application</th>
            <th scope="col">User</th>
            <th scope="col" class="number">Sessions</th>
            <th scope="col" class="number">Open txns</th>
            <th scope="col" class="number">Oldest txn</th>
            <th scope="col" class="number">Idle in txn</th>
          </tr>
        </thead>
        <tbody>
          ${applications.slice(0, MAX_ROWS).map(
            (one) =>
              html`<tr>
                <th scope="row" class="name">${one.application}</th>
                <td class="name">${one.user}</td>
                <td class="number">${sayNumber(one.active + one.idleInTransaction + one.idle)}</td>
                <td class="number">${sayNumber(one.openTransactions)}</td>
                <td class="number">${sayAge(one.oldestTransactionSeconds)}</td>
                <td class="number">${sayAge(one.oldestIdleTransactionSeconds)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

function sayAge(seconds: number): Html {
  if (seconds === 0) return html`–`;
  const said = sayDuration(seconds);
  return seconds < OLD_SECONDS
    ? html`${said}`
    : html`<span class="old">${mark('warning')} ${said}</span>`;
}

function stateBar(active: number, idleInTransaction: number, idle: number): Html {
  const all = Math.max(1, active + idleInTransaction + idle);
  const states = [
    ['active', 'active', active],
    ['in-transaction', 'idle in transaction', idleInTransaction],
    ['idle', 'idle', idle],
  ] as const;
  let x = 0;
  const rects = states.map(([name, , count]) => {
    const width = (count / all) * 100;
    x += width;
    return html`<rect
      class="${name}"
      x="${(x - width).toFixed(1)}"
      width="${width.toFixed(1)}"
      height="8"
    />`;
  });
  return html`<svg class="states" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      ${rects}
    </svg>
    <ul class="legend">
      ${states.map(
        ([name, word, count]) => html`<li class="${name}"><b>${sayNumber(count)}</b> ${word}</li>`,
      )}
    </ul>`;
}

/** How the migration assistant fares. */
export function assistantState(assistant: AssistantStatus, nowMs: number): Html {
  if (!assistant.exists) return html`<p>There is no migration assistant.</p>`;
  const { status = 'unknown', health = 'unknown', region, statusSince } = assistant;
  const level = status === 'failed' ? 'trouble' : health === 'unavailable' ? 'warning' : 'notice';
  return html`<dl>
    <dt>Status</dt>
    <dd>
      ${mark(level)} ${status}${statusSince !== undefined && html` for ${age(statusSince, nowMs)}`}
    </dd>
    <dt>Health</dt>
    <dd>
      ${health.replaceAll('_', ' ')}${
        region &&
        html`<dt>Region</dt>
          <dd>${region}</dd>`
      }
    </dd>
  </dl>`;
}
