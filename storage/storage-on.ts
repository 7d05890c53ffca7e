/** The port over a driver: each method is one transaction, and what can be serialised before BEGIN is (P4). */
import { acceptTurn } from './accept.js';
import { cancelTurn, listenTo } from './cancel.js';
import { claimTurn } from './claim.js';
import { deleteThread } from './delete.js';
import { erasureOn } from './erasure.js';
import { expireThreads } from './expire.js';
import { draftsPerTransaction, saveDrafts } from './drafts.js';
import { failTry, flushRows, yieldClaim } from './flush.js';
import { glanceAt, pieceOf } from './long-turn.js';
import { graphStoreOn } from './graph-store/graph-store-on.js';
import { lookAt } from './look.js';
import { memoryOn } from './memory/memory-on.js';
import { transcript } from './messages.js';
import type { ClaimStore, Storage, StorageKind, ThreadStore, TurnStore } from './port.js';
import { attemptReads, openAttempt } from './saver/attempt.js';
import { failTurn, finishText, lookUpClaim, settleTurn } from './settle.js';
import { channelOf, stateOf } from './state.js';
import { takeQuiet } from './sweep.js';
import { countOpen, countRunning, getThread, listThreads } from './thread-list.js';
import { createThread, threadHistory } from './threads.js';
import { findAccepted, getTurn } from './turns.js';
import { StoreReplaced } from './store-watch.js';
import { first, type Driver } from './tx.js';

export interface OpenedStorage {
  readonly kind: StorageKind;
  readonly store: string;
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

export const storageOn = ({ kind, store, driver, close }: OpenedStorage): Storage => ({
  kind,
  store,
  turns: turnsOn(driver),
  threads: threadsOn(driver),
  claims: claimsOn(driver),
  erasure: {
    ...erasureOn(driver),
    expire: (idleMs, limit) => driver.write(() => expireThreads(idleMs, limit)),
  },
  memory: memoryOn(driver),
  graphStore: graphStoreOn(driver),
  openAttempt: (options) => openAttempt(driver, options),
  attemptReads: (turn) => attemptReads(driver, turn),
  ping: async () => {
    const row = await driver.read(() => first<{ store: string }>('SELECT store FROM et_schema'));
    if (row !== undefined && row.store !== store) throw new StoreReplaced();
  },
  close,
});

const turnsOn = (driver: Driver): TurnStore => ({
  accept: (input) => driver.write(() => acceptTurn(input)),
  findAccepted: (thread, turnId) => driver.write(() => findAccepted(thread, turnId)),
  get: (thread, turnId) => driver.read(() => getTurn(thread, turnId)),
  glance: (thread, turnId, maxBytes) => driver.read(() => glanceAt(thread, turnId, maxBytes)),
  piece: (thread, turnId, part, at) => driver.read(() => pieceOf(thread, turnId, part, at)),
  peek: (turnIds) => driver.read(() => lookAt(turnIds)),
  countOpen: () => driver.read(() => countOpen()),
  countRunning: () => driver.read(() => countRunning()),
  listen: async (thread, turnId, modes) => {
    await driver.write(() => listenTo(thread, turnId, modes));
  },
  cancel: (thread, turnId) => driver.write(() => cancelTurn(thread, turnId)),
});

const threadsOn = (driver: Driver): ThreadStore => ({
  create: (input) => driver.write(() => createThread(input)),
  get: (thread) => driver.read(() => getThread(thread)),
  list: (asked) => driver.read(() => listThreads(asked)),
  messages: (thread, after, limit) => driver.read(() => transcript(thread, after, limit)),
  state: (thread) => stateOf(driver, thread),
  channel: (thread, name) => channelOf(driver, thread, name),
  history: (thread, before, limit) => driver.read(() => threadHistory(thread, before, limit)),
  delete: async (thread) => {
    const deleted = await driver.write(() => deleteThread(thread));
    if (deleted.kind === 'deleted' && deleted.first) await driver.emptyLog?.();
    return deleted;
  },
});

const claimsOn = (driver: Driver): ClaimStore => ({
  claim: (thread, holder, limits) => driver.write(() => claimTurn({ thread, holder, limits })),
  flush: (claim, rows) => driver.write(() => flushRows(claim, rows)),
  settle: (claim, settlement, rows) => {
    if (settlement.kind === 'failed')
      return driver.write(() => failTurn(claim, settlement.failure));
    const text = finishText(settlement);
    return driver.write(() => settleTurn(claim, text, rows));
  },
  lookUp: (claim) => driver.write(() => lookUpClaim(claim)),
  failTry: (claim, failure, maxTries) => driver.write(() => failTry(claim, failure, maxTries)),
  yield: (claim) => driver.write(() => yieldClaim(claim)),
  look: (claims) => driver.read(() => lookAt(claims.map(({ turnId }) => turnId))),
  saveDrafts: async (drafts) => {
    for (let from = 0; from < drafts.length; from += draftsPerTransaction) {
      const some = drafts.slice(from, from + draftsPerTransaction);
      await driver.write(() => saveDrafts(some));
    }
  },
  takeQuiet: (quietMs, limit) => driver.write(() => takeQuiet(quietMs, limit)),
});
