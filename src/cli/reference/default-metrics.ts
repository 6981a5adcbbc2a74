import type { Family } from '../../metrics/family.ts';

/** Default metrics of prom-client, with those of process_ that exist on Linux only. */
export const DEFAULT_METRICS: readonly Pick<Family, 'name' | 'type' | 'labels' | 'help'>[] = [
  counted('process_cpu_seconds_total', 'User and system CPU time in seconds.'),
  counted('process_cpu_user_seconds_total', 'User CPU time in seconds.'),
  counted('process_cpu_system_seconds_total', 'System CPU time in seconds.'),
  gauged('process_start_time_seconds', 'Unix time in seconds at which the process started.'),
  gauged('process_resident_memory_bytes', 'Resident memory in bytes.'),
  gauged('process_virtual_memory_bytes', 'Virtual memory in bytes.'),
  gauged('process_heap_bytes', 'Size of the data segment of the process in bytes.'),
  gauged('process_open_fds', 'Open file descriptors.'),
  gauged('process_max_fds', 'File descriptors that the process may open.'),
  gauged('nodejs_eventloop_lag_seconds', 'Lag of the event loop at the scrape in seconds.'),
  gauged('nodejs_eventloop_lag_min_seconds', 'Smallest lag of the event loop in seconds.'),
  gauged('nodejs_eventloop_lag_max_seconds', 'Largest lag of the event loop in seconds.'),
  gauged('nodejs_eventloop_lag_mean_seconds', 'Mean lag of the event loop in seconds.'),
  gauged('nodejs_eventloop_lag_stddev_seconds', 'Standard deviation of the lag in seconds.'),
  gauged('nodejs_eventloop_lag_p50_seconds', 'Lag of the event loop, 50th percentile, in seconds.'),
  gauged('nodejs_eventloop_lag_p90_seconds', 'Lag of the event loop, 90th percentile, in seconds.'),
  gauged('nodejs_eventloop_lag_p99_seconds', 'Lag of the event loop, 99th percentile, in seconds.'),
  gauged('nodejs_active_resources', 'What keeps the event loop alive, by type.', ['type']),
  gauged('nodejs_active_handles', 'Open handles of libuv, by type.', ['type']),
  gauged('nodejs_active_requests', 'Requests to libuv in flight, by type.', ['type']),
  gauged('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap in bytes.'),
  gauged('nodejs_heap_size_used_bytes', 'Used part of the JavaScript heap in bytes.'),
  gauged('nodejs_external_memory_bytes', 'Memory of objects outside of the heap in bytes.'),
  gauged('nodejs_heap_space_size_total_bytes', 'Size of each heap space in bytes.', ['space']),
  gauged('nodejs_heap_space_size_used_bytes', 'Used part of each heap space in bytes.', ['space']),
  gauged('nodejs_heap_space_size_available_bytes', 'Free part of each space in bytes.', ['space']),
  gauged('nodejs_version_info', 'Version of Node.js. Always 1.', [
    'version',
    'major',
    'minor',
    'patch',
  ]),
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    labels: ['kind'],
    help: 'Duration of garbage collections by kind in seconds.',
  },
];

function counted(name: string, help: string) {
  return { name, type: 'counter', labels: [], help } as const;
}

function gauged(name: string, help: string, labels: readonly string[] = []) {
  return { name, type: 'gauge', labels, help } as const;
}
