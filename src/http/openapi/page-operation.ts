/** One operation on the page of the API: what it takes and answers on one side, a request and its answer on the other. */
import { html } from 'hono/html';
import { commandOf, exampleOf } from './examples.ts';
import type { Contents, PathOperation, Response } from './openapi.ts';
import { JSON_TYPE } from './operation.ts';
import { inline, membersOf, prose, row, typeOf } from './page-schema.ts';
import type { Components, Html } from './page-schema.ts';

export interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: PathOperation;
}

export function operationView({ method, path, operation }: Place, components: Components): Html {
  const { operationId, summary, description = '', parameters, requestBody, responses } = operation;
  const [answered, refused] = [answersOf(responses, isAnswer), answersOf(responses, (status) => !isAnswer(status))];
  const places = (['path', 'query', 'header'] as const).filter((place) => parameters.some((one) => one.in === place));
  const shown = answered.findLast(([, { content }]) => content?.[usualType(requestBody)] !== undefined) ?? answered[0];
  const example = exampleOf(shown?.[1].content, components);
  return html`<article id="${operationId}" aria-labelledby="${operationId}-title">
    <h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
    <p class="route">${verb(method)} <code>${pathView(path)}</code> ${scopeView(operation)}</p>
    <div class="sides">
      <div class="facts">
        ${prose(description)}
        ${places.map(
          (place) =>
            html`<h4>${titles[place]}</h4>
              <ul class="members">
                ${parameters
                  .filter((one) => one.in === place)
                  .map(({ name, schema, required, description: about }) =>
                    row(name, about === undefined ? schema : { ...schema, description: about }, required, components),
                  )}
              </ul>`,
        )}
        ${
          requestBody === undefined
            ? ''
            : html`<h4>Body <small>${requestBody.required ? '' : 'may be left out'}</small></h4>
                ${contentView(requestBody.content, components)}`
        }
        <h4>Answers</h4>
        ${answered.map((answer, place) => answerView(answer, answered.slice(0, place), components))}
        ${
          refused.length === 0
            ? ''
            : html`<details class="refusals">
                <summary>Refusals <small>${refused.map(([status]) => status).join(', ')}</small></summary>
                <dl>
                  ${refused.map(
                    ([status, { description: said }]) =>
                      html`<dt>${status}</dt>
                        <dd>${inline(said)}</dd>`,
                  )}
                </dl>
              </details>`
        }
      </div>
      <div class="sample">
        <figure>
          <figcaption>Request</figcaption>
          <pre tabindex="0">${commandOf(method, path, operation, components)}</pre>
        </figure>
        ${
          example === undefined
            ? ''
            : html`<figure>
                <figcaption>Answer <small>${shown?.[0]}</small></figcaption>
                <pre tabindex="0">${example}</pre>
              </figure>`
        }
      </div>
    </div>
  </article>`;
}

const titles = { path: 'Path', query: 'Query', header: 'Headers' } as const;

export const verb = (method: string): Html => html`<span class="verb ${method}">${method.toUpperCase()}</span>`;

const pathView = (path: string): (Html | string)[] =>
  path.split(/(\{[a-z]+\})/).map((part, place) => (place % 2 === 1 ? html`<var>${part}</var>` : part));

function scopeView({ security }: PathOperation): Html {
  const [scheme] = security;
  const [scope] = Object.values(scheme ?? {}).flat();
  return scope === undefined
    ? html`<span class="scope">no credential</span>`
    : html`<span class="scope">scope <b>${scope}</b></span>`;
}

const isAnswer = (status: string): boolean => status < '300';

const answersOf = (responses: PathOperation['responses'], wanted: (status: string) => boolean): AnswerEntry[] =>
  Object.entries(responses).filter(([status]) => wanted(status));

/** The type of what is sent, else JSON: its answer is the one to show. */
const usualType = (body: PathOperation['requestBody']): string => Object.keys(body?.content ?? {})[0] ?? JSON_TYPE;

type AnswerEntry = [status: string, response: Response];

/** The members of a shape are shown with its first answer alone. */
function answerView([status, response]: AnswerEntry, before: readonly AnswerEntry[], components: Components): Html {
  const { description, content } = response;
  const isShown = before.some(([, { content: other }]) => JSON.stringify(other) === JSON.stringify(content));
  return html`<div class="answer">
    <p><b class="status">${status}</b> ${inline(description)}</p>
    ${content === undefined ? '' : contentView(content, isShown ? undefined : components)}
  </div>`;
}

/** Each type of content; the usual one goes without its name. Without components, the members are left out. */
const contentView = (contents: Contents, components: Components | undefined): Html[] =>
  Object.entries(contents).map(
    ([type, { schema }]) =>
      html`<p class="content">${type === JSON_TYPE ? '' : html`<code>${type}</code> `}${typeOf(schema)}</p>
        ${components === undefined ? '' : membersOf(schema, components)}`,
  );
