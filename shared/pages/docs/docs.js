// Renders openapi.json as a page: contents, operations by tag, then the schemas they speak of.

const BASE = document.body.dataset.base;
const METHODS = ["get", "post", "patch", "delete"];

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const prose = (text = "") => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
const paragraphs = (text = "") => text.split("\n\n").map((part) => (part.startsWith("- ") ? list(part) : `<p>${prose(part)}</p>`)).join("");
const list = (text) => `<ul>${text.split("\n").map((line) => `<li>${prose(line.slice(2))}</li>`).join("")}</ul>`;
const nameOf = (ref) => ref.split("/").pop();

// What a value is, in a few words: a type, a named schema, or a choice of them.
function kind(schema = {}) {
  if (schema.$ref) return `<a href="#schema-${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`;
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map(kind).join(" or ");
  if (schema.allOf) return schema.allOf.map(kind).filter(Boolean).join(" and ");
  if (schema.const !== undefined) return `<code>${escape(JSON.stringify(schema.const))}</code>`;
  if (schema.enum) return schema.enum.map((value) => `<code>${escape(value)}</code>`).join(" ");
  if (schema.type === "array") return `list of ${kind(schema.items)}`;
  if (schema.type === "object" && schema.additionalProperties?.type) return `${schema.additionalProperties.type}s by name`;
  const format = schema.format ? ` <span class="soft">${escape(schema.format)}</span>` : "";
  return `${escape(schema.type ?? "")}${format}${limits(schema)}`;
}

function limits(schema) {
  const words = [];
  if (schema.minimum !== undefined || schema.maximum !== undefined) words.push(`${schema.minimum ?? ""}…${schema.maximum ?? ""}`);
  if (schema.maxLength) words.push(`up to ${schema.maxLength} characters`);
  if (schema.maxItems) words.push(`up to ${schema.maxItems}`);
  if (schema.default !== undefined && schema.default !== null) words.push(`default ${JSON.stringify(schema.default)}`);
  return words.length ? ` <span class="soft">${escape(words.join(", "))}</span>` : "";
}

const row = (cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
const table = (heads, rows) => (rows.length ? `<div class="scroll"><table><thead><tr>${heads.map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>` : "");
const named = (name, required) => `<code${required ? ' class="required" title="required"' : ""}>${escape(name)}</code>`;

function fields(schema) {
  const required = new Set(schema.required ?? []);
  return table(["field", "type", ""], Object.entries(schema.properties ?? {}).map(([name, field]) =>
    row([named(name, required.has(name)), kind(field), prose(field.description)])));
}

function operation(path, method, described) {
  const parameters = (described.parameters ?? []).map((p) => row([named(p.name, p.required), p.in, kind(p.schema), prose(p.description)]));
  const bodies = Object.entries(described.requestBody?.content ?? {}).map(([type, { schema }]) =>
    `<p><code>${escape(type)}</code> ${schema.properties ? "" : kind(schema)}</p>${schema.properties ? fields(schema) : ""}`);
  const good = [], bad = [];
  for (const [status, response] of Object.entries(described.responses)) {
    (Number(status) < 400 ? good : bad).push([status, response]);
  }
  return `<article id="${described.operationId}" aria-labelledby="${described.operationId}-title">
    <div class="head"><span class="method ${method}">${method.toUpperCase()}</span><span class="path"><code>${escape(path)}</code></span></div>
    <h3 id="${described.operationId}-title">${prose(described.summary)}</h3>
    ${paragraphs(described.description)}
    ${described.security?.length ? `<p class="soft">Key: ${described.security.flatMap(Object.keys).join(", ")}</p>` : ""}
    ${parameters.length ? `<h4>Parameters</h4>${table(["name", "in", "type", ""], parameters)}` : ""}
    ${bodies.length ? `<h4>Body</h4>${bodies.join("")}` : ""}
    <h4>Answers</h4>${table(["status", "body", ""], good.map(([status, response]) => row([status, contents(response), prose(response.description) + headers(response)])))}
    ${bad.length ? `<h4>Problems</h4>${table(["status", "code and meaning"], bad.map(([status, response]) => row([status, codes(response)])))}` : ""}
  </article>`;
}

const contents = (response) => Object.entries(response.content ?? {}).map(([type, { schema }]) =>
  (schema.$ref ? kind(schema) : `<code>${escape(type)}</code>`)).join(" or ") || '<span class="soft">none</span>';
const headers = (response) => (response.headers ? `<br><span class="soft">Headers: ${Object.keys(response.headers).map((name) => `<code>${name}</code>`).join(" ")}</span>` : "");
const codes = (response) => `<ul class="codes">${response.description.split("; ").map((part) => `<li>${prose(part)}</li>`).join("")}</ul>`;

function schemaArticle([name, schema]) {
  const body = schema.properties ? fields(schema) : `<p>${kind(schema)}</p>`;
  return `<article id="schema-${name}"><h3>${name}</h3>${paragraphs(schema.description)}${body}</article>`;
}

function render(api) {
  const byTag = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((m) => methods[m])) {
      const described = methods[method];
      const tag = described.tags?.[0] ?? "Other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), { path, method, described }]);
    }
  }
  const links = [...byTag].map(([tag, found]) => `<strong>${tag}</strong>${found.map(({ path, method, described }) =>
    `<a href="#${described.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${escape(described.summary)}</a>`).join("")}`);
  document.getElementById("contents").innerHTML = `${links.join("")}<strong>Schemas</strong>${Object.keys(api.components.schemas).map((name) => `<a href="#schema-${name}">${name}</a>`).join("")}`;
  const sections = [...byTag].map(([tag, found]) => `<section><h2>${tag}</h2>${found.map(({ path, method, described }) => operation(path, method, described)).join("")}</section>`);
  document.getElementById("main").innerHTML = `<h1>${escape(api.info.title)} API</h1>
    <p class="soft">Version ${escape(api.info.version)} · all routes under <code>${escape(api.servers[0].url)}</code> · <a href="${BASE}/openapi.json">openapi.json</a></p>
    ${paragraphs(api.info.description)}${sections.join("")}
    <section><h2>Schemas</h2>${Object.entries(api.components.schemas).map(schemaArticle).join("")}</section>`;
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

document.getElementById("fold").open = matchMedia("(min-width: 861px)").matches;
try {
  const answer = await fetch(`${BASE}/openapi.json`);
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  render(await answer.json());
} catch (error) {
  document.getElementById("loading").textContent = `The description could not be loaded. ${error.message}`;
}
