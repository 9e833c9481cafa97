// The page: photos in, tiles that live, decisions out. What is shown survives a refresh: the list is the server's.

import { api } from "./api.js";
import { Editor } from "./editor.js";
import { nameOf, newTile, show, statusOf } from "./tile.js";
import { upload } from "./upload.js";
import { Watch } from "./watch.js";

const config = JSON.parse(document.body.dataset.config);
const $ = (id) => document.getElementById(id);
const items = []; // newest first
const tiles = new Map(); // item -> its element
let older = null;

const watch = new Watch({
  ids: () => items.filter((item) => statusOf(item) === "Processing").map((item) => item.draft.id),
  seen: (drafts) => drafts.forEach(take),
  lost: (error) => tell(error && (error.status ? error.message : "The connection is lost. Trying again…")),
});
const editor = new Editor({
  ...config,
  saved: (item, draft) => change(item, draft),
  accept: (item) => act("accept", item),
  remove: (item) => act("remove", item),
});

const ACTS = {
  accept: async (item) => change(item, (await api.accept(item.draft.id)).content),
  retry: async (item) => change(item, (await api.retry(item.draft.id)).content),
  refresh: async (item) => change(item, (await api.get(item.draft.id)).content),
  edit: (item) => editor.open(item),
  dismiss: (item) => drop(item),
  async remove(item) {
    await api.remove(item.draft.id);
    say(`${nameOf(item)} is deleted.`);
    drop(item);
  },
  async use(item) {
    const { content, etag } = await api.get(item.draft.id);
    const other = content.image.use === "original" ? "cutout" : "original";
    change(item, (await api.patch(item.draft.id, etag, { useImage: other })).content);
  },
};

async function act(name, item) {
  item.pending = name !== "edit";
  item.trouble = null;
  refresh(item);
  try {
    await ACTS[name](item);
  } catch (error) {
    if (error.status === 404) drop(item);
    if (error.status === 409 && name !== "refresh") await act("refresh", item);
    item.trouble = error.message;
  } finally {
    item.pending = false;
    refresh(item);
  }
  watch.soon();
}

async function add(files) {
  const photos = [...files].filter((file) => file.size || file.type);
  if (!photos.length) return;
  const added = photos.map((file) => ({ file, preview: URL.createObjectURL(file) }));
  items.unshift(...added);
  draw();
  say(`${added.length} ${added.length === 1 ? "photo is" : "photos are"} being sent.`);
  await upload(added, {
    keep: $("keep").checked,
    sent(done) {
      tell("");
      done.forEach((item) => { refresh(item); announce(item); });
      draw();
      watch.soon(1);
    },
    waiting: (error, seconds) => tell(`${error.message} The photos are sent again in ${seconds} s.`),
  });
}

function take(draft) {
  const item = items.find((known) => known.draft?.id === draft.id);
  if (!item) return;
  if (draft.status === "NotFound") drop(item);
  else change(item, draft);
}

function change(item, draft) {
  const before = statusOf(item);
  if (item.draft && item.draft.revision > draft.revision) return; // an older answer that came late
  item.draft = draft;
  if (draft.image && item.preview) {
    URL.revokeObjectURL(item.preview);
    item.preview = null;
  }
  refresh(item);
  if (before !== statusOf(item)) announce(item);
  count();
}

function announce(item) {
  const words = { Ready: "is ready to review", Failed: "did not work", Accepted: "is accepted", Rejected: "cannot be used" };
  const text = words[statusOf(item)];
  if (text) say(`${nameOf(item)} ${text}.`);
}

function drop(item) {
  const at = items.indexOf(item);
  if (at < 0) return;
  items.splice(at, 1);
  if (item.preview) URL.revokeObjectURL(item.preview);
  const had = tiles.get(item)?.contains(document.activeElement);
  tiles.get(item)?.remove();
  tiles.delete(item);
  if (had) $("tiles").focus();
  count();
}

function refresh(item) {
  if (!items.includes(item)) return;
  if (!tiles.has(item)) tiles.set(item, newTile(item, act));
  show(tiles.get(item), item);
}

function draw() {
  items.forEach((item, n) => {
    refresh(item);
    const tile = tiles.get(item);
    if ($("tiles").children[n] !== tile) $("tiles").insertBefore(tile, $("tiles").children[n] ?? null);
  });
  count();
}

function count() {
  const of = (...wanted) => items.filter((item) => wanted.includes(statusOf(item))).length;
  const ready = of("Ready");
  const parts = [[of("Sending", "Processing"), "in work"], [ready, "to review"], [of("Failed", "Rejected"), "with a problem"], [of("Accepted"), "accepted"]];
  $("counts").textContent = parts.filter(([n]) => n).map(([n, words]) => `${n} ${words}`).join(" · ");
  $("accept-all").hidden = !ready;
  $("accept-all").textContent = ready === 1 ? "Accept the ready one" : `Accept all ${ready} ready`;
  $("empty").hidden = items.length > 0;
}

async function load() {
  try {
    const { content } = await api.list(older);
    const known = new Set(items.map((item) => item.draft?.id));
    items.push(...content.drafts.filter((draft) => !known.has(draft.id)).map((draft) => ({ draft })));
    older = content.continuation;
    $("more").hidden = !older;
    $("more").textContent = "Show older";
    tell("");
    draw();
    watch.soon();
  } catch (error) {
    tell(error.message);
    $("more").hidden = false;
    $("more").textContent = "Try again";
  }
}

function tell(text) {
  $("notice").textContent = text ?? "";
  $("notice").hidden = !text;
}

function say(text) {
  $("live").textContent = text;
}

// And back to this page. Where the platform signs nobody in there is no such link.
function leadToSignIn() {
  if (config.signIn) $("sign-in").href = `${config.signIn}?post_login_redirect_uri=${encodeURIComponent(location.pathname)}`;
  else $("sign-in").remove();
}

function listen() {
  const zone = $("drop");
  $("choose").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", (event) => { add(event.target.files); event.target.value = ""; });
  $("more").addEventListener("click", load);
  $("accept-all").addEventListener("click", async () => {
    for (const item of items.filter((each) => statusOf(each) === "Ready")) await act("accept", item);
  });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
  }
  document.addEventListener("dragleave", (event) => event.relatedTarget || zone.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    add(event.dataTransfer.files);
  });
  document.addEventListener("paste", (event) => add(event.clipboardData.files));
}

leadToSignIn();
listen();
load();
