/** What the rehearsal's real servers are configured with: the compose file's own words, at other addresses. */
import { describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readCompose } from '../../bench/rehearsal/compose-file.js';
import { discoveredAt } from '../../bench/rehearsal/prometheus.js';
import { temporalEnvironment } from '../../bench/rehearsal/real-temporal.js';
import { uiConfiguration } from '../../bench/rehearsal/temporal-ui.js';

const services = readCompose(readFileSync('docker-compose.yml', 'utf8'));
const named = (name: string) => services.find((service) => service.name === name)!;

const ports = {
  ...{ FRONTEND_GRPC_PORT: 1, FRONTEND_MEMBERSHIP_PORT: 2, FRONTEND_HTTP_PORT: 3 },
  ...{ MATCHING_GRPC_PORT: 4, MATCHING_MEMBERSHIP_PORT: 5, HISTORY_GRPC_PORT: 6 },
  ...{ HISTORY_MEMBERSHIP_PORT: 7, WORKER_GRPC_PORT: 8, WORKER_MEMBERSHIP_PORT: 9, metrics: 10 },
};

describe('a real Temporal server from the compose file', () => {
  const { environment } = named('temporal');
  const given = { env: environment, postgresUrl: 'postgresql://pg@10.0.0.2:5555/any' };
  const env = temporalEnvironment({ ...given, bindIp: '10.0.0.3' }, ports);

  test("keeps what the file decides: shards, databases, driver, the dynamic configuration's limits", () => {
    const kept = ['DB', 'DBNAME', 'VISIBILITY_DBNAME', 'NUM_HISTORY_SHARDS', 'LOG_LEVEL'];
    for (const name of kept) expect([name, env[name]]).toEqual([name, environment[name]]);
    expect(Object.keys(environment).filter((name) => !(name in env))).toEqual([]);
    expect(env.NUM_HISTORY_SHARDS).toBe('512');
    expect(existsSync(env.DYNAMIC_CONFIG_FILE_PATH!)).toBe(true);
  });

  test('finds PostgreSQL where it is, and binds nowhere but where it is told to', () => {
    expect(env).toMatchObject({
      ...{ POSTGRES_SEEDS: '10.0.0.2', DB_PORT: '5555', POSTGRES_USER: 'pg' },
      ...{ BIND_ON_IP: '10.0.0.3', TEMPORAL_BROADCAST_ADDRESS: '10.0.0.3' },
      ...{ FRONTEND_GRPC_PORT: '1', PROMETHEUS_ENDPOINT: '10.0.0.3:10' },
    });
    expect(Object.values(env).filter((value) => value.includes('0.0.0.0'))).toEqual([]);
  });

  test("a password in PostgreSQL's address wins over the file's, for the server as for the schema tool", () => {
    const postgresUrl = 'postgresql://pg:a%2Fb@db/any';
    const { POSTGRES_PWD, SQL_PASSWORD, DB_PORT } = temporalEnvironment(
      { ...given, postgresUrl, bindIp: '127.0.0.1' },
      ports,
    );
    expect({ POSTGRES_PWD, SQL_PASSWORD, DB_PORT }).toEqual({
      ...{ POSTGRES_PWD: 'a/b', SQL_PASSWORD: 'a/b', DB_PORT: '5432' },
    });
    expect(env.POSTGRES_PWD).toBe(environment.POSTGRES_PWD);
  });

  test('server and schema tool are of one version', () => {
    const tag = (name: string) => named(name).image.split(':')[1];
    expect(tag('temporal-schema')).toBe(tag('temporal'));
  });
});

test('the Web UI asks the server that the file names, and listens where it is told to', () => {
  const { environment } = named('temporal-ui');
  expect(parse(uiConfiguration(environment, '127.0.0.1', 1234))).toMatchObject({
    ...{ temporalGrpcAddress: 'temporal:7233', defaultNamespace: 'everthread' },
    ...{ host: '127.0.0.1', port: 1234 },
  });
});

test("Prometheus keeps the file's jobs and intervals, and asks for their targets over HTTP", () => {
  const file = readFileSync('deploy/prometheus/prometheus.yml', 'utf8');
  const before = parse(file) as { scrape_configs: { job_name: string }[]; global: object };
  const after = parse(discoveredAt(file, 'http://here')) as typeof before;
  expect(after.global).toEqual(before.global);
  expect(after.scrape_configs).toEqual(
    before.scrape_configs.map(({ job_name }) => ({
      job_name,
      http_sd_configs: [{ url: `http://here/${job_name}`, refresh_interval: '1s' }],
    })),
  );
});
