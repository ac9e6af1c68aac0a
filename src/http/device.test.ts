import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deviceOf } from './device.ts';

const MOZILLA = 'Mozilla/5.0';
const KHTML = '(KHTML, like Gecko)';

describe('the device of a caller', () => {
  it('is its browser and system, or the name of the program', () => {
    const named: [string | undefined, string | null][] = [
      [
        `${MOZILLA} (Linux; Android 10; K) AppleWebKit/537.36 ${KHTML} Chrome/131.0.0.0 Mobile Safari/537.36`,
        'Chrome, Android',
      ],
      [
        `${MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 ${KHTML} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`,
        'Edge, Windows',
      ],
      [
        `${MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 ${KHTML} Version/18.1 Mobile/15E148 Safari/604.1`,
        'Safari, iPhone',
      ],
      [
        `${MOZILLA} (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0`,
        'Firefox, macOS',
      ],
      [
        `${MOZILLA} (X11; Linux x86_64) AppleWebKit/537.36 ${KHTML} HeadlessChrome/131.0.0.0 Safari/537.36`,
        'Chrome, Linux',
      ],
      ['curl/8.5.0', 'curl'],
      ['<script>alert(1)</script>', null],
      ['', null],
      [undefined, null],
    ];
    for (const [userAgent, device] of named) assert.equal(deviceOf(userAgent), device, userAgent);
  });

  it('does not depend on the length of the header', () => {
    assert.equal(deviceOf('x'.repeat(100_000)), 'x'.repeat(40));
  });
});
