// Asks for the states of what is processing, no more often than the API says, and only then.

import { api, Problem } from "./api.js";

const MOST_IDS = 20;
const HIDDEN_AT_LEAST = 15;
const SLOWEST = 60;

export class Watch {
  // `ids()` names what is processing now; `seen(items)` gets the answers; `lost(error|null)` the line's state.
  constructor({ ids, seen, lost }) {
    this.ids = ids;
    this.seen = seen;
    this.lost = lost;
    this.timer = 0;
    this.asking = false;
    this.failures = 0;
    document.addEventListener("visibilitychange", () => document.hidden || this.soon());
    window.addEventListener("online", () => this.soon());
  }

  soon(seconds = 0) {
    clearTimeout(this.timer);
    if (!this.asking) this.timer = setTimeout(() => this.ask(), seconds * 1000);
  }

  async ask() {
    const ids = this.ids();
    if (!ids.length || this.asking) return;
    this.asking = true;
    let wait;
    try {
      wait = await this.askAll(ids);
      if (this.failures) this.lost(null);
      this.failures = 0;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.failures += 1;
      wait = Math.max(error.retryAfter, Math.min(SLOWEST, 2 ** this.failures));
      this.lost(error);
    } finally {
      this.asking = false;
    }
    if (this.ids().length) this.soon(document.hidden ? Math.min(SLOWEST, Math.max(HIDDEN_AT_LEAST, wait * 4)) : wait);
  }

  async askAll(ids) {
    const waits = [];
    for (let at = 0; at < ids.length; at += MOST_IDS) {
      const { content } = await api.status(ids.slice(at, at + MOST_IDS));
      this.seen(content.drafts);
      if (content.retryAfterSeconds) waits.push(content.retryAfterSeconds);
    }
    return Math.min(...waits, SLOWEST);
  }
}
