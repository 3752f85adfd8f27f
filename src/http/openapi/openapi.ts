/** The parts of an OpenAPI 3.1 document that this server's description has [spec: OpenAPI 3.1]. */
import type { Schema } from './schemas.ts';

export interface OpenApi {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}

export interface PathOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  /** One of these; none of them where it is empty. The words are the scope that is needed. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Contents };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, { readonly description?: string; readonly schema: Schema }>>;
  readonly content?: Contents;
}

export type Contents = Readonly<Record<string, { readonly schema: Schema }>>;

export interface SecurityScheme {
  readonly type: 'http' | 'apiKey';
  readonly description: string;
  readonly scheme?: 'bearer';
  readonly bearerFormat?: 'JWT';
  readonly in?: 'cookie' | 'query';
  readonly name?: string;
}
