// One photo as a tile: what it is, where it stands, and what can be done about it.

const STAGES = {
  Uploaded: ["Cutting out", 35],
  Segmented: ["Making pictures", 65],
  Rendered: ["Reading colours", 85],
  Analyzed: ["Finishing", 96],
};
const STATUS = { Ready: "To review", Failed: "Did not work", Accepted: "Accepted", Uploading: "Waiting for the photo", Rejected: "Not usable", Sending: "Sending" };
const WARNINGS = {
  LOW_CONFIDENCE_MASK: "The garment could not be cut out cleanly.",
  SMALL_SOURCE: "The photo is small.",
  ANIMATION_DROPPED: "Only the first frame was used.",
  SEGMENTATION_DEGRADED: "Cut out the simple way; a better one follows.",
  REPROCESS_FAILED: "The last new try failed; this is the picture from before.",
};
const SURE = 4000; // ms in which a second press deletes

export function statusOf(item) {
  if (item.draft) return item.draft.status;
  return item.refused ? "Rejected" : "Sending";
}

export function nameOf(item) {
  return item.draft?.metadata?.title || item.draft?.fileName || item.file?.name || "Photo";
}

// `act(name, item)` does what a button says.
export function newTile(item, act) {
  const tile = element("li", { className: "tile" });
  tile.innerHTML = `<div class="picture"><img class="glyph" alt="" src="${document.body.dataset.base}/app/hanger.svg">
    <img class="photo" alt="" hidden><span class="chip"></span><div class="steps" aria-hidden="true"><i></i></div></div>
    <div class="facts"></div><div class="actions"></div>`;
  tile.querySelector(".photo").addEventListener("error", (event) => {
    event.target.hidden = true; // a format that this browser cannot show, or a link that has expired
    if (item.draft?.image) act("refresh", item);
  });
  tile.querySelector(".photo").addEventListener("load", (event) => { event.target.hidden = false; });
  tile.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-act]");
    if (button && !item.pending) press(button, item, act);
  });
  return tile;
}

export function show(tile, item) {
  const status = statusOf(item);
  const busy = status === "Sending" || status === "Processing" || Boolean(item.pending);
  tile.dataset.status = status;
  tile.classList.toggle("busy", busy);
  tile.setAttribute("aria-busy", String(busy));
  const [label, percent] = progress(item, status);
  tile.querySelector(".chip").textContent = label;
  tile.querySelector(".steps").hidden = !percent;
  tile.querySelector(".steps i").style.width = `${percent}%`;
  showPicture(tile.querySelector("img:not(.glyph)"), item);
  replaceIfNew(tile.querySelector(".facts"), facts(item, status));
  replaceIfNew(tile.querySelector(".actions"), actions(item, status));
}

function progress(item, status) {
  if (status === "Sending") return ["Sending", 8];
  if (status !== "Processing") return [STATUS[status], 0];
  const [label, percent] = item.draft.attempts ? STAGES[item.draft.stage] : ["Waiting its turn", 16];
  return [item.draft.acceptRequested ? `${label} · accepted` : label, percent];
}

function showPicture(img, item) {
  const image = item.draft?.image;
  const source = image ? image.displayUrl : item.preview;
  if (!source || img.dataset.source === source) return;
  img.dataset.source = source;
  img.className = !image || image.use === "original" ? "photo" : "cutout";
  img.alt = image ? `${item.draft.metadata?.category ?? "Garment"}, ${image.use === "original" ? "as taken" : "cut out"}` : "Your photo";
  img.sizes = "(max-width: 620px) 44vw, 260px";
  img.srcset = image ? `${image.thumbUrl} 200w, ${image.displayUrl} 800w` : "";
  img.src = source;
}

function facts(item, status) {
  const parts = [element("h3", { textContent: nameOf(item), title: nameOf(item) })];
  const { metadata, error, warnings = [] } = item.draft ?? {};
  if (metadata && (status === "Ready" || status === "Accepted")) {
    parts.push(element("p", { className: "file", textContent: category(metadata) }));
    parts.push(dots(metadata.colors));
  }
  for (const warning of warnings) {
    if (WARNINGS[warning]) parts.push(element("p", { className: "hint", textContent: WARNINGS[warning] }));
  }
  const reason = item.trouble ?? item.refused ?? (status === "Failed" ? error?.detail : "");
  if (reason) parts.push(element("p", { className: "reason", textContent: reason }));
  return parts;
}

function category(metadata) {
  if (metadata.category === "Uncategorised") return "No category yet";
  return metadata.needsReview ? `${metadata.category}, if it is one` : metadata.category;
}

function dots(colors) {
  const row = element("div", { className: "dots" });
  row.setAttribute("role", "img");
  row.setAttribute("aria-label", colors.length ? `Colours: ${colors.map((c) => c.name).join(", ")}` : "No colours");
  for (const color of colors) {
    const dot = element("span", { title: color.name });
    dot.style.background = color.hex;
    row.append(dot);
  }
  return row;
}

function actions(item, status) {
  const draft = item.draft;
  switch (status) {
    case "Rejected": return [button("dismiss", "Dismiss", item)];
    case "Uploading": return [button("remove", "Delete", item)];
    case "Processing": return [
      ...(draft.acceptRequested ? [] : [button("accept", "Accept when ready", item)]),
      button("remove", "Delete", item, "quiet"),
    ];
    case "Failed": return [
      ...(draft.error?.retryable ? [button("retry", "Try again", item, "primary grow")] : []),
      button("remove", "Delete", item),
    ];
    case "Ready": return [
      button("accept", "Accept", item, "primary grow"),
      button("edit", "Correct", item),
      ...undo(item),
    ];
    case "Accepted": return [button("edit", "Correct", item), ...undo(item)];
    default: return [];
  }
}

function undo(item) {
  if (item.draft.segmentation === "Skipped" || item.draft.segmentation === "LowConfidence") return [];
  const original = item.draft.image?.use === "original";
  return [button("use", original ? "Use cut-out" : "Undo cut-out", item, "quiet")];
}

function button(act, label, item, kind = "") {
  const made = element("button", { type: "button", className: kind, textContent: label });
  made.ariaDisabled = item.pending ? "true" : null; // a disabled button would lose the focus
  made.dataset.act = act;
  made.setAttribute("aria-label", `${label}: ${nameOf(item)}`);
  return made;
}

// A deletion is pressed twice.
function press(pressed, item, act) {
  if (pressed.dataset.act !== "remove" || pressed.dataset.sure) {
    act(pressed.dataset.act, item);
    return;
  }
  pressed.dataset.sure = "yes";
  pressed.classList.add("danger");
  pressed.textContent = "Really delete?";
  pressed.setAttribute("aria-label", `Really delete ${nameOf(item)}?`);
  setTimeout(() => {
    delete pressed.dataset.sure;
    pressed.classList.remove("danger");
    pressed.textContent = "Delete";
    pressed.setAttribute("aria-label", `Delete: ${nameOf(item)}`);
  }, SURE);
}

// What did not change keeps its element, and with it the focus.
function replaceIfNew(parent, children) {
  const text = children.map((child) => child.outerHTML).join("");
  if (parent.dataset.text === text) return;
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.act : null;
  parent.dataset.text = text;
  parent.replaceChildren(...children);
  if (focused) (parent.querySelector(`[data-act="${focused}"]`) ?? parent.querySelector("button"))?.focus();
}

export function element(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}
