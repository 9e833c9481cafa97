// The calls of the page. Every error is a Problem with the words of the API.

const BASE = document.body.dataset.base;
const SIGN_IN = document.getElementById("sign-in");

export class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body.detail ?? "The service does not answer.");
    this.status = status;
    this.code = body.code ?? "";
    // The host's own errors do not say: a lost worker, a host that starts or has too much to do.
    this.retryable = body.retryable ?? (status === 0 || status === 429 || status >= 500);
    this.retryAfter = retryAfter;
    this.drafts = body.drafts ?? [];
  }
}

async function call(method, path, { body, json, headers = {} } = {}) {
  const sent = { method, headers: { ...headers }, body };
  if (json !== undefined) {
    sent.body = JSON.stringify(json);
    sent.headers["Content-Type"] = "application/json";
  }
  let answer;
  let text;
  try {
    answer = await fetch(`${BASE}/${path}`, sent);
    text = await answer.text();
  } catch {
    throw new Problem(0, {}, 0);
  }
  SIGN_IN.hidden = answer.status !== 401;
  const content = parsed(text);
  if (!answer.ok) {
    if (answer.status === 401) content.detail = "You are not signed in. Sign in and load this page again.";
    throw new Problem(answer.status, content, Number(answer.headers.get("Retry-After")) || 0);
  }
  return { content, etag: answer.headers.get("ETag") };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

const draftPath = (id, rest = "") => `wardrobe/drafts/${id}${rest}`;

export const api = {
  upload: (form, key) => call("POST", "wardrobe/drafts", { body: form, headers: { "Idempotency-Key": key } }),
  list: (continuation) => call("GET", `wardrobe/drafts?pageSize=40${continuation ? `&continuation=${continuation}` : ""}`),
  status: (ids) => call("GET", `wardrobe/drafts/status?ids=${ids.join(",")}`),
  get: (id) => call("GET", draftPath(id)),
  retry: (id) => call("POST", draftPath(id, "/retry")),
  accept: (id) => call("POST", draftPath(id, "/accept")),
  remove: (id) => call("DELETE", draftPath(id)),
  patch: (id, etag, json) => call("PATCH", draftPath(id), { json, headers: { "If-Match": etag } }),
};
