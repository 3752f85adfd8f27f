/** The public keys of a tokens' issuer (JWKS): read at the start and every ten minutes, and when a token names one that is not known. */
import { createRemoteJWKSet, customFetch, errors } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import { accessLimits } from '../base/access-limits.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';

export interface KeySet extends Service {
  /** For `jwtVerify`. Rejects with `unavailable` where the key is not known and the issuer cannot be asked. */
  readonly findKey: JWTVerifyGetKey;
}

export interface KeySetOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function createKeySet({ url, clock, log }: KeySetOptions): KeySet {
  let quietUntilMs = -Infinity;
  let timer: Timer | undefined;
  let isStopped = false;

  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: accessLimits.jwksDeadlineMs,
    cooldownDuration: accessLimits.jwksCooldownMs,
    // What is known holds until it is read anew, here: the issuer may be away for a while.
    cacheMaxAge: Infinity,
    [customFetch]: (address, init) => {
      if (clock.now() < quietUntilMs) return Promise.reject(new Error('the issuer was away a moment ago'));
      return fetch(address, init);
    },
  });

  /** An issuer that is away is not asked again by each token whose key is unknown. */
  function rest(): void {
    if (clock.now() >= quietUntilMs) quietUntilMs = clock.now() + accessLimits.jwksRetryMs;
  }

  async function refresh(): Promise<void> {
    let nextMs: number = accessLimits.jwksRefreshMs;
    try {
      await keys.reload();
    } catch (thrown) {
      rest();
      nextMs = accessLimits.jwksRetryMs;
      log.warn(
        { err: toError(thrown) },
        'the keys of the tokens’ issuer cannot be read; those that are known stay in force',
      );
    }
    if (isStopped) return;
    timer = clock.after(nextMs, () => detach(refresh(), log, 'reading the issuer’s keys ended unexpectedly'));
  }

  return {
    name: 'key set',
    start: refresh,
    stop() {
      isStopped = true;
      timer?.cancel();
      return Promise.resolve();
    },
    async findKey(header, token) {
      try {
        return await keys(header, token);
      } catch (thrown) {
        if (isAnswer(thrown)) throw thrown;
        rest();
        throw new LedgerlineError('unavailable', 'the keys of the token’s issuer are out of reach', {}, thrown);
      }
    },
  };
}

/** The keys are known, and none of them fits; anything else says that they are not. */
const isAnswer = (thrown: unknown): boolean =>
  thrown instanceof errors.JWKSNoMatchingKey ||
  thrown instanceof errors.JWKSMultipleMatchingKeys ||
  thrown instanceof errors.JOSENotSupported;
