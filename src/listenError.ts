import { type Config, ConfigError } from './config.ts';

export interface ListenFailure {
  code?: string;
  port?: number;
}

/** What the person who started it should do about a port that cannot be used. */
export function listenError(
  { code, port }: ListenFailure,
  config: Pick<Config, 'host' | 'metricsPort'>,
): ConfigError | undefined {
  const setting = port === config.metricsPort ? 'METRICS_PORT' : 'PORT';
  switch (code) {
    case 'EADDRINUSE':
      return new ConfigError([
        `Port ${port} is in use. Stop the other program, or set ${setting} to another number.`,
      ]);
    case 'EACCES':
      return new ConfigError([`This user may not use port ${port}. Set ${setting} above 1023.`]);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError([`HOST ${config.host} is not an address of this machine.`]);
    default:
      return undefined;
  }
}
