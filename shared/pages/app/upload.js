// Photos on their way: in requests of ten, each with a key, so that a lost answer costs nothing.

import { api, Problem } from "./api.js";

const MOST_FILES = 10;
const MOST_BYTES = 10_000_000;
const TRIES = 5;

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
  for (let n = 1; ; n += 1) {
    try {
      return (await api.upload(form, key)).content.drafts;
    } catch (error) {
      const again = error instanceof Problem && error.retryable && n < TRIES;
      if (!again) throw error;
      const seconds = error.retryAfter || 2 ** n;
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
