import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { holdStopSignals, onStopSignal, runCancellable } from '../../../src/cli/process/signals.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** The reader of standard output has gone. */
const CLOSED = Object.assign(new Error('closed'), { code: 'EPIPE' });
const exits: (number | string | null | undefined)[] = [];

beforeEach(() => {
  exits.length = 0;
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const others = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  for (const [signal] of others) process.removeAllListeners(signal);
  const spy = vi.spyOn(process, 'exit').mockImplementation((code) => {
    exits.push(code);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- here the process goes on
    return undefined as never;
  });
  onTestFinished(() => {
    spy.mockRestore();
    for (const [signal, listeners] of others) {
      for (const listener of listeners) process.on(signal, listener);
    }
  });
});

afterEach(() => void vi.useRealTimers());

describe('a signal that stops the process', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('is told once with its exit code: %s', (signal, exitCode) => {
    const told: unknown[] = [];
    using _listening = onStopSignal((...all) => told.push(all));
    process.emit(signal);
    vi.advanceTimersByTime(500);
    process.emit(signal);
    expect({ told, exits }).toEqual({ told: [[signal, exitCode]], exits: [] });
    vi.advanceTimersByTime(1);
    process.emit(signal);
    expect({ told, exits }).toEqual({ told: [[signal, exitCode]], exits: [exitCode] });
  });

  test('ends the process as a failure when the stop hangs', () => {
    using _listening = onStopSignal(() => undefined);
    vi.advanceTimersByTime(10_000);
    process.emit('SIGTERM');
    vi.advanceTimersByTime(4_499);
    expect(exits).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(exits).toEqual([1]);
  });
});

test.each([
  [[], []],
  [['SIGTERM'], ['SIGTERM']],
  [['SIGINT', 'SIGTERM'], ['SIGINT']],
] as const)('of the signals %j while modules are loaded the first is sent again', (held, sent) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  const deliver = holdStopSignals();
  for (const signal of held) process.emit(signal, signal);
  expect(kill).not.toHaveBeenCalled();
  deliver();
  expect(kill.mock.calls).toEqual(sent.map((signal) => [process.pid, signal]));
  expect(SIGNALS.map((signal) => process.listenerCount(signal))).toEqual([0, 0]);
});

describe('a command is cancelled', () => {
  test('by a signal, with its exit code, and no more by what follows', async () => {
    const exitCode = await runCancellable(async (signal) => {
      expect(signal.aborted).toBe(false);
      process.emit('SIGTERM');
      process.stdout.emit('error', CLOSED);
      expect(signal.aborted).toBe(true);
      return Promise.reject(new Error('aborted'));
    });
    expect(exitCode).toBe(143);
  });

  test('when its output takes no more, which is no failure', async () => {
    const before = process.stdout.listenerCount('error');
    const exitCode = await runCancellable(async (signal) => {
      process.stdout.emit('error', CLOSED);
      return signal.aborted ? Promise.reject(new Error('aborted')) : 1;
    });
    expect(exitCode).toBe(0);
    expect(process.stdout.listenerCount('error')).toBe(before);
    expect(SIGNALS.map((signal) => process.listenerCount(signal))).toEqual([0, 0]);
  });
});
