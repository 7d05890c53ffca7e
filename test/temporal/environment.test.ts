import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { temporalFromEnvironment } from '../../temporal/environment.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-env-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the server that the environment names', () => {
  test('none, or an empty one: the dev server is ours to start', () => {
    expect(temporalFromEnvironment({})).toBeUndefined();
    expect(
      temporalFromEnvironment({ TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: 'a' }),
    ).toBeUndefined();
  });

  test('an address alone: namespace default, no TLS', () => {
    expect(temporalFromEnvironment({ TEMPORAL_ADDRESS: 'temporal:7233' })).toEqual({
      address: 'temporal:7233',
      namespace: 'default',
      security: {},
    });
  });

  test('an API key brings TLS with it', () => {
    const env = {
      TEMPORAL_ADDRESS: 'a.example:7233',
      TEMPORAL_NAMESPACE: 'team.acct',
      TEMPORAL_API_KEY: 'key',
    };
    expect(temporalFromEnvironment(env)).toMatchObject({
      namespace: 'team.acct',
      security: { apiKey: 'key', tls: expect.anything() as unknown },
    });
  });

  test('client certificates are read from their files', async () => {
    const cert = path.join(folder, 'client.pem');
    const key = path.join(folder, 'client.key');
    await writeFile(cert, 'CERT');
    await writeFile(key, 'KEY');
    const settings = temporalFromEnvironment({
      TEMPORAL_ADDRESS: 'a.example:7233',
      TEMPORAL_TLS_CLIENT_CERT_PATH: cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: key,
      TEMPORAL_TLS_SERVER_NAME: 'inner.example',
    });
    const { tls } = settings?.security ?? {};
    expect(tls).toMatchObject({ serverNameOverride: 'inner.example' });
    const pair = typeof tls === 'object' ? tls?.clientCertPair : undefined;
    expect(Buffer.from(pair?.crt ?? '').toString()).toBe('CERT');
  });

  test('a certificate that cannot be read is an error that says where to look', () => {
    const env = {
      TEMPORAL_ADDRESS: 'a.example:7233',
      TEMPORAL_TLS_CLIENT_CERT_PATH: path.join(folder, 'gone.pem'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: path.join(folder, 'gone.key'),
    };
    expect(() => temporalFromEnvironment(env)).toThrow(/gone\.pem.*TEMPORAL_TLS/s);
  });

  test("a person's profile file counts only when it is asked for", async () => {
    const file = path.join(folder, 'temporal.toml');
    await writeFile(file, '[profile.default]\naddress = "cluster:7233"\nnamespace = "team"\n');
    const home = path.join(folder, 'home');
    expect(temporalFromEnvironment({ HOME: home, XDG_CONFIG_HOME: folder })).toBeUndefined();
    expect(temporalFromEnvironment({ TEMPORAL_CONFIG_FILE: file })).toEqual({
      address: 'cluster:7233',
      namespace: 'team',
      security: {},
    });
  });
});
