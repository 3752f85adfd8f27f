/** The description of a listener as a page for people: plain HTML without a script, in the colours of the web page. */
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { Pause } from './document.ts';
import { JSON_TYPE } from './operation.ts';
import type { OpenApi } from './openapi.ts';
import { operationView, verb } from './page-operation.ts';
import type { Place } from './page-operation.ts';
import { inline, membersOf, prose } from './page-schema.ts';
import type { Html } from './page-schema.ts';
import { style } from './page-style.ts';
import type { Schema } from './schemas.ts';

/** The page has its one style and nothing else. */
export const contentSecurityPolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

/** Nothing may stand between the tags and the style: its hash is of the whole text. */
const styleElement = raw(`<style>${style}</style>`);

export async function renderPage(document: OpenApi, pause: Pause): Promise<string> {
  const { info, tags, components } = document;
  const places = placesOf(document);
  const problems = Object.entries(components.schemas)
    .filter(([name]) => name.endsWith('Problem'))
    .toSorted(([, one], [, other]) => statusOf(one) - statusOf(other));
  const shapes = Object.entries(components.schemas).filter(([name]) => !name.endsWith('Problem'));
  const groups = tags.map((tag) => ({
    ...tag,
    places: places.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const views = new Map<Place, Html>();
  for (const place of places) {
    views.set(place, operationView(place, components.schemas));
    await pause();
  }
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}: the API</title>
        ${styleElement}
      </head>
      <body>
        <nav aria-label="The API">
          <p class="brand"><a href="#top">${mark} Ledgerline</a></p>
          ${groups.map(
            (group) =>
              html`<h2><a href="#group-${group.name}">${group.name}</a></h2>
                <ul>
                  ${group.places.map(
                    ({ method, operation }) =>
                      html`<li>
                        <a href="#${operation.operationId}">${verb(method)} <span>${operation.summary}</span></a>
                      </li>`,
                  )}
                </ul>`,
          )}
          <h2><a href="#shapes">Shapes</a></h2>
          <h2><a href="#problems">Problems</a></h2>
        </nav>
        <main id="top">
          <header>
            <h1>${info.title}</h1>
            <p>${info.description}</p>
            <p>
              Version ${info.version} of the protocol. The same for machines:
              <a href="openapi.json"><code>openapi.json</code></a> (OpenAPI ${document.openapi}).
            </p>
            <dl class="credentials">
              ${Object.entries(components.securitySchemes).map(
                ([name, { description }]) =>
                  html`<dt>${name}</dt>
                    <dd>${inline(description)}</dd>`,
              )}
            </dl>
          </header>
          ${groups.map(
            ({ name, description, places: own }) =>
              html`<section id="group-${name}">
                <h2>${name}</h2>
                <p class="about">${description}</p>
                ${own.map((place) => views.get(place))}
              </section>`,
          )}
          <section id="shapes">
            <h2>Shapes</h2>
            <p class="about">
              What bodies and answers are made of. Answers may gain members: ignore what you do not know.
            </p>
            ${shapes.map(([name, schema]) => shapeView(name, schema, components.schemas))}
          </section>
          <section id="problems">
            <h2>Problems</h2>
            <p class="about">
              Every refusal is <code>application/problem+json</code> [RFC 9457], with these members beside its own.
            </p>
            <dl>${problems.map(([, schema]) => problemView(schema))}</dl>
          </section>
        </main>
      </body>
    </html>`;
  return String(await page);
}

const placesOf = ({ paths }: OpenApi): Place[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );

/** The product's sign, as on the web page. */
const mark = html`<svg class="brand-mark" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
  <path class="brand-line" d="M3 5h14M3 15h14M3 10h4M13 10h4" />
  <path class="brand-fill" d="M7 10h6" />
</svg>`;

function shapeView(name: string, schema: Schema, components: OpenApi['components']['schemas']): Html {
  const [example] = schema.examples ?? [];
  const text = typeof example === 'string' ? example.trim() : JSON.stringify(example, null, 2);
  return html`<article id="shape-${name}" class="shape">
    <h3><a href="#shape-${name}">${name}</a></h3>
    <div class="sides">
      <div class="facts">${prose(schema.description ?? '')} ${membersOf(schema, components)}</div>
      <div class="sample">
        ${
          example === undefined
            ? ''
            : html`<figure>
                <figcaption>${typeof example === 'string' ? 'Text' : JSON_TYPE}</figcaption>
                <pre tabindex="0">${text}</pre>
              </figure>`
        }
      </div>
    </div>
  </article>`;
}

const constantOf = ({ properties = {} }: Schema, name: string): unknown =>
  (properties[name] as Schema | undefined)?.const;
const statusOf = (schema: Schema): number => Number(constantOf(schema, 'status'));

const ofTheStandard = new Set(['type', 'title', 'status', 'detail']);

function problemView(schema: Schema): Html {
  const own = Object.keys(schema.properties ?? {}).filter((name) => !ofTheStandard.has(name));
  const fields = own.map((name, place) => html`${place > 0 ? ', ' : ''}<code>${name}</code>`);
  return html`<dt>
      <code>${String(constantOf(schema, 'type')).split(':').at(-1)}</code> <small>${statusOf(schema)}</small>
    </dt>
    <dd>${schema.description} ${fields.length === 0 ? '' : html`With ${fields}.`}</dd>`;
}
