// Photos on their way: in requests of ten, each with a key, so that a lost answer costs nothing.

import { api, Problem } from "./api.js";

const MOST_FILES = 10;
const MOST_BYTES = 10_000_000;
const TRIES = 5;
const HELD = "IDEMPOTENCY_KEY_IN_FLIGHT"; // by an earlier try, at work or lost on its way
const HELD_FOR = 130_000; // ms, a little more than the service lets a lost request hold its key

// `sent(items)` is told of each request's items once they are drafts or refused.
export async function upload(items, { keep, sent, waiting }) {
  const good = items.filter((item) => item.file.size <= MOST_BYTES);
  refuse(items.filter((item) => item.file.size > MOST_BYTES), "The file is larger than 10 MB. Send a smaller photo.");
  sent(items.filter((item) => item.refused));
  for (let at = 0; at < good.length; at += MOST_FILES) {
    const batch = good.slice(at, at + MOST_FILES);
    try {
      take(batch, await send(batch, keep, waiting));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.drafts.length === batch.length) take(batch, error.drafts);
      else refuse(batch, error.message);
    }
    sent(batch);
  }
}

async function send(batch, keep, waiting) {
  const form = new FormData();
  for (const { file } of batch) form.append("files", file, file.name);
  if (keep) form.append("skipSegmentation", "true");
  const key = newKey();
  let tries = 0;
  let free = 0; // when a held key must be free again; waiting until then uses up no tries
  for (;;) {
    try {
      return (await api.upload(form, key)).content.drafts;
    } catch (error) {
      if (!(error instanceof Problem && error.retryable)) throw error;
      free = error.code === HELD ? free || Date.now() + HELD_FOR : 0;
      if (Date.now() >= free) tries += 1;
      if (tries === TRIES) throw error;
      const seconds = error.retryAfter || 2 ** tries;
      waiting(error, seconds);
      await new Promise((resume) => setTimeout(resume, seconds * 1000));
    }
  }
}

function take(batch, drafts) {
  batch.forEach((item, n) => {
    const draft = drafts[n];
    if (draft.status === "Rejected") refuse([item], draft.error.detail);
    else item.draft = draft;
  });
}

function refuse(items, reason) {
  for (const item of items) item.refused = reason;
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
