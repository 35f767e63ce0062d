/** The pages of an owner: the keys and requests, with the form for a new one, and a key that is shown once. */
import { LARGEST_LIMIT } from '../../../lib/format/keys-file.ts';
import { codeBlock, variables } from '../../../lib/pages/code-block.ts';
import { type Html, html } from '../../../lib/pages/html.ts';
import { factList, shownNumber } from '../../../lib/pages/shown-values.ts';
import type { KeyEvent } from '../../lifecycle/history.ts';
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { MOST_PENDING } from '../../lifecycle/own-keys.ts';
import { LONGEST_ADDRESS, LONGEST_KEY_NAME, LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { type OwnAction, ownKeyPath, PATHS } from '../../paths.ts';
import { addSeconds, OVERLAP_HOURS, toDatabaseTime } from '../../tables/values.ts';
import { makeFields, type Refused } from './form-fields.ts';
import {
  hasLimit,
  historyList,
  lastUseOf,
  limitFact,
  nameOf,
  numberOf,
  oldKeyOf,
  ownerBadge,
  prefixOf,
  purposeOf,
  shownLimit,
} from './key-parts.ts';
import { framedPage, moment, type Notice, pageLinks, type Viewer } from './layout.ts';
import { usageChart } from './usage-chart.ts';

interface AccountPage {
  readonly viewer: Viewer;
  /** One page of them: first those that are in use or pending, each newest first. */
  readonly keys: readonly KeyRow[];
  /** The number of the page; the first is 1. */
  readonly page: number;
  readonly hasMore: boolean;
  /** Whether fewer than {@link MOST_PENDING} requests are under review. */
  readonly mayRequest: boolean;
  /** By the id of the key. */
  readonly usage: ReadonlyMap<number, readonly DayOfUse[]>;
  /** The last events of each key, one more than {@link MOST_EVENTS}. */
  readonly events: ReadonlyMap<number, readonly KeyEvent[]>;
  readonly now: Date;
  /** The limit of a key, in requests per minute, that most projects need. */
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
  readonly refused?: Refused | undefined;
  /** The key for which the form asks a higher limit. */
  readonly limitOf?: KeyRow | undefined;
}

const ENDED = ['granted', 'rejected', 'withdrawn', 'revoked'];
/** How many events of a key the page shows. */
export const MOST_EVENTS = 20;
/** For how long the page shows what a moderator has ended without a click. */
const RECENT_DAYS = 30;

export function accountPage(page: AccountPage): Html {
  const { viewer, keys, notice } = page;
  const card = (key: KeyRow) => keyCard(key, page);
  const since = toDatabaseTime(addSeconds(page.now, -RECENT_DAYS * 86_400));
  // What has ended without a reason was ended by its owner, or is now the limit of a key.
  const isFolded = ({ state, reason, revoked_at, reviewed_at }: KeyRow) =>
    ENDED.includes(state) && (reason === null || (revoked_at ?? reviewed_at ?? '') < since);
  const open = keys.filter((key) => !isFolded(key));
  const ended = keys.filter(isFolded);
  return framedPage({
    title: 'API keys',
    viewer,
    path: PATHS.keys,
    notice,
    body: html`
      <section aria-labelledby="your-keys">
        <h2 id="your-keys">Your keys</h2>
        ${open.length === 0 ? page.page === 1 && noKeys(ended.length > 0) : html`<ul class="cards">${open.map(card)}</ul>`}
        ${
          ended.length > 0 &&
          html`<details>
          <summary>Earlier keys and requests (${ended.length})</summary>
          <ul class="cards">${ended.map(card)}</ul>
        </details>`
        }
        ${pageLinks({ path: PATHS.keys, name: 'page', page: page.page, hasMore: page.hasMore, before: 'Previous keys', after: 'More keys', anchor: 'your-keys' })}
      </section>
      <section aria-labelledby="request">
        <h2 id="request">${page.limitOf ? 'Ask for a higher limit' : 'Request a key'}</h2>
        ${page.mayRequest ? requestForm(page) : TOO_MANY}
      </section>`,
  });
}

const TOO_MANY = html`<p>You have ${MOST_PENDING} requests waiting for review. You can send another one when a moderator has decided about one of them, or when you withdraw one.</p>`;

function noKeys(hadKeys: boolean): Html {
  if (hadKeys) return html`<p>No keys in use.</p>`;
  return html`<p>No keys yet. Programs need one to call the API: request your first one below.</p>`;
}

function requestForm({ defaultLimit, limitOf, refused }: AccountPage): Html {
  const field = makeFields(PATHS.keys, refused);
  if (limitOf !== undefined) return higherLimitForm(limitOf, field);
  return html`<form method="post" action="${PATHS.keys}">
          ${field({
            name: 'purpose',
            label: 'What are you building?',
            hint: `A moderator reads this to decide. A key allows ${shownNumber(defaultLimit)} requests per minute, enough for most projects. If you need more, say how many, and why.`,
            rows: 5,
            more: html`maxlength="${LONGEST_TEXT}" required`,
          })}
          ${field({
            name: 'website_url',
            label: 'Website of the project',
            hint: 'For example https://example.org. A code repository is fine.',
            more: html`type="url" maxlength="${LONGEST_ADDRESS}" required autocomplete="url"`,
          })}
          ${field({
            name: 'name',
            label: 'Name of the key (optional)',
            hint: 'For you, to tell your keys apart. For example: Shelf app, production.',
            more: html`maxlength="${LONGEST_KEY_NAME}" autocomplete="off"`,
          })}
          <button>Request a key</button>
        </form>`;
}

function higherLimitForm(key: KeyRow, field: ReturnType<typeof makeFields>): Html {
  const { id, limit_per_minute: present } = key;
  return html`<form method="post" action="${PATHS.keys}">
          <p>${nameOf(key)} has ${shownLimit(present)} now. It stays the same key. <a href="${PATHS.keys}#request">Request another key instead</a></p>
          <input type="hidden" name="limit-of" value="${id}">
          ${field({
            name: 'limit',
            label: 'Requests per minute',
            more: html`type="number" inputmode="numeric" min="${present + 1}" max="${LARGEST_LIMIT}" required`,
          })}
          ${field({
            name: 'purpose',
            label: 'Why do you need more?',
            hint: 'A moderator reads this to decide.',
            rows: 5,
            more: html`maxlength="${LONGEST_TEXT}" required`,
          })}
          <button>Ask for a higher limit</button>
        </form>`;
}

/** How many characters of its purpose a key or request that has ended shows. */
const LONGEST_PURPOSE = 1_000;

function keyCard(key: KeyRow, { usage, events, viewer, now, refused }: AccountPage): Html {
  const isOpen = key.state === 'pending' || key.state === 'approved';
  return html`<li class="card" id="key-${key.id}">
          <h3>${nameOf(key)} ${ownerBadge(key)}</h3>
          ${factList([
            ['Reason', key.reason],
            ['Number', key.name && numberOf(key)],
            prefixOf(key),
            oldKeyOf(key),
            limitFact(key),
            lastUseOf(key),
            ...purposeOf(key, isOpen ? undefined : LONGEST_PURPOSE),
            ['Revoked', moment(key.revoked_at)],
          ])}
          ${usageChart(usage.get(key.id) ?? [], { keyId: key.id, now })}
          ${hasLimit(key) && historyOf(key.id, events.get(key.id) ?? [], viewer)}
          ${actionsOf(key, refused)}
        </li>`;
}

/** Moderators and operators are not named to owners. */
function historyOf(id: number, events: readonly KeyEvent[], { account }: Viewer): Html {
  const actorOf = ({ actor_id }: KeyEvent) => {
    if (actor_id === null) return 'an operator';
    return actor_id === account?.id ? 'you' : 'a moderator';
  };
  const shown = {
    events: events.slice(-MOST_EVENTS),
    hasEarlier: events.length > MOST_EVENTS,
  };
  return html`<details>
            <summary>History<span class="unseen"> of key ${id}</span></summary>
            ${historyList(shown, actorOf)}
          </details>`;
}

function actionsOf(key: KeyRow, refused: Refused | undefined): Html | undefined {
  const { id, name, state, key_prefix, revealed_at } = key;
  const hasOld = key.old_key_prefix !== null;
  if (state === 'pending') {
    const text = 'Moderators no longer see the request. This cannot be undone.';
    const withdraw = html`<p>${text}</p>
              <button class="danger">Withdraw request ${id}</button>`;
    return html`<div class="actions">${foldedForm(id, 'withdraw', 'Withdraw', 'request', withdraw)}</div>`;
  }
  if (state !== 'approved') return undefined;
  const rotate = html`<input type="hidden" name="prefix" value="${key_prefix ?? ''}">
              <p>You get a new key, shown only once. Limit and usage stay the same.${hasOld && ' The old key named above stops working.'}</p>
              <p><button name="old" value="">Rotate, end this key at once</button></p>
              <p>If nobody else has seen this key, your programs can keep using it while you change their settings:</p>
              <button class="quiet" name="old" value="keep">Rotate, keep this key for ${OVERLAP_HOURS} hours</button>`;
  const endOld = html`<p>The old key stops working within seconds. This key is not affected.</p>
              <button class="danger">End the old key of key ${id}</button>`;
  const higherLimitPath = `${PATHS.keys}?limit-of=${id}#request`;
  const renamePath = ownKeyPath(id, 'rename');
  const nameField = makeFields(
    renamePath,
    refused,
  )({
    name: 'name',
    id: `name-${id}`,
    label: 'Name',
    value: name,
    more: html`maxlength="${LONGEST_KEY_NAME}" autocomplete="off"`,
  });
  const rename = html`${nameField}
              <button>Save name</button>`;
  const revoke = html`<p>The key stops working within seconds, for good. This cannot be undone.</p>
              <button class="danger">Revoke key ${id}</button>`;
  return html`<div class="actions">
          ${revealed_at === null ? revealForm(id) : foldedForm(id, 'rotate', 'Rotate', 'key', rotate)}
          ${hasOld && foldedForm(id, 'end-old', 'End old key', 'of key', endOld)}
          ${foldedForm(id, 'rename', 'Rename', 'key', rename, refused?.path === renamePath)}
          ${revealed_at !== null && html`<a class="button quiet" href="${higherLimitPath}">Ask for a higher limit<span class="unseen"> for key ${id}</span></a>`}
          ${foldedForm(id, 'revoke', 'Revoke', 'key', revoke)}
          </div>`;
}

function revealForm(id: number): Html {
  return html`<form method="post" action="${ownKeyPath(id, 'reveal')}">
            <p id="reveal-${id}">Your key is ready. It is shown only once, so have a safe place for it.</p>
            <button aria-describedby="reveal-${id}">Reveal key<span class="unseen"> ${id}</span></button>
          </form>`;
}

/** A form that opens below its name. @param what "key" or "request" */
function foldedForm(
  id: number,
  action: OwnAction,
  name: string,
  what: string,
  body: Html,
  isOpen = false,
): Html {
  return html`<details${isOpen && html` open`}>
            <summary class="button quiet">${name}<span class="unseen"> ${what} ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, action)}">
              ${body}
            </form>
          </details>`;
}

interface ShownKey {
  readonly viewer: Viewer;
  readonly key: string;
  /** The address of the API, without a slash at the end. */
  readonly publicUrl: string;
  /** Whether the API accepts the key already. */
  readonly isAccepted: boolean;
  /** If the key replaces another, for how many hours that one still works. */
  readonly oldKeyHours?: number | undefined;
}

export function keyShownPage(shown: ShownKey): Html {
  const { viewer, key, publicUrl, isAccepted, oldKeyHours } = shown;
  return framedPage({
    title: 'Save your API key',
    viewer,
    body: html`
      <p><strong>Copy it now: it is shown only once.</strong> Keep it where only you can read it.${!isAccepted && ' It works within a few seconds.'}</p>
      ${codeBlock({ id: 'key', name: 'API key', text: key })}
      ${oldKeyHours !== undefined && html`<p>Your old key ${oldKeyHours === 0 ? 'no longer works' : `works for ${oldKeyHours} more hours`}.</p>`}
      <h2>Try it</h2>
      ${codeBlock({
        id: 'curl',
        name: 'Command',
        text: `${variables(`${publicUrl}/api/v1`, key)}
curl "$COVERS_API/stats" \\
  -H "Authorization: Bearer $COVERS_KEY"`,
      })}
      <p>If you lose the key, or somebody else sees it, rotate it on your page of keys. The examples in the <a href="/docs">documentation</a> read the same two variables.</p>
      <p><a class="button" href="${PATHS.keys}">I’ve saved my key</a></p>`,
  });
}
