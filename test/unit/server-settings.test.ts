/** The settings of an embedded server are those of the environment: each has its variable, and a fault names the setting. */
import { expect, test } from 'vitest';
import { readServerConfig } from '../../src/config.ts';
import { createServer } from '../../src/server.ts';
import { environmentOf, variables } from '../../src/server-settings.ts';
import type { ServerSettings } from '../../src/server-settings.ts';

const required = {
  databaseUrl: 'postgres://user:secret-password@db.example:5432/app',
  tokenSecret: 't'.repeat(32),
  internalKey: 'k'.repeat(32),
} satisfies ServerSettings;

function refusalOf(settings: object): string {
  try {
    createServer({ ...required, ...settings });
  } catch (error) {
    expect(error).toMatchObject({ code: 'configuration' });
    return (error as Error).message;
  }
  throw new Error('nothing was refused');
}

test('every variable that a server reads is a setting, and no other', () => {
  const read = new Set<string>();
  readServerConfig(
    new Proxy(environmentOf(required), {
      get(target, name) {
        read.add(String(name));
        return target[String(name)];
      },
    }),
  );
  expect([...read].toSorted()).toEqual(Object.values(variables).toSorted());
});

test('the names are those of the variables', () => {
  const named = Object.keys(variables).map((name) => name.replaceAll(/[A-Z]/g, '_$&').toUpperCase());
  expect(named).toEqual(Object.values(variables).map((variable) => variable.replace('LEDGERLINE_', '')));
});

test('what is left out has the same default as in the environment', () => {
  const absent = { ...required, natsUrl: undefined, publicPort: undefined };
  expect(environmentOf(absent)).toEqual(environmentOf(required));
});

test('values of each kind arrive', () => {
  const settings: ServerSettings = {
    ...required,
    databasePrepare: false,
    http2: true,
    publicPort: 0,
    allowedOrigins: ['https://a.example', 'https://b.example'],
    tokenWritesPerSecond: 7,
    logLevel: 'warn',
  };
  expect(readServerConfig(environmentOf(settings))).toMatchObject({
    databaseUrl: required.databaseUrl,
    databasePrepare: false,
    isHttp2: true,
    publicPort: 0,
    allowedOrigins: ['https://a.example', 'https://b.example'],
    rates: { tokenWrites: 7 },
    logLevel: 'warn',
  });
});

test('all that is wrong is named at once, by the settings’ names and without a value', () => {
  const message = refusalOf({ databaseUrl: '', tokenSecret: 'short-secret', publicPort: 80.5, drainMs: Number.NaN });
  expect(message.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'databaseUrl',
    'drainMs',
    'publicPort',
    'tokenSecret',
  ]);
  expect(message).not.toMatch(/short-secret|80\.5|[A-Z]_[A-Z]/);
});

test('a name that is no setting is refused', () => {
  expect(refusalOf({ tokenSecrets: 'x', toString: 'y' })).toBe('no settings: tokenSecrets, toString');
});
