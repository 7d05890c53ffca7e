/** Browsers of other origins, as `http.cors` of langgraph.json lets them in. Without it none are. */
import cors from 'cors';
import type { RequestHandler } from 'express';
import type { CorsSettings } from '../contracts/project-http.js';

/** What a browser's code may read of our answers when the project does not say. */
const ourHeaders = [
  'Location',
  'X-Thread-ID',
  'X-Request-ID',
  'Idempotent-Replayed',
  'Retry-After',
];

export const allowOrigins = (settings: CorsSettings): RequestHandler =>
  cors({
    origin: originsOf(settings),
    exposedHeaders: [...(settings.expose_headers ?? ourHeaders)],
    ...(settings.allow_methods && { methods: methodsOf(settings.allow_methods) }),
    ...(settings.allow_headers && namesOf(settings.allow_headers)),
    ...(settings.allow_credentials !== undefined && { credentials: settings.allow_credentials }),
    ...(settings.max_age !== undefined && { maxAge: settings.max_age }),
  });

/** `*` with credentials is what no browser takes: the origin is then said back. */
function originsOf(settings: CorsSettings): true | '*' | (string | RegExp)[] {
  const { allow_origins: names = [], allow_origin_regex: regex } = settings;
  if (names.includes('*')) return settings.allow_credentials === true ? true : '*';
  // The whole origin is meant, as elsewhere: `https://a.example` must not let in `https://a.example.evil`.
  return [...names, ...(regex === undefined ? [] : [new RegExp(`^(?:${regex})$`)])];
}

const anyMethod = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];
const methodsOf = (names: readonly string[]): string[] =>
  names.includes('*') ? anyMethod : [...names];

/** Without names, what the browser asks for is let in. */
const namesOf = (names: readonly string[]) =>
  names.includes('*') ? {} : { allowedHeaders: [...names] };
